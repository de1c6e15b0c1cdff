//! `StoreUrl`, its options and durations.

use std::time::Duration;

use proptest::prelude::*;
use tenure::backend::url::{Scheme, StoreUrl, parse_duration};

use super::{assert_says, config, refusal};

fn url(text: &str) -> StoreUrl {
    StoreUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The hosts of `url`, each with its port.
fn hosts(url: &StoreUrl) -> Vec<(&str, Option<u16>)> {
    let hosts = url.hosts().iter();
    hosts.map(|it| (it.host.as_str(), it.port)).collect()
}

#[test]
fn a_full_url_is_taken_apart() {
    let url = url("REDIS://app:s3cret@10.0.0.1:6379,b.example:6380,c/7?ttl=10s&prefix=x");
    assert_eq!(url.scheme(), "redis");
    assert_eq!((url.user(), url.password()), (Some("app"), Some("s3cret")));
    let expected = [
        ("10.0.0.1", Some(6379)),
        ("b.example", Some(6380)),
        ("c", None),
    ];
    assert_eq!(hosts(&url), expected);
    assert_eq!(url.path(), "/7");
    let mut options = url.options();
    assert_eq!(options.text("prefix").as_deref(), Some("x"));
    assert_eq!(
        options.duration("ttl").unwrap(),
        Some(Duration::from_secs(10))
    );
    options.finish().unwrap();
}

#[test]
fn a_store_without_hosts_has_a_path_only() {
    for (text, path) in [
        ("memory:", ""),
        ("memory:shared", "shared"),
        ("sqlite:data/locks.db", "data/locks.db"),
        ("sqlite:/var/locks.db", "/var/locks.db"),
        ("sqlite:///var/locks.db", "/var/locks.db"),
    ] {
        assert_eq!(url(text).path(), path);
        assert!(url(text).hosts().is_empty());
    }
}

#[test]
fn an_ipv6_host_stands_in_brackets() {
    let url = url("zk://[::1]:2181,[2001:db8::7]/x");
    assert_eq!(hosts(&url), [("::1", Some(2181)), ("2001:db8::7", None)]);
    assert_eq!(url.to_string(), "zk://[::1]:2181,[2001:db8::7]/x");
    for bad in [
        "[::1",
        "[::1]x",
        "[::1]:",
        "[]",
        "[host]:1",
        "::1",
        "[::1%25eth0]",
    ] {
        refusal(StoreUrl::parse(&format!("zk://{bad}")));
    }
}

#[test]
fn parts_are_percent_decoded() {
    let url = url("mysql://us%3Aer:p%40ss%2Fw%25@h/d%20b?key%5F1=a%26b%3D%E9%94%81");
    assert_eq!(url.user(), Some("us:er"));
    assert_eq!(url.password(), Some("p@ss/w%"));
    assert_eq!(url.path(), "/d b");
    assert_eq!(url.options().text("key_1").as_deref(), Some("a&b=锁"));
}

#[test]
fn a_login_may_lack_either_part() {
    let login = |text: &str| {
        let url = url(text);
        (
            url.user().map(str::to_owned),
            url.password().map(str::to_owned),
        )
    };
    assert_eq!(login("redis://h"), (None, None));
    assert_eq!(login("redis://u@h"), (Some("u".into()), None));
    assert_eq!(login("redis://u:@h"), (Some("u".into()), None));
    assert_eq!(login("redis://:p@h"), (None, Some("p".into())));
    assert_eq!(
        login("redis://u:p@q:r@h"),
        (Some("u".into()), Some("p@q:r".into()))
    );
}

#[test]
fn what_is_no_url_is_refused_with_what_would_be_right() {
    for (text, words) in [
        ("", "begins with a scheme"),
        ("redis", "begins with a scheme"),
        ("://h", "letters, digits, + and -"),
        (" redis://h", "letters, digits, + and -"),
        ("re dis://h", "letters, digits, + and -"),
        ("redis://h/#1", "%23"),
        ("redis://,", "separated by commas"),
        ("redis://a,,b", "separated by commas"),
        ("redis://u:p@", "separated by commas"),
        ("redis://:6379", "separated by commas"),
        ("redis://h h", "separated by commas"),
        ("redis://h?x", "key=value"),
        ("redis://h?x=1&x=2", "\"x\" is given twice"),
        ("redis://h?x=1&%78=2", "\"x\" is given twice"),
        ("redis://h/a@b", "%40"),
        ("redis://h?x=a@b", "%40"),
    ] {
        assert_says(&refusal(StoreUrl::parse(text)), words);
    }
}

#[test]
fn a_port_is_a_number_from_1_to_65535() {
    assert_eq!(url("a://h:65535").hosts()[0].port, Some(65_535));
    for port in ["", "0", "65536", "-1", "+1", "1 ", "x", "1:2", "١"] {
        refusal(StoreUrl::parse(&format!("a://h:{port}")));
    }
}

#[test]
fn a_stray_percent_sign_is_refused_everywhere() {
    for stray in [
        "%", "%4", "%zz", "%+5", "%-1", "% 5", "%é", "a%", "%%41", "%ff",
    ] {
        for text in [
            format!("a://{stray}:p@h"),
            format!("a://u:{stray}@h"),
            format!("a://h/{stray}"),
            format!("a://h?{stray}=1"),
            format!("a://h?k={stray}"),
        ] {
            assert_says(&refusal(StoreUrl::parse(&text)), "percent-encoded");
        }
    }
}

#[test]
fn an_unknown_key_lists_the_known_ones_and_not_its_value() {
    let mut options = url("a:?colour=hunter2&ttl=1s").options();
    options.duration("ttl").unwrap();
    options.switch("tls").unwrap();
    let message = refusal(options.finish());
    assert_eq!(
        message,
        "unknown option \"colour\"; the known ones are: tls, ttl"
    );
}

#[test]
fn options_say_what_they_take() {
    let mut options = url("a:?n=7&on=true&off=off&mode=slow&t=2m").options();
    assert_eq!(options.number("n").unwrap(), Some(7));
    assert_eq!(options.switch("on").unwrap(), Some(true));
    assert_eq!(options.switch("off").unwrap(), Some(false));
    assert_eq!(options.choice("mode", &["fast", "slow"]).unwrap(), Some(1));
    assert_eq!(
        options.duration("t").unwrap(),
        Some(Duration::from_secs(120))
    );
    assert_eq!(options.number("missing").unwrap(), None);
    assert_eq!(options.text("missing"), None);
    options.finish().unwrap();

    let mut options = url("a:?n=%2B7&s=yes&mode=x&t=10").options();
    assert_says(
        &refusal(options.number("n")),
        "\"n\" takes a whole number below 2^64, not \"+7\"",
    );
    assert_says(
        &refusal(options.switch("s")),
        "on, true, off, false, not \"yes\"",
    );
    assert_says(
        &refusal(options.choice("mode", &["fast", "slow"])),
        "one of fast, slow",
    );
    assert_says(
        &refusal(options.duration("t")),
        "as in 500ms or 10s, not \"10\"",
    );
}

#[test]
fn durations_have_a_whole_number_and_a_unit() {
    for (text, millis) in [
        ("0ms", 0),
        ("500ms", 500),
        ("10s", 10_000),
        ("2m", 120_000),
        ("1h", 3_600_000),
    ] {
        assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis));
    }
    for bad in [
        "",
        "s",
        "10",
        "-1s",
        "+1s",
        "1.5s",
        "1 s",
        " 1s",
        "1S",
        "1d",
        "1us",
        "1s1",
        "١s",
        "18446744073709551615h",
        "99999999999999999999ms",
    ] {
        assert_says(&refusal(parse_duration(bad)), "500ms or 10s");
    }
}

