//! [`Resource`]: what a request writes to, from the parameters of its path.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use crate::refusal::Refusal;

/// As long as the column of the table of fences.
const LONGEST: usize = 255;

/// `account:{id}`, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Parameter(String),
}

impl Resource {
    /// # Panics
    /// For a brace without the other one: a mistake in the program.
    pub(crate) fn new(pattern: &str) -> Self {
        let (mut parts, mut rest) = (Vec::new(), pattern);
        while let Some((text, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .unwrap_or_else(|| panic!("{pattern:?} has a {{ without a }}"));
            parts.push(Part::Text(text.into()));
            parts.push(Part::Parameter(name.into()));
            rest = after;
        }
        assert!(!rest.contains('}'), "{pattern:?} has a }} without a {{");
        parts.push(Part::Text(rest.into()));
        Self(parts)
    }

    /// The name for this request. Parameters are decoded: `%31` and `1` are one resource, as they
    /// are for the handler.
    pub(crate) async fn of(&self, parts: &mut Parts) -> Result<String, Refusal> {
        let parameters = RawPathParams::from_request_parts(parts, &()).await;
        let parameters = parameters.map_err(|error| Refusal::BadResource(error.body_text()))?;
        let mut name = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => name += text,
                Part::Parameter(wanted) => {
                    let mut found = parameters.iter().filter(|(name, _)| name == wanted);
                    let (_, value) = found
                        .next()
                        .ok_or_else(|| Refusal::NoParameter(wanted.clone()))?;
                    name += value;
                }
            }
        }
        if name.len() > LONGEST || name.contains('\0') {
            let why = format!("a name has at most {LONGEST} bytes, none of them zero");
            return Err(Refusal::BadResource(why));
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_text_and_parameters() {
        let text = |text: &str| Part::Text(text.into());
        let id = Part::Parameter("id".into());
        assert_eq!(Resource::new("all").0, [text("all")]);
        assert_eq!(
            Resource::new("a:{id}").0,
            [text("a:"), id.clone(), text("")]
        );
        let two = [text(""), id.clone(), text("/"), id, text("b")];
        assert_eq!(Resource::new("{id}/{id}b").0, two);
    }

    #[test]
    #[should_panic(expected = "without a }")]
    fn half_a_parameter_is_a_mistake() {
        Resource::new("account:{id");
    }
}
