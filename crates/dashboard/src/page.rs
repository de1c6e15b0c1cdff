//! The page: one file for the browser, several for people.

use std::sync::LazyLock;

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

/// The page, with `NONCE` where a nonce goes.
pub(crate) static PAGE: LazyLock<String> = LazyLock::new(|| {
    include_str!("page/page.html")
        .replace("/* STYLE */", STYLE)
        .replace("// SCRIPT", SCRIPT)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_needs_nothing_from_elsewhere_and_makes_no_markup_of_data() {
        for part in [
            "http:",
            "https:",
            "innerHTML",
            "outerHTML",
            "document.write",
            "eval(",
            "insertAdjacent",
        ] {
            assert!(!PAGE.contains(part), "{part}");
        }
    }

    #[test]
    fn every_part_is_in_it_once_and_a_nonce_only_where_one_is_needed() {
        assert!(!PAGE.contains("/* STYLE */") && !PAGE.contains("// SCRIPT"));
        assert_eq!(PAGE.matches("NONCE").count(), 2);
        assert_eq!(PAGE.matches(r#"nonce="NONCE""#).count(), 2);
        assert_eq!(PAGE.matches("</script>").count(), 1);
        assert_eq!(PAGE.matches("</style>").count(), 1);
    }
}