#[test]
fn an_unknown_scheme_lists_the_known_ones() {
    let table = tenure::stores::SCHEMES;
    assert!(Scheme::find(table, "memory").is_ok());
    assert_says(
        &refusal(Scheme::find(table, "etcd")),
        "the known ones are: memory",
    );
}

/// What a person may see of a URL: its `Debug` and `Display`, those of its
/// options, and every message about it.
fn shown(text: &str) -> String {
    match StoreUrl::parse(text) {
        Err(error) => format!("{error} {error:?}"),
        Ok(url) => {
            let scheme = Scheme::find(tenure::stores::SCHEMES, url.scheme()).err();
            let left = url.options().finish().err();
            let wrong = url.options().number("password").err();
            let late = url.options().duration("auth").err();
            let odd = url.options().number("passwrod").err();
            format!(
                "{url} {url:?} {:?} {scheme:?} {left:?} {wrong:?} {late:?} {odd:?}",
                url.options()
            )
        }
    }
}

#[test]
fn a_password_is_never_shown_wherever_it_stands() {
    for text in [
        "redis://u:hunter2@h",
        "redis://:hunter2@h:1/0?ttl=1s",
        "redis://u:%68unter2@h",
        "redis://u:hunter2@h:bad",
        "redis://u:hunter2@",
        "redis://u:hunter2@h/#",
        "redis://u:1/hunter2@h",
        "redis://u:1?hunter2@h",
        "redis://u:1?hunter2=1&hunter2=2@h",
        "redis://u:1#hunter2@h",
        "redis://u:1@2/hunter2@h",
        "redis://u:%hunter2@h",
        "redis://u:hunter2%@h",
        "redis://u:hunter2@h,v:hunter2@i",
        "redis:u:hunter2@h",
        "redis:/u:hunter2@h",
        "redis:///u:hunter2@h",
        "redis//u:hunter2@h",
        "u:hunter2@h",
        "//u:hunter2@h",
        ":hunter2@h",
        "hunter2@h:1",
        "redis://h?password=hunter2",
        "redis://h?PASSWD=hunter2&auth=hunter2",
        "redis://h?%70assword=hunter2",
        "redis://h?pwd=hunter2&api_key=hunter2&access_token=hunter2",
        "redis://h?passwrod=hunter2",
        "redis://h?sslkey=hunter2&x=hunter2&TTL=hunter2",
        "redis://hunter2@h",
        "rediss+cluster://hunter2@h,i",
    ] {
        let shown = shown(text);
        assert!(!shown.contains("hunter2"), "{text}: {shown}");
    }
}

