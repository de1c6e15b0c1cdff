//! The code blocks of the page.

const PAGE: &str = include_str!("../../docs/fencing.md");

/// The block whose info string ends with `name`, with its parameters filled in.
pub(crate) fn snippet(name: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = raw(name).to_owned();
    for (parameter, value) in parameters {
        assert!(text.contains(parameter), "{name} has no {parameter}");
        text = text.replace(parameter, value);
    }
    assert!(!text.contains(" :"), "{name} wants more: {text}");
    text
}

/// The block as it stands.
pub(crate) fn raw(name: &str) -> &'static str {
    let mut blocks = PAGE.split("\n```").skip(1).step_by(2);
    let block = blocks.find_map(|block| {
        let (info, text) = block.split_once('\n')?;
        let is_it = info.split_once(' ').is_some_and(|(_, label)| label == name);
        is_it.then_some(text)
    });
    block.unwrap_or_else(|| panic!("docs/fencing.md has no block {name:?}"))
}

#[test]
fn a_block_is_found_by_its_name() {
    assert!(raw("row").starts_with("UPDATE account"));
    assert!(raw("redis").ends_with("return 1"));
}
