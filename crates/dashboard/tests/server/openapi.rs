//! `openapi.json`, and whether an answer is as it says.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::Server;

const DESCRIPTION: &str = include_str!("../../src/openapi.json");

fn description() -> Value {
    serde_json::from_str(DESCRIPTION).unwrap()
}

/// Checks an answer to a method and a path without its query.
pub(crate) fn check_answer(method: &str, path: &str, status: u16, kind: &str, body: &str) {
    let description = description();
    let paths = description["paths"].as_object().unwrap();
    let Some((template, item)) = paths.iter().find(|(template, _)| fits(template, path)) else {
        assert!(matches!(status, 400 | 401 | 404 | 421), "{path}: {status}");
        return;
    };
    let method = match method {
        "HEAD" => return,
        method => method.to_lowercase(),
    };
    let Some(operation) = item.get(&method) else {
        assert!(
            matches!(status, 400 | 401 | 405 | 421),
            "{method} {path}: {status}"
        );
        return;
    };
    // What is no request at all is refused before anything else.
    if status == 400 && kind.starts_with("text/plain") {
        return;
    }
    let response = &operation["responses"][status.to_string()];
    assert!(
        response.is_object(),
        "{method} {template} never answers {status}: {body}"
    );
    let Some(contents) = response["content"].as_object() else {
        return assert_eq!(body, "", "{method} {template} {status}");
    };
    let (named, content) = contents.iter().next().unwrap();
    assert!(
        kind.starts_with(named.as_str()),
        "{template} {status}: {kind}, not {named}"
    );
    if named == "application/json" {
        let body: Value = serde_json::from_str(body).unwrap();
        check(&content["schema"], &body, &format!("{template} {status}"));
    }
}

/// Checks a value against a named schema.
pub(crate) fn check_named(schema: &str, value: &Value) {
    check(
        &description()["components"]["schemas"][schema],
        value,
        schema,
    );
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    let fits = |(wanted, found): (&&str, &&str)| wanted.starts_with('{') || wanted == found;
    template.len() == path.len() && template.iter().zip(&path).all(fits)
}

/// The part of JSON Schema that the description uses.
fn check(schema: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/components/schemas/").unwrap();
        let named = &description()["components"]["schemas"][name];
        assert!(named.is_object(), "{at}: there is no {name}");
        return check(named, value, at);
    }
    let known = [
        "type",
        "description",
        "format",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "maxItems",
        "minimum",
        "maximum",
        "default",
    ];
    for key in schema.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "{at}: {key} is not checked");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind],
        _ => Vec::new(),
    };
    let is_a = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    assert!(
        kinds.is_empty() || kinds.iter().any(is_a),
        "{at}: {value} is no {kinds:?}"
    );
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{at}: {value} is none of {words:?}");
    }
    if let Some(constant) = schema.get("const") {
        assert_eq!(constant, value, "{at}");
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64()) {
        assert!(number >= least, "{at}: {number} < {least}");
    }
    if schema["format"] == "date-time"
        && let Some(text) = value.as_str()
    {
        let is_moment = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
        assert!(is_moment, "{at}: {text}");
    }
    if let Some(items) = value.as_array() {
        let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
        assert!(items.len() as u64 <= most, "{at}: {} items", items.len());
        for item in items {
            check(&schema["items"], item, &format!("{at}[]"));
        }
    }
    if let Some(fields) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            assert!(
                fields.contains_key(name),
                "{at}: {name} is missing in {value}"
            );
        }
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (
                schema["properties"].get(name),
                &schema["additionalProperties"],
            ) {
                (Some(property), _) => check(property, field, &at),
                (None, Value::Bool(false)) => panic!("{at} is not described: {field}"),
                (None, Value::Object(_)) => check(&schema["additionalProperties"], field, &at),
                (None, _) => {}
            }
        }
    }
}

#[tokio::test]
async fn every_path_that_is_described_is_answered_and_the_description_is_whole() {
    let server = Server::start().await;
    let told = server.get("/api/v1/openapi.json").await;
    assert_eq!(told.json(), description());
    let description = description();
    let mut asked = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{name}", "m");
            // It does not end.
            if path.ends_with("/events") {
                continue;
            }
            let method = method.to_uppercase();
            let reply = server.ask(&method, &path, &[], "").await;
            assert!(
                !matches!(reply.status, 405 | 500),
                "{method} {path}: {reply:?}"
            );
            asked.insert((method, path));
        }
    }
    assert!(asked.len() > 12, "{asked:?}");
    // All that is referred to is there, and nothing is there for nothing.
    let schemas = description["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        let wanted = format!("#/components/schemas/{name}");
        // Of events, whose stream has no schema.
        let is_event = name == "Changes";
        assert!(
            DESCRIPTION.contains(&wanted) || is_event,
            "{name} is not used"
        );
    }
    for part in DESCRIPTION.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "there is no {name}");
    }
}
