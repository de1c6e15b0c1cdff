//! A virtual machine with an owner in it.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use tenure::model::FencingToken;

use crate::image;
use crate::kernel::KERNEL;

/// How long anything may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Guest {
    hypervisor: Child,
    lines: Receiver<(Instant, String)>,
    said: Vec<String>,
    monitor: UnixStream,
    orders: UnixStream,
    folder: TempDir,
}

impl Guest {
    /// A machine whose owner has these arguments.
    pub(crate) fn boot(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        image::write(&folder.path().join("image"), args);
        let image = folder.path().join("image");
        let mut options = vec!["-kernel".into(), KERNEL.file.clone().into_os_string()];
        options.extend(["-initrd".into(), image.into_os_string()]);
        let words = "console=ttyS0 quiet panic=-1 rdinit=/init";
        options.extend(["-append".into(), words.into()]);
        Self::start(folder, &options)
    }

    /// The machine of a snapshot.
    pub(crate) fn restored(snapshot: &Path) -> Self {
        let from = format!("exec:cat {}", snapshot.display());
        let folder = tempfile::tempdir().unwrap();
        let mut guest = Self::start(folder, &["-incoming".into(), from.into()]);
        // Not "paused (inmigrate)": it has come whole, and stands as it stood.
        guest.until_monitor("info status", "paused\r\n");
        guest.resume();
        guest
    }

    fn start(folder: TempDir, options: &[std::ffi::OsString]) -> Self {
        let socket = |name: &str| folder.path().join(name);
        let listening = |name: &str| format!("unix:{},server=on,wait=off", socket(name).display());
        // It does not outlive a test that is killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
            // Its processor is computed: no right to another is needed.
            .args(["-accel", "tcg", "-m", "256", "-nodefaults"])
            .args(["-display", "none", "-no-reboot", "-rtc", "base=utc"])
            .args([
                "-netdev",
                "user,id=net",
                "-chardev",
                "stdio,id=out,signal=off",
            ])
            .args(["-device", "virtio-net-pci,netdev=net,romfile="])
            .args(["-serial", "chardev:out", "-serial", &listening("orders")])
            .args(["-monitor", &listening("monitor")])
            .args(options);
        let mut hypervisor = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let out = hypervisor.stdout.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if send.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let mut guest = Self {
            monitor: connect(&socket("monitor")),
            orders: connect(&socket("orders")),
            hypervisor,
            lines,
            said: Vec::new(),
            folder,
        };
        guest.hear_monitor();
        guest
    }

    /// Its next line for which `wanted` has something, and when it came.
    pub(crate) fn wait_for<T>(
        &mut self,
        what: &str,
        wanted: impl Fn(&str) -> Option<T>,
    ) -> (Instant, T) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((at, line)) = self.lines.recv_timeout(left) else {
                panic!("it did not say {what:?}; it said {:#?}", self.said);
            };
            self.said.push(line.clone());
            if let Some(found) = wanted(&line) {
                return (at, found);
            }
        }
    }

    /// The token under which its owner owns, from now on.
    pub(crate) fn wait_acquired(&mut self) -> FencingToken {
        let acquired = |line: &str| {
            let token = line.strip_prefix("acquired ")?.split(' ').next()?;
            token.parse().ok()
        };
        self.wait_for("acquired", acquired).1
    }

    /// When its owner has said that it owns no more.
    pub(crate) fn wait_released(&mut self) -> Instant {
        let released = |line: &str| (line == "released").then_some(());
        self.wait_for("released", released).0
    }

    /// Whether its owner finds its tenure valid, now and for some moments.
    pub(crate) fn believes(&mut self) -> bool {
        let mut counts = Vec::new();
        for _ in 0..2 {
            // It notes each time that it has looked.
            self.order("busybox sleep 0.2; echo noted $(busybox wc -l < /journal)");
            let noted = |line: &str| line.strip_prefix("noted ")?.parse::<u64>().ok();
            counts.push(self.wait_for("noted", noted).1);
        }
        counts[1] > counts[0]
    }

    /// As a time service does at last. Says when it was told to.
    pub(crate) fn set_clock_right(&mut self) -> Instant {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.order(&format!("busybox date -u -s @{}", now.as_secs() + 1));
        Instant::now()
    }

    fn order(&mut self, line: &str) {
        writeln!(self.orders, "{line}").expect("the guest takes orders");
    }

    pub(crate) fn pause(&mut self) {
        self.until_monitor("stop", "(qemu)");
        self.until_monitor("info status", "paused");
    }

    pub(crate) fn resume(&mut self) {
        self.until_monitor("cont", "(qemu)");
        self.until_monitor("info status", "running");
    }

    /// Writes all of the machine to a file; it stands still from then on.
    pub(crate) fn snapshot(&mut self) -> PathBuf {
        self.pause();
        let to = self.folder.path().join("snapshot");
        let migrate = format!("migrate \"exec:cat > {}\"", to.display());
        self.until_monitor(&migrate, "(qemu)");
        self.until_monitor("info migrate", "completed");
        to
    }

    /// Asks the hypervisor until its answer has `wanted` in it.
    fn until_monitor(&mut self, command: &str, wanted: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask_monitor(command);
            if answer.contains(wanted) {
                return;
            }
            assert!(Instant::now() < end, "{command}: {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ask_monitor(&mut self, command: &str) -> String {
        writeln!(self.monitor, "{command}").expect("the hypervisor listens");
        self.hear_monitor()
    }

    /// What the hypervisor says until it waits for the next command.
    fn hear_monitor(&mut self) -> String {
        let (mut all, mut some) = (String::new(), [0; 4096]);
        while !all.contains("\n(qemu)") {
            let count = self.monitor.read(&mut some).expect("it answers");
            assert!(count > 0, "the hypervisor has ended: {all}");
            all += &String::from_utf8_lossy(&some[..count]);
        }
        all
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.hypervisor.kill();
        let _ = self.hypervisor.wait();
    }
}

fn connect(path: &Path) -> UnixStream {
    let end = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                return stream;
            }
            Err(error) => assert!(Instant::now() < end, "{}: {error}", path.display()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