fn part() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 :/?#@&=%+,\\[\\]*é锁\\n]{0,12}"
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,60}") {
        let _ = shown(&text);
        let _ = parse_duration(&text);
    }

    #[test]
    fn nearly_a_url_does_not_make_the_parser_panic(
        text in "[a-z]{0,3}:?/{0,3}[a-z:%@é]{0,9}@?[\\[\\]:0-9,.a]{0,9}/?[%a#]{0,4}\\??[a=&%2é]{0,9}",
    ) {
        let _ = shown(&text);
    }

    #[test]
    fn every_part_comes_back_decoded(
        user in part(), password in part(), path in part(), value in part(), port in 1_u16..,
    ) {
        let text = format!(
            "db://{}:{}@h1:{port},[::1]/{}?k={}",
            encoded(&user), encoded(&password), encoded(&path), encoded(&value),
        );
        let url = url(&text);
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        prop_assert_eq!(url.user().map(str::to_owned), non_empty(user));
        prop_assert_eq!(url.password().map(str::to_owned), non_empty(password));
        prop_assert_eq!(hosts(&url), [("h1", Some(port)), ("::1", None)]);
        prop_assert_eq!(url.path(), format!("/{path}"));
        prop_assert_eq!(url.options().text("k"), Some(value));
    }

    #[test]
    fn a_url_without_secrets_is_printed_as_it_parses(
        user in part(), hosts in 0..3_usize, path in part(), slashes in 0..4_usize,
        option in prop::sample::select(vec!["prefix", "master", "tls_key"]), value in part(),
    ) {
        let login = if user.is_empty() { String::new() } else { format!("{}@", encoded(&user)) };
        let hosts = ["", "h", "h:1,[::1]:2"][hosts];
        let authority = if hosts.is_empty() { String::new() } else { format!("//{login}{hosts}/") };
        let path = format!("{}{}", "/".repeat(slashes), encoded(&path));
        let Ok(first) = StoreUrl::parse(&format!("db:{authority}{path}?{}={}", encoded(option), encoded(&value)))
        else {
            return Ok(()); // Slashes in front of a path without hosts begin hosts.
        };
        let printed = first.to_string();
        prop_assert!(printed.bytes().all(|byte| byte.is_ascii_graphic()), "{}", printed);
        prop_assert_eq!(url(&printed), first);
    }

    #[test]
    fn a_password_is_never_shown_whatever_surrounds_it(
        before in part(), after in part(), shape in 0..6_usize,
    ) {
        let password = format!("{before}HUNTER2{after}");
        let text = match shape {
            0 => format!("redis://u:{password}@h/0"),
            1 => format!("redis://:{password}@h"),
            2 => format!("redis:u:{password}@h"),
            3 => format!("redis://u:{}@h?ttl=1s", encoded(&password)),
            4 => format!("redis://h?password={}&x=1", encoded(&password)),
            _ => format!("redis//u:{password}@h"),
        };
        let shown = shown(&text);
        prop_assert!(!shown.contains("HUNTER2"), "{}: {}", text, shown);
        prop_assert!(!shown.contains(&encoded("HUNTER2")), "{}: {}", text, shown);
    }
}
