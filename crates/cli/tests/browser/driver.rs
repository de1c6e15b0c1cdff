//! A browser, and the few commands of WebDriver that these tests need.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::support::PATIENCE;

/// An answer that takes longer never comes.
const LONGEST: Duration = Duration::from_secs(120);
/// A word of the page that is no error: the store was stopped on purpose.
const EXPECTED: &str = "net::ERR_";

/// How often chromedriver is started: the port that it finds free for one kind of addresses may be
/// in use for the other, and then it ends.
const STARTS: usize = 5;

/// Chromium with one page. It ends with the test, however that ends.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// A chromedriver and its port; `None` when it ended, having `said` why.
fn chromedriver(home: &Path, said: &mut Vec<String>) -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .env("TMPDIR", home)
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("LANG", "en_GB.UTF-8")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("chromedriver is installed");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let line = line.unwrap();
        let port = line
            .split_once("successfully on port ")
            .and_then(|(_, port)| port.trim_end_matches('.').parse().ok());
        said.push(line);
        port
    });
    let Some(port) = port else {
        driver.wait().unwrap();
        return None;
    };
    // Whatever else it says must go somewhere.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

impl Browser {
    /// Opens the page at `url`, 1280 by 800, light.
    pub(crate) fn open(url: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        let begun = (0..STARTS).find_map(|_| chromedriver(profile.path(), &mut said));
        let (driver, port) = begun.unwrap_or_else(|| panic!("chromedriver has no port: {said:?}"));
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            _profile: profile,
        };
        browser.begin();
        browser.size(1280, 800);
        browser.dark(false);
        browser.go(url);
        browser
    }

    fn begin(&mut self) {
        let args = [
            "--headless=new",
            // Tests may run as root, and the page is our own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "binary": program("chromium"), "args": args },
        } } });
        let begun = self.send("POST", "/session", Some(&wanted)).unwrap();
        self.session = begun["sessionId"].as_str().unwrap().to_owned();
    }

    pub(crate) fn go(&self, url: &str) {
        self.command("POST", "/url", Some(&json!({ "url": url })));
    }

    /// What the script returns; its arguments are `arguments[0]` and so on.
    pub(crate) fn run(&self, script: &str, args: &[&str]) -> Value {
        let body = json!({ "script": script, "args": args });
        self.command("POST", "/execute/sync", Some(&body))
    }

    /// What the script returns once that is something; it is asked again and again.
    pub(crate) fn until(&self, what: &str, script: &str, args: &[&str]) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let told = self.run(script, args);
            let is_so = !matches!(told, Value::Null | Value::Bool(false));
            if is_so && told != json!("") && told != json!(0) {
                return told;
            }
            if Instant::now() > end {
                self.picture("failed");
                let text = self.run("return document.body.innerText", &[]);
                panic!("never: {what}; the page shows\n{}", text.as_str().unwrap());
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The text of the element, as a person sees it.
    pub(crate) fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0]).innerText";
        let text = self.run(script, &[selector]);
        text.as_str().unwrap().trim().to_owned()
    }

    /// Clicks as a mouse does: what lies over the element would be hit instead.
    pub(crate) fn click(&self, selector: &str) {
        let by = json!({ "using": "css selector", "value": selector });
        let found = self.command("POST", "/element", Some(&by));
        let (_, id) = found.as_object().unwrap().iter().next().unwrap();
        let path = format!("/element/{}/click", id.as_str().unwrap());
        self.command("POST", &path, Some(&json!({})));
    }

    /// Presses the keys, one after the other, wherever the focus is.
    pub(crate) fn types(&self, keys: &str) {
        let press = |key: char| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        };
        let presses: Vec<Value> = keys.chars().flat_map(press).collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keys", "actions": presses }] });
        self.command("POST", "/actions", Some(&body));
    }

    /// A screen of this size; below 500 px a phone's.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// What the system prefers.
    pub(crate) fn dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = [json!({ "name": "prefers-color-scheme", "value": value })];
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    fn devtools(&self, name: &str, params: &Value) {
        let body = json!({ "cmd": name, "params": params });
        self.command("POST", "/goog/cdp/execute", Some(&body));
    }

    pub(crate) fn forget_cookies(&self) {
        self.command("DELETE", "/cookie", None);
    }

    /// Writes what is seen to `target/browser/NAME.png`.
    pub(crate) fn picture(&self, name: &str) -> PathBuf {
        let told = self.command("GET", "/screenshot", None);
        let engine = base64::engine::general_purpose::STANDARD;
        let bytes = engine.decode(told.as_str().unwrap()).unwrap();
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = target.parent().unwrap().join("browser");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.png"));
        fs::write(&file, bytes).unwrap();
        file
    }

    /// The page has run no script but its own, and that without an error.
    pub(crate) fn has_no_errors(&self) {
        let told = self.command("POST", "/se/log", Some(&json!({ "type": "browser" })));
        for entry in told.as_array().unwrap() {
            let message = entry["message"].as_str().unwrap();
            let is_bad = entry["level"] == "SEVERE" && !message.contains(EXPECTED);
            assert!(!is_bad, "{message}");
        }
    }

    fn command(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let told = self.send(method, &path, body);
        told.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// One request of the protocol: JSON there and back.
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let answer = self.exchange(&request).map_err(|error| error.to_string())?;
        let told: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        let value = told["value"].clone();
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }

    fn exchange(&self, request: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(LONGEST))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(told) = line.strip_prefix("content-length:") {
                length = told.trim().parse().map_err(std::io::Error::other)?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        String::from_utf8(body).map_err(std::io::Error::other)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends Chromium; what does not end so is ended with its driver.
        let _ = self.send("DELETE", &format!("/session/{}", self.session), None);
        let _ = kill_process_group(Pid::from_child(&self.driver), Signal::KILL);
        let _ = self.driver.wait();
    }
}

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found
        .find(|file| file.is_file())
        .expect("chromium is installed")
}
