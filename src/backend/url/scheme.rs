//! [`Scheme`]: which schemes there are, and which are compiled in.

use crate::error::{Error, Result};

/// A scheme that this crate knows, compiled in or not.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scheme {
    /// As it stands in the URL.
    pub name: &'static str,
    /// The cargo feature that compiles it in; `None` when it always is.
    pub feature: Option<&'static str>,
    /// Whether it is compiled in.
    pub compiled: bool,
}

impl Scheme {
    /// The entry of `table` for the scheme `name`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), naming the known schemes, or
    /// the cargo feature when the store is not compiled in.
    pub fn find<'a>(table: &'a [Self], name: &str) -> Result<&'a Self> {
        let Some(scheme) = table.iter().find(|scheme| scheme.name == name) else {
            let known: Vec<_> = table.iter().map(|scheme| scheme.name).collect();
            return Err(Error::invalid(format!(
                "unknown store {:?}; the known ones are: {}",
                super::brief(name),
                known.join(", ")
            )));
        };
        match scheme.feature {
            Some(feature) if !scheme.compiled => Err(Error::invalid(format!(
                "the store {name:?} is not compiled in; build tenure with the feature {feature:?}"
            ))),
            _ => Ok(scheme),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Scheme] = &[
        Scheme {
            name: "memory",
            feature: None,
            compiled: true,
        },
        Scheme {
            name: "rediss",
            feature: Some("redis"),
            compiled: false,
        },
    ];

    #[test]
    fn an_unknown_scheme_lists_the_known_ones() {
        let error = Scheme::find(TABLE, "etcd").unwrap_err().to_string();
        assert!(error.contains("memory, rediss"), "{error}");
    }

    #[test]
    fn a_scheme_that_is_not_compiled_in_names_its_feature() {
        let error = Scheme::find(TABLE, "rediss").unwrap_err().to_string();
        assert!(error.contains("feature \"redis\""), "{error}");
        assert_eq!(Scheme::find(TABLE, "memory").unwrap().name, "memory");
    }
}
