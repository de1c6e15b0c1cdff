//! `docs/operations.md` lists every event, span and metric, and no other.

use std::collections::BTreeSet;
use std::fs;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{root, rust_files};

const PAGE: &str = "docs/operations.md";

/// A name, and how it is told: a level, or the kind of a metric.
type Told = BTreeSet<(String, String)>;

#[test]
fn the_page_lists_every_event_and_span() {
    let (mut events, mut spans) = (Told::new(), Told::new());
    for file in rust_files(&root().join("src")) {
        let source = fs::read_to_string(&file).unwrap();
        if file.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let tokens: TokenStream = source.parse().unwrap();
        read(tokens, &mut events, &mut spans);
    }
    assert!(
        events.len() > 60 && spans.len() > 10,
        "{events:?} {spans:?}"
    );
    compare("## Events", &events);
    compare("## Spans", &spans);
}

/// The metrics of the source, each with its kind.
fn metrics() -> Told {
    let source = fs::read_to_string(root().join("src/telemetry/names.rs")).unwrap();
    let mut metrics = Told::new();
    for line in source.lines() {
        let parts: Vec<_> = line.trim().split('"').collect();
        if let [before, name, ..] = parts[..]
            && let Some(kind) = before.strip_prefix("pub(super) const ")
        {
            let kind = kind.split('_').next().unwrap().to_lowercase();
            metrics.insert((name.to_owned(), kind));
        }
    }
    assert!(metrics.len() > 15, "{metrics:?}");
    metrics
}

#[test]
fn the_page_lists_every_metric() {
    compare("## Metrics", &metrics());
}

#[test]
fn the_rules_and_the_dashboard_ask_only_for_metrics_that_are_there() {
    // As Prometheus keeps them: a histogram is three.
    let series = metrics().into_iter().flat_map(|(name, kind)| {
        let ends: &[&str] = match kind.as_str() {
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        ends.iter().map(move |end| format!("{name}{end}"))
    });
    let series: BTreeSet<String> = series.collect();
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    for file in [
        "deploy/alerts.yml",
        "deploy/alerts_test.yml",
        "deploy/grafana.json",
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let mut count = 0;
        for (at, _) in text.match_indices("tenure_") {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (metric, rest) = rest.split_at(end.unwrap_or(rest.len()));
            assert!(series.contains(metric), "{file}: {metric}");
            for label in selected(rest) {
                let known = labels(&page, metric);
                assert!(
                    known.contains(&label),
                    "{file}: {metric} by {label}: {known:?}"
                );
            }
            count += 1;
        }
        assert!(count > 8, "{file} asks for {count}");
    }
    let rules = fs::read_to_string(root().join("deploy/alerts.yml")).unwrap();
    for alert in rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        assert!(
            page.contains(&format!("| {alert} |")),
            "{PAGE} says nothing of {alert}"
        );
    }
}

/// The labels that are asked for in what follows a metric, as in
/// `{mutex!="other"}`.
fn selected(rest: &str) -> Vec<String> {
    let Some((inside, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return Vec::new();
    };
    // In JSON the quotes are escaped.
    let inside = inside.replace('\\', "");
    let label = |part: &str| {
        let end = part.find(['=', '!', '~']).unwrap_or(part.len());
        part[..end].trim().to_owned()
    };
    inside.split(',').map(label).collect()
}

/// The labels that `page` says of `metric`, and those of Prometheus itself.
fn labels(page: &str, metric: &str) -> Vec<String> {
    let ends = ["", "_bucket", "_count", "_sum"];
    let names = ends.iter().filter_map(|end| metric.strip_suffix(end));
    let row = names
        .filter_map(|name| {
            page.lines()
                .find(|line| line.starts_with(&format!("| `{name}` |")))
        })
        .next();
    let row = row.unwrap_or_else(|| panic!("{PAGE} does not list {metric}"));
    let told = row.split(" | ").nth(2).unwrap_or_default();
    let prometheus = ["job", "instance", "le"].map(str::to_owned);
    told.split(", ")
        .map(str::to_owned)
        .chain(prometheus)
        .collect()
}

/// The rows of the tables below `heading` say the same as `told`.
fn compare(heading: &str, told: &Told) {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap();
    let below = below.split("\n## ").next().unwrap();
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    for line in below.lines().filter(|line| line.starts_with("| `")) {
        // A bar is escaped in a table.
        let line = line.replace("\\|", "|");
        let name = line.split('`').nth(1).unwrap();
        let how = line.split(" | ").nth(1).unwrap();
        for how in how.split(", ") {
            listed.insert((name.to_owned(), how.to_owned()));
        }
    }
    for (name, how) in told.difference(&listed) {
        wrong.push(format!("not listed: | `{name}` | {how} |"));
    }
    for (name, how) in listed.difference(told) {
        wrong.push(format!("not in the source: | `{name}` | {how} |"));
    }
    assert!(wrong.is_empty(), "{PAGE}, {heading}:\n{}", wrong.join("\n"));
}

/// What the macros among `tokens` tell.
fn read(tokens: TokenStream, events: &mut Told, spans: &mut Told) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let name = match (
            at.checked_sub(2).map(|at| &tokens[at]),
            tokens.get(at.wrapping_sub(1)),
        ) {
            (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(mark)))
                if mark.as_char() == '!' =>
            {
                name.to_string()
            }
            _ => String::new(),
        };
        let texts = || texts(group.stream());
        match name.as_str() {
            "error" | "warn" | "info" | "debug" | "trace" => {
                if let Some(message) = texts().pop() {
                    events.insert((message, name.to_uppercase()));
                }
            }
            "story" => {
                let mut texts = texts().into_iter();
                events.extend(texts.next().map(|lock| (lock, "DEBUG".to_owned())));
                events.extend(texts.next().map(|office| (office, "INFO".to_owned())));
            }
            "info_span" | "debug_span" => {
                let level = name.trim_end_matches("_span").to_uppercase();
                spans.extend(texts().into_iter().next().map(|name| (name, level)));
            }
            "life_span" => {
                let name = texts().remove(0);
                spans.insert((name.clone(), "DEBUG".to_owned()));
                spans.insert((name, "INFO".to_owned()));
            }
            "span" => {
                spans.extend(
                    texts()
                        .into_iter()
                        .next()
                        .map(|name| (name, "DEBUG".to_owned())),
                );
            }
            _ => read(group.stream(), events, spans),
        }
        if !name.is_empty() && group.delimiter() == Delimiter::Brace {
            read(group.stream(), events, spans);
        }
    }
}

/// The texts that are arguments of a macro, without its target: what a value
/// stands for in them is `…`.
fn texts(arguments: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let mut texts = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Literal(literal) = token else {
            continue;
        };
        let text = literal.to_string();
        let is_value = at > 0
            && matches!(&tokens[at - 1], TokenTree::Punct(mark) if ":=".contains(mark.as_char()));
        if is_value || !text.starts_with('"') {
            continue;
        }
        texts.push(plain(text.trim_matches('"')));
    }
    texts
}

fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            // The text goes on in the next line.
            '\\' if rest.starts_with('\n') => rest = rest.trim_start(),
            '\\' => {}
            '{' => {
                plain.push('…');
                rest = rest.split_once('}').map_or("", |(_, rest)| rest);
            }
            other => plain.push(other),
        }
    }
    plain
}
