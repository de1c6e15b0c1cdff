//! Odd URLs of every scheme: parsed or refused with a word, never a panic, and
//! the password is nowhere on show.

use std::panic::catch_unwind;

use tenure::backend::url::{Scheme, StoreUrl};
use tenure::stores::{self, SCHEMES};
use tenure::{Error, ErrorKind, Outcome, Retry};

/// What no message may hold, in any of these spellings.
const SECRET: [&str; 4] = ["hunter2", "%68unter2", "h%75nter2", "%68%75%6e%74%65%72%32"];

/// What may be wrong with the part before the hosts; each has the secret.
fn logins() -> Vec<String> {
    let mut logins = Vec::new();
    for secret in SECRET {
        for login in [
            "u:{}@",
            ":{}@",
            "u:{}:x@",
            "u%3A:{}@",
            "u:{}%@",
            "u:{}%zz@",
            "u:%ff{}@",
            "u:{}/@",
            "u:{}?@",
            "u:{}#@",
            "u:{}@@",
            "u:a@{}@",
            "u:{},@",
            "u: {}@",
            "u:{}\u{0}@",
            "u:é{}@",
            "u:[{}]@",
            "u:{}%00@",
            "u:{}\\@",
            "u:{}&x=y@",
            "u:{}%2F%3F@",
            "%:{}@",
        ] {
            logins.push(login.replace("{}", secret));
        }
    }
    logins
}

const HOSTS: &[&str] = &[
    "",
    "h",
    "h.example",
    "H.EXAMPLE",
    "10.0.0.1",
    "10.0.0.256",
    "[::1]",
    "[::1",
    "::1",
    "[]",
    "[::ffff:10.0.0.1]",
    "[fe80::1%25eth0]",
    "h1,h2",
    "h1,,h2",
    ",",
    "h1,h2,",
    "h h",
    "h\t",
    "h\n",
    "hé",
    "%68",
    "..",
    "-",
    "_",
    "h|",
    "h;x",
    "h'",
    "h\"",
    "<h>",
    "h\\x",
    "*",
    "$HOME",
    "0",
    "０",
];

const PORTS: &[&str] = &[
    "",
    ":",
    ":0",
    ":1",
    ":65535",
    ":65536",
    ":-1",
    ":+1",
    ":1.5",
    ":0x10",
    ":٣",
    ": 1",
    ":1 ",
    ":99999999999999999999",
    ":a",
    ":1:2",
    "::",
    ":%31",
];

const PATHS: &[&str] = &[
    "",
    "/",
    "//",
    "/0",
    "/15",
    "/-1",
    "/16777216",
    "/99999999999999999999",
    "/a",
    "/a/b",
    "/a//b",
    "/..",
    "/../../etc/passwd",
    "/.",
    "/a b",
    "/%",
    "/%2",
    "/%zz",
    "/%00",
    "/%ff",
    "/%2F",
    "/é",
    "/a;b",
    "/'; DROP TABLE x; --",
    "/`",
    "/\"",
    "/\\",
    "/*",
    "/\u{1b}[2J",
    "/a@b",
    "/:",
    "/a:b",
];

const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "1.5",
    "NaN",
    "18446744073709551615",
    "18446744073709551616",
    "0s",
    "1s",
    "-1s",
    "999999999999y",
    "18446744073709551615h",
    "on",
    "maybe",
    "%",
    "%zz",
    "%00",
    "%ff",
    " ",
    "a b",
    "é",
    "'",
    "\u{1b}",
    "a=b",
    "..",
    "/etc/passwd",
    "٣",
];

/// A URL of this scheme that can be opened.
fn usual(scheme: &Scheme) -> (&'static str, &'static str, &'static str) {
    match scheme.name {
        "memory" => ("", "", ""),
        "sqlite" => ("", "x.db", ""),
        "redis+unix" => ("", "/run/redis.sock", ""),
        name if name.ends_with("+sentinel") => ("//h", "", "?master=m"),
        name if name.starts_with("redis") => ("//h", "", ""),
        name if name.starts_with("zookeeper") => ("//h", "", ""),
        _ => ("//u@h", "/db", ""),
    }
}

fn urls(scheme: &Scheme) -> Vec<String> {
    let name = scheme.name;
    let (place, path, options) = usual(scheme);
    let mut urls = vec![format!("{name}:{place}{path}{options}")];
    urls.extend(
        logins()
            .iter()
            .map(|login| format!("{name}://{login}h{path}{options}")),
    );
    for host in HOSTS {
        urls.push(format!("{name}://{host}{path}{options}"));
        urls.push(format!("{name}://u:hunter2@{host}:1{path}{options}"));
        urls.push(format!("{name}:{host}"));
    }
    urls.extend(
        PORTS
            .iter()
            .map(|port| format!("{name}://u:hunter2@h{port}{path}{options}")),
    );
    for odd in PATHS {
        urls.push(format!("{name}:{place}{odd}{options}"));
        urls.push(format!("{name}:{odd}"));
    }
    let mark = if options.is_empty() { '?' } else { '&' };
    for key in known(scheme)
        .iter()
        .map(String::as_str)
        .chain(["", "=", "%", "%ff", "é", "Ttl"])
    {
        for value in VALUES {
            urls.push(format!("{name}:{place}{path}{options}{mark}{key}={value}"));
        }
        urls.push(format!("{name}:{place}{path}{options}{mark}{key}"));
        urls.push(format!(
            "{name}:{place}{path}{options}{mark}{key}=1s&{key}=1s"
        ));
    }
    // A secret as the value of an option that is one.
    for key in [
        "password",
        "sentinel_password",
        "Password",
        "api_key",
        "auth",
        "pwd",
    ] {
        urls.push(format!("{name}:{place}{path}{options}{mark}{key}=hunter2"));
    }
    let long = "x".repeat(100_000);
    urls.push(format!("{name}:{place}/{long}"));
    urls.push(format!("{name}://u:hunter2{long}@h"));
    urls.push(format!("{name}:{place}{path}?{long}=1"));
    urls.push(format!("{long}:{place}{path}"));
    // Of another word for the same store some are enough.
    let is_alias =
        ["mariadb", "postgresql", "zookeeper+tls"].contains(&name) || name.starts_with("rediss");
    let step = if is_alias { 7 } else { 1 };
    urls.into_iter().step_by(step).collect()
}

