//! Without a mouse, and for who does not see the page.

use serde_json::json;

use crate::support::Home;

const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
/// The name of the row that has the focus.
const FOCUSED: &str = "return document.activeElement?.dataset?.name ?? null";
const OPENED: &str = "return document.getElementById('detail').hidden ? null : \
                      document.getElementById('detail-name').innerText";

#[test]
fn everything_is_reached_by_keys() {
    let home = Home::new();
    let _owners = ["alpha", "beta", "gamma"].map(|name| home.owner(&format!("at-{name}"), name));
    let dashboard = home.dashboard(&[]);
    let browser = dashboard.open();
    browser.shows("gamma", "owner", "at-gamma");

    browser.types(DOWN);
    assert_eq!(browser.run(FOCUSED, &[]), json!("alpha"));
    browser.types(DOWN);
    assert_eq!(browser.run(FOCUSED, &[]), json!("beta"));
    browser.types(ENTER);
    assert_eq!(browser.run(OPENED, &[]), json!("beta"));
    assert_eq!(browser.run("return location.hash", &[]), json!("#beta"));
    browser.types(ESCAPE);
    assert_eq!(browser.run(OPENED, &[]), json!(null));
    assert_eq!(
        browser.run(FOCUSED, &[]),
        json!("beta"),
        "the focus comes back"
    );

    browser.types("/gam");
    browser.until(
        "one is left",
        "return document.querySelectorAll('.row').length === 1",
        &[],
    );
    browser.types(DOWN);
    assert_eq!(browser.run(FOCUSED, &[]), json!("gamma"));
    browser.types("/");
    browser.types(ESCAPE);
    browser.until(
        "all are back",
        "return document.querySelectorAll('.row').length === 3",
        &[],
    );

    // Back in the browser closes what Enter opened.
    browser.run("document.querySelector('.row').focus()", &[]);
    browser.types(ENTER);
    assert_eq!(browser.run(OPENED, &[]), json!("alpha"));
    browser.run("history.back()", &[]);
    let is_closed = "return document.getElementById('detail').hidden";
    browser.until("it is closed", is_closed, &[]);
    browser.has_no_errors();
}

/// What has no name for who listens, and what has too little contrast for who
/// sees badly.
const UNCLEAR: &str = r#"
    const wrong = [];
    for (const node of document.querySelectorAll('button, input, select, [role=grid], [role=meter], svg[role=img]')) {
        if (!node.checkVisibility()) continue;
        const name = node.getAttribute('aria-label') || node.title || node.innerText || node.closest('label')?.innerText;
        if (!name?.trim()) wrong.push('no name: ' + node.outerHTML.slice(0, 120));
    }
    const numbers = colour => (colour.match(/[\d.]+/g) || []).map(Number);
    const bright = ([r, g, b]) => {
        const part = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
        return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
    };
    const behind = node => {
        for (; node; node = node.parentElement) {
            const colour = numbers(getComputedStyle(node).backgroundColor);
            if (colour.length && colour[3] !== 0) return colour;
        }
        return [255, 255, 255];
    };
    for (const node of document.querySelectorAll('body *')) {
        const text = [...node.childNodes].filter(child => child.nodeType === 3 && child.data.trim());
        if (!text.length || !node.checkVisibility() || node.closest('.unseen, script, style, :disabled')) continue;
        const [a, b] = [bright(numbers(getComputedStyle(node).color)), bright(behind(node))];
        const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (contrast < 4.5) wrong.push(contrast.toFixed(2) + ': ' + text[0].data.trim().slice(0, 40));
    }
    return wrong;"#;

#[test]
fn everything_has_a_name_and_enough_contrast() {
    let home = Home::new();
    let _owner = home.owner("first", "alpha");
    let dashboard = home.dashboard(&["--allow-revoke"]);
    let browser = dashboard.open();
    browser.shows("alpha", "owner", "first");
    browser.click(".row .name");
    let is_told = "return document.querySelectorAll('#detail-history tbody tr').length";
    browser.until("the history is there", is_told, &[]);
    for is_dark in [false, true] {
        browser.dark(is_dark);
        // Past the moment in which a row that has changed is marked.
        let is_calm = "return document.getAnimations().length === 0";
        browser.until("nothing moves", is_calm, &[]);
        assert_eq!(browser.run(UNCLEAR, &[]), json!([]), "dark: {is_dark}");
    }
    browser.dark(false);
    // What the person chose comes before what the system prefers, also at the next visit.
    browser.types("tt");
    browser.go(&dashboard.url);
    let theme = "return document.documentElement.dataset.theme";
    assert_eq!(browser.run(theme, &[]), json!("dark"));
}
