//! Names and ids that others wrote.

use serde_json::json;

use crate::support::{Home, ROW};

/// As they are stored; what is shown of them begins with the second.
const HOSTILE: [(&str, &str); 11] = [
    // An address takes them for a way through it.
    (".", "."),
    ("..", ".."),
    ("<img src=x onerror=window.evil=1>", "<img src=x"),
    ("</script><script>window.evil=1</script>", "</script>"),
    ("a\u{202e}gnp.exe", "a\\u{202e}gnp.exe"),
    ("zero\u{200b}width", "zero\\u{200b}width"),
    ("مرحبا-بالعالم", "مرحبا"),
    ("注文確定処理", "注文"),
    ("#hash?query=1&x=%41", "#hash?query"),
    ("javascript:window.evil=1", "javascript:"),
    (
        "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
        "www",
    ),
];

#[test]
fn hostile_names_are_text_in_the_list_the_detail_and_the_address() {
    let home = Home::new();
    let _owners: Vec<_> = HOSTILE
        .iter()
        .enumerate()
        .map(|(number, (name, _))| home.owner(&format!("owner-{number}\"'<b>"), name))
        .collect();
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    for width in [1280, 390] {
        browser.size(width, 800);
        for (name, shown) in HOSTILE {
            let into_sight = format!("{ROW} if (!row) scrollBy(0, 300); return Boolean(row)");
            browser.run("scrollTo(0, 0)", &[]);
            browser.until("it is in sight", &into_sight, &[name]);
            browser.shows(name, "name", shown);
            // One line, and inside its row.
            let fits = format!(
                "{ROW} const text = row.querySelector('.name .text').getBoundingClientRect(), \
                 around = row.getBoundingClientRect(); \
                 return text.height < 30 && text.left >= around.left && text.right <= around.right"
            );
            assert_eq!(
                browser.run(&fits, &[name]),
                json!(true),
                "{name} at {width}"
            );
        }
        let fits = "return document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(browser.run(fits, &[]), json!(true), "wider than {width}");
        browser.picture(&format!("hostile-{width}"));
    }
    browser.size(1280, 800);
    // The address leads to each of them.
    for (name, shown) in HOSTILE {
        let go = "location.href = '#' + encodeURIComponent(arguments[0])";
        browser.run(go, &[name]);
        let is_open = "return document.getElementById('detail-name').innerText.startsWith(arguments[0]) \
                       && document.getElementById('detail-owner').innerText.includes('<b>')";
        browser.until("its detail is open", is_open, &[shown]);
    }
    assert_eq!(browser.run("return window.evil ?? null", &[]), json!(null));
    assert_eq!(browser.run("return document.images.length", &[]), json!(0));
    browser.has_no_errors();
}

#[test]
fn what_is_free_may_have_the_name_of_what_every_object_has() {
    let home = Home::new();
    let names = ["__proto__", "constructor", "toString", "valueOf"];
    for name in names {
        // A schedule is known also when nobody leads it.
        home.schedule_once(name);
    }
    // It begins to look when all are free: it knows no history of them.
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    for name in names {
        browser.shows(name, "owner", "free");
        let is_drawn = format!("{ROW} return row.querySelectorAll('svg.timeline .nobody').length");
        browser.until("nobody has owned it", &is_drawn, &[name]);
    }
    let _owner = home.owner("second", "other");
    browser.shows("other", "owner", "second");
    browser.has_no_errors();
}
