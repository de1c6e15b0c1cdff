//! `tenure top`, and `status --watch`, on a terminal.

use std::time::{Duration, Instant};

use tenure_testkit::servers::{Flow, Proxy, Redis, Way};

use super::slow_store::fill;
use super::support::{Home, Screen, holder};

#[test]
fn the_table_is_live() {
    let home = Home::new();
    for (number, command) in ["top", "status --watch"].into_iter().enumerate() {
        let name = format!("m{number}");
        let screen = Screen::show(&home, (120, 20), &format!("{command} {name} never"));
        let text = screen.sees("0 owned, 2 free");
        for part in [
            "NAME▲",
            "TIME LEFT",
            "CHANGES",
            "● well",
            "q ends",
            "sqlite",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let holder = holder(&home, "me", &name);
        let text = screen.sees("1 owned, 1 free");
        let line = text.lines().find(|line| line.starts_with(&name)).unwrap();
        assert!(line.contains("me/") && line.contains('█'), "{text}");
        drop(holder);
        screen.sees("0 owned, 2 free");
        screen.types("q");
        assert_eq!(screen.code(&home), "0");
        for file in ["code", "held"] {
            std::fs::remove_file(home.path(file)).unwrap();
        }
    }
}

#[test]
fn who_takes_over_is_a_spark_and_a_line_of_the_history() {
    let home = Home::new();
    let screen = Screen::show(&home, (80, 24), "top");
    screen.sees("0 owned");
    let first = holder(&home, "first", "billing");
    screen.sees("1 owned");
    screen.types("Down");
    screen.shows("its first owner", |text| {
        text.contains("▁▁▁▁▁▁▁█ 1") && text.contains("ago  first/")
    });
    drop(first);
    screen.sees("ago  free");
    std::fs::remove_file(home.path("held")).unwrap();
    let _second = holder(&home, "second", "billing");
    let text = screen.sees("ago  second/");
    let at = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in\n{text}"))
    };
    assert!(
        at("ago  second/") < at("ago  free"),
        "the latest first:\n{text}"
    );
    assert!(at("ago  free") < at("ago  first/"), "{text}");
    let told = text.contains(" 2 changes in");
    assert!(told, "of all together:\n{text}");
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn keys_sort_and_filter() {
    let home = Home::new();
    let _first = holder(&home, "zoe", "apples");
    std::fs::remove_file(home.path("held")).unwrap();
    let _second = holder(&home, "adam", "pears");
    let screen = Screen::show(&home, (80, 24), "top apples pears plums");
    let line = |text: &str, name: &str| text.lines().position(|line| line.starts_with(name));
    screen.shows("by name", |text| {
        let found = ["apples", "pears", "plums"].map(|name| line(text, name));
        found.iter().all(Option::is_some) && found.is_sorted()
    });
    screen.types("Right");
    screen.shows("by owner", |text| {
        text.contains("OWNER▲") && line(text, "pears") < line(text, "apples")
    });
    screen.types("r");
    screen.shows("the other way around", |text| {
        text.contains("OWNER▼") && line(text, "apples") < line(text, "pears")
    });
    screen.types("/");
    for letter in ["p", "q", "BSpace", "l", "u"] {
        screen.types(letter);
    }
    screen.shows("only one", |text| {
        text.contains("filter: plu") && line(text, "apples").is_none()
    });
    screen.types("Enter");
    let text = screen.sees("only \"plu\": 1");
    assert!(line(&text, "plums").is_some(), "{text}");
    screen.types("Escape");
    screen.shows("all", |text| line(text, "apples").is_some());
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn what_a_store_told_before_it_went_away_is_greyed_with_its_age() {
    let redis = Redis::start().unwrap();
    fill(&redis, 3);
    let way = Proxy::start(redis.address()).unwrap();
    let home = Home::new();
    let url = format!("redis://127.0.0.1:{}", way.port());
    let screen = Screen::show(&home, (100, 24), &format!("top --url {url}"));
    screen.sees("3 owned, 0 free");
    let line = |text: &str| {
        let line = text.lines().find(|line| line.contains("job-00001"));
        line.unwrap_or_default().to_owned()
    };
    let is_bright = |text: &str| line(text).contains("[38;5;");
    assert!(is_bright(&screen.coloured()), "{:?}", screen.coloured());
    way.set(Way::ToClient, Flow::Hold);
    let text = screen.shows("its age", |text| {
        text.contains('✗') && text.contains("; this is ")
    });
    assert!(text.contains("job-00001"), "{text}");
    let coloured = screen.coloured();
    assert!(!is_bright(&coloured), "{coloured:?}");
    way.heal().unwrap();
    screen.sees("● well");
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn thirty_thousand_do_not_keep_a_key_waiting() {
    let redis = Redis::start().unwrap();
    fill(&redis, 30_000);
    let home = Home::new();
    let url = format!("redis://{}", redis.address());
    let screen = Screen::show(&home, (100, 30), &format!("top --url {url}"));
    screen.sees("30000 owned, 0 free");
    // While it looks again and again.
    let mut fastest = Duration::MAX;
    for (key, name) in [("End", "job-30000"), ("Home", "job-00001")].repeat(3) {
        let start = Instant::now();
        screen.types(key);
        screen.sees(name);
        fastest = fastest.min(start.elapsed());
    }
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
    screen.types("q");
    assert_eq!(screen.code(&home), "0");
}

#[test]
fn a_tiny_screen_shows_what_fits_and_ctrl_c_ends_it() {
    let home = Home::new();
    let screen = Screen::show(&home, (40, 6), "top a b c d e f g");
    let text = screen.sees("1-2 of 7");
    assert!(text.contains("q ends"), "{text}");
    screen.types("C-c");
    assert_eq!(screen.code(&home), "130");
}

#[test]
fn without_a_terminal_it_is_refused_with_a_hint() {
    let home = Home::new();
    for words in [&["top"][..], &["status", "--watch"]] {
        let output = home.tenure(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let hint = String::from_utf8_lossy(&output.stderr);
        assert!(hint.contains("watch NAME… --output json"), "{hint}");
        assert!(hint.contains(&words.join(" ")), "{hint}");
        assert!(output.stdout.is_empty());
    }
    let screen = Screen::show(&home, (100, 20), "top --output json");
    screen.sees("needs a terminal");
    assert_eq!(screen.code(&home), "2");
}

#[test]
fn what_hides_in_an_id_is_shown() {
    let home = Home::new();
    let _holder = holder(&home, "ad\u{202e}nim\u{200b}", "n\u{2066}m");
    let screen = Screen::show(&home, (160, 20), "top");
    let text = screen.sees("1 owned");
    assert!(text.contains("ad\\u{202e}nim\\u{200b}/"), "{text:?}");
    assert!(text.contains("n\\u{2066}m"), "{text:?}");
}
