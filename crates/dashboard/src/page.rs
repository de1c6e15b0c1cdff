//! The page, joined from its parts: one file for the browser, several for people.

/// Where the nonce of a page goes.
pub(crate) const NONCE: &str = "NONCE";
const STYLE: &str = include_str!("page/style.css");
/// One script, in this order.
const SCRIPT: &str = concat!(
    include_str!("page/text.js"),
    include_str!("page/clock.js"),
    include_str!("page/model.js"),
    include_str!("page/timeline.js"),
    include_str!("page/rows.js"),
    include_str!("page/list.js"),
    include_str!("page/detail.js"),
    include_str!("page/revoke.js"),
    include_str!("page/head.js"),
    include_str!("page/live.js"),
    include_str!("page/keys.js"),
);

/// The page with this nonce.
pub(crate) fn with(nonce: &str) -> String {
    include_str!("page/page.html")
        .replace(NONCE, nonce)
        .replace("/* STYLE */", STYLE)
        .replace("// SCRIPT", SCRIPT)
}
