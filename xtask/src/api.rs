//! `cargo xtask api`: the public API of the library against `docs/api.txt`.
//!
//! It is read from the pages that rustdoc writes: what is not on them is not public, and a
//! `#[doc(hidden)]` item is no promise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::run;

/// Where the API is written down.
const FILE: &str = "docs/api.txt";

/// How the file begins.
const HEAD: &str = "\
# The public API of the library, with all features: what a change must not take away or alter.
# Written by `cargo xtask api --write`; `cargo xtask api` fails when it is not as here.
";

/// What came of a look at the API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is as written down, or has been written down.
    Same,
    /// It is not: what is gone, and what is new.
    Differs { gone: Vec<String>, new: Vec<String> },
    /// The documentation could not be made.
    NoDocs,
}

/// Compares the API with what is written down, or writes it down.
///
/// # Errors
///
/// When cargo cannot be started, or a file cannot be read or written.
pub(crate) fn look(root: &Path, write: bool) -> io::Result<Look> {
    // As the other steps make it: nothing is made twice.
    let mut cargo = run::cargo(root);
    cargo.args([
        "doc",
        "--quiet",
        "--workspace",
        "--no-deps",
        "--all-features",
    ]);
    if !cargo.status()?.success() {
        return Ok(Look::NoDocs);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let found = read(&root.join(target).join("doc/tenure"))?;
    let file = root.join(FILE);
    if write {
        let lines: String = found.iter().map(|line| format!("{line}\n")).collect();
        fs::write(file, format!("{HEAD}\n{lines}"))?;
        return Ok(Look::Same);
    }
    let written = fs::read_to_string(file)?;
    Ok(compare(&written, &found))
}

fn compare(written: &str, found: &BTreeSet<String>) -> Look {
    let lines = written.lines().map(str::to_owned);
    let written: BTreeSet<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    if written == *found {
        return Look::Same;
    }
    Look::Differs {
        gone: written.difference(found).cloned().collect(),
        new: found.difference(&written).cloned().collect(),
    }
}

/// Every line of the API that the pages under `docs` tell.
fn read(docs: &Path) -> io::Result<BTreeSet<String>> {
    let all = fs::read_to_string(docs.join("all.html"))?;
    let mut lines = BTreeSet::new();
    let mut modules = BTreeSet::from([PathBuf::new()]);
    for page in links(&all) {
        let Some(path) = item(page) else {
            continue;
        };
        let text = fs::read_to_string(docs.join(page))?;
        lines.extend(members(&text).into_iter().map(|it| format!("{path}: {it}")));
        modules.extend(Path::new(page).ancestors().skip(1).map(Path::to_path_buf));
    }
    for module in modules {
        let text = fs::read_to_string(docs.join(&module).join("index.html"))?;
        let names = module
            .iter()
            .map(|part| part.to_string_lossy().into_owned());
        let path: Vec<String> = std::iter::once("tenure".into()).chain(names).collect();
        for part in text.split("id=\"reexport.").skip(1) {
            let code = between(part, "<code>", "</code>").unwrap_or_default();
            lines.insert(format!("{}: {}", path.join("::"), plain(code)));
        }
    }
    Ok(lines)
}

/// The pages that the list of all items leads to.
fn links(all: &str) -> impl Iterator<Item = &str> {
    let list = all.split_once("id=\"main-content\"");
    let list = list.map_or(all, |(_, list)| list);
    let targets = list.split("href=\"").skip(1);
    targets
        .filter_map(|rest| rest.split_once('"').map(|(page, _)| page))
        .filter(|page| page.ends_with(".html") && !page.starts_with(['.', 'h', '/']))
}

/// `lock/struct.Lock.html` is `tenure::lock::Lock`.
fn item(page: &str) -> Option<String> {
    let (folder, file) = page.rsplit_once('/').unwrap_or(("", page));
    let (_kind, name) = file.strip_suffix(".html")?.split_once('.')?;
    let folder = folder.replace('/', "::");
    let parts = ["tenure", &folder, name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(parts.join("::"))
}

/// The declaration, fields, variants, methods and implemented traits on the page
/// of an item.
fn members(page: &str) -> BTreeSet<String> {
    let main = page.split_once("id=\"main-content\"");
    let main = main.map_or(page, |(_, main)| main);
    let own = ["id=\"synthetic-implementations\"", "id=\"implementors\""]
        .iter()
        .filter_map(|end| main.find(end))
        .min()
        .map_or(main, |end| &main[..end]);
    let (own, traits) = own
        .split_once("id=\"trait-implementations\"")
        .unwrap_or((own, ""));
    let mut found = BTreeSet::new();
    for heading in own.split("<h4 class=\"code-header\">").skip(1) {
        found.extend(heading.split_once("</h4>").map(|(it, _)| plain(it)));
    }
    for kind in ["variant", "structfield"] {
        for part in own.split(&format!("id=\"{kind}.")).skip(1) {
            let code = between(part, "<code>", "</code>");
            let heading = between(part, "<h3 class=\"code-header\">", "</h3>");
            let nearest = if kind == "variant" { heading } else { code };
            found.extend(nearest.map(|it| format!("{kind} {}", plain(it))));
        }
    }
    for heading in traits.split("<h3 class=\"code-header\">").skip(1) {
        found.extend(heading.split_once("</h3>").map(|(it, _)| plain(it)));
    }
    let start = "<pre class=\"rust item-decl\"><code>";
    found.extend(between(main, start, "</code></pre>").map(declaration));
    found.retain(|line| !line.is_empty());
    found
}

/// What an item is, with its attributes, generics and supertraits. What stands
/// in its braces is told by lines of their own.
fn declaration(code: &str) -> String {
    // Each attribute is a block before the rest.
    let line = plain(&code.replace("</div>", " "));
    match line.split_once(" {") {
        Some((before, _)) => before.to_owned(),
        None => line,
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// The text without tags, in one line, however it was broken into lines.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    for (entity, sign) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
        // Rustdoc's mark at a type that is an iterator, a reader or the like.
        ("ⓘ", ""),
    ] {
        text = text.replace(entity, sign);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.replace("( ", "(")
        .replace(", )", ")")
        .replace(" )", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<section id="main-content">
        <pre class="rust item-decl"><code><div class="code-attribute">#[non_exhaustive]</div>pub struct Thing&lt;T:
            <a>Send</a>&gt; {
            pub at: <a>Duration</a>, }</code></pre>
        <section id="variant.On"><h3 class="code-header">On(<a>u8</a>)</h3></section>
        <span id="structfield.at"><code>at: <a>Duration</a></code></span>
        <h4 class="code-header">pub fn <a>go</a>(
            &amp;self,
        ) -&gt; <a>Result</a>&lt;()&gt; <a>ⓘ</a></h4>
        <h2 id="trait-implementations"></h2>
        <h3 class="code-header">impl Clone for Thing</h3>
        <h4 class="code-header">fn clone(&amp;self) -&gt; Self</h4>
        <h2 id="synthetic-implementations"></h2>
        <h3 class="code-header">impl Send for Thing</h3>"#;

    #[test]
    fn a_page_tells_what_an_item_has_and_is() {
        let found: Vec<String> = members(PAGE).into_iter().collect();
        let expected = [
            "#[non_exhaustive] pub struct Thing<T: Send>",
            "impl Clone for Thing",
            "pub fn go(&self) -> Result<()>",
            "structfield at: Duration",
            "variant On(u8)",
        ];
        assert_eq!(found, expected);
    }

    /// Decision 50: a field may be added to them.
    #[test]
    fn structs_with_public_fields_may_grow() {
        let api = include_str!("../../docs/api.txt");
        let parts = |line: &'static str| line.split_once(": ");
        let declared: std::collections::BTreeMap<&str, &str> = api
            .lines()
            .filter_map(parts)
            .filter(|(_, line)| line.contains("pub struct "))
            .collect();
        let with_fields = api.lines().filter_map(parts);
        let with_fields = with_fields.filter(|(_, line)| line.starts_with("structfield "));
        for (path, _) in with_fields {
            // What is declared elsewhere, under another name, is seen there.
            if let Some(declaration) = declared.get(path) {
                let may_grow = declaration.contains("#[non_exhaustive]");
                assert!(may_grow, "{path} has public fields and could not have more");
            }
        }
        assert!(declared.len() > 50, "the file is read");
    }

    #[test]
    fn pages_are_known_by_their_names() {
        let lock = item("lock/struct.Lock.html");
        assert_eq!(lock, Some("tenure::lock::Lock".into()));
        let root = item("enum.Revocation.html");
        assert_eq!(root, Some("tenure::Revocation".into()));
    }

    #[test]
    fn what_is_gone_and_what_is_new_is_told() {
        let found = BTreeSet::from(["a: fn".to_owned(), "c: fn".to_owned()]);
        let written = "# head\n\na: fn\nb: fn\n";
        let told = Look::Differs {
            gone: vec!["b: fn".into()],
            new: vec!["c: fn".into()],
        };
        assert_eq!(compare(written, &found), told);
        assert_eq!(compare("a: fn\nc: fn\n", &found), Look::Same);
    }
}