/// The options that the store says it knows.
fn known(scheme: &Scheme) -> Vec<String> {
    let (place, path, options) = usual(scheme);
    let mark = if options.is_empty() { '?' } else { '&' };
    let text = format!("{}:{place}{path}{options}{mark}zzzzzzzz=1", scheme.name);
    let url = StoreUrl::parse(&text).unwrap();
    let error = stores::check(&url.clone().into())
        .expect_err(&text)
        .to_string();
    let (_, list) = error.split_once("the known ones are: ").expect(&error);
    list.split(", ").map(str::to_owned).collect()
}

/// What became of a URL, with everything that could be printed of it.
#[derive(Debug, PartialEq)]
struct Told {
    taken: bool,
    words: Vec<String>,
}

fn open(text: &str) -> Told {
    let refused = |error: Error, mut words: Vec<String>| {
        let is_usual = error.kind() == ErrorKind::Invalid
            && error.outcome() == Outcome::DidNot
            && error.retry() == Retry::Never;
        assert!(is_usual, "{error:?}");
        let said = error.to_string();
        assert!(
            (15..1_000).contains(&said.len()),
            "{} bytes: {said}",
            said.len()
        );
        words.extend([said, format!("{error:?}"), format!("{error:#?}")]);
        Told {
            taken: false,
            words,
        }
    };
    let url = match StoreUrl::parse(text) {
        Ok(url) => url,
        Err(error) => return refused(error, Vec::new()),
    };
    let words = vec![
        url.to_string(),
        format!("{url:?}"),
        format!("{:?}", url.options()),
    ];
    if url.password().is_none() && !words[0].contains("***") {
        assert_eq!(
            StoreUrl::parse(&words[0]).unwrap(),
            url,
            "printed, it is another"
        );
    }
    let mut words = words;
    // What sets the store up says whether the URL is good, too.
    let good = match url.scheme() {
        "memory" | "sqlite" => stores::check(&url.clone().into()),
        _ => stores::setup(&url.clone().into()).map(|text| words.push(text)),
    };
    match good {
        Ok(()) => Told { taken: true, words },
        Err(error) => refused(error, words),
    }
}

#[test]
fn odd_urls_are_taken_or_refused_with_a_word_and_keep_their_password() {
    let mut faults = Vec::new();
    let mut count = 0;
    for scheme in SCHEMES.iter().filter(|scheme| scheme.compiled) {
        let urls = urls(scheme);
        assert!(open(&urls[0]).taken, "{}", urls[0]);
        count += urls.len();
        for text in urls {
            let shown: String = text.chars().take(120).collect();
            let Ok(told) = catch_unwind(|| open(&text)) else {
                faults.push(format!("{shown:?}: panicked, as above"));
                continue;
            };
            let mut leaks = told
                .words
                .iter()
                .filter(|word| SECRET.iter().any(|s| word.contains(s)));
            if let Some(leak) = leaks.next() {
                let leak: String = leak.chars().take(200).collect();
                faults.push(format!("{shown:?} shows its password: {leak}"));
            }
            if shown.len().is_multiple_of(16) && told != open(&text) {
                faults.push(format!("{shown:?} is not always the same"));
            }
        }
    }
    assert!(count > 820, "only {count} URLs");
    let few = faults
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(faults.is_empty(), "{} of {count}:\n{few}", faults.len());
}

#[test]
fn urls_that_mean_the_same_are_equal() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.compiled) {
        let (place, path, options) = usual(scheme);
        let plain = format!("{}:{place}{path}{options}", scheme.name);
        let url = StoreUrl::parse(&plain).unwrap();
        let encoded: String = path
            .bytes()
            .map(|byte| match byte {
                b'/' => "/".to_owned(),
                byte => format!("%{byte:02x}"),
            })
            .collect();
        let upper = scheme.name.to_uppercase();
        for same in [
            format!("{upper}:{place}{path}{options}"),
            format!("{}:{place}{encoded}{options}", scheme.name),
            format!("{plain}{}", if options.is_empty() { "?" } else { "&" }),
        ] {
            assert_eq!(StoreUrl::parse(&same).unwrap(), url, "{same} and {plain}");
        }
    }
}

#[test]
fn an_option_that_is_misspelt_is_answered_with_the_one_that_was_meant() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.compiled) {
        let known = known(scheme);
        let (place, path, options) = usual(scheme);
        let mark = if options.is_empty() { '?' } else { '&' };
        for key in &known {
            let doubled = format!("{key}{}", &key[key.len() - 1..]);
            let dashed = key.replace('_', "-");
            let short = key[..key.len() - 1].to_owned();
            for wrong in [doubled, dashed, short, key.to_uppercase()] {
                if known.contains(&wrong) {
                    continue;
                }
                let text = format!("{}:{place}{path}{options}{mark}{wrong}=1s", scheme.name);
                let error = stores::check(&text.parse().unwrap()).unwrap_err();
                let wanted = format!("did you mean {key:?}");
                assert!(error.to_string().contains(&wanted), "{text}: {error}");
            }
        }
    }
}
