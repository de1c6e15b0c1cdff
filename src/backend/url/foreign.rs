//! Words that the URLs of hosted servers carry, for what has another word here.

use super::brief::brief;
use super::options::Options;
use crate::error::{Error, Result};

/// A word of another program's URLs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreign {
    pub(crate) theirs: &'static str,
    pub(crate) meaning: Meaning,
}

impl Foreign {
    pub(crate) const fn new(theirs: &'static str, meaning: Meaning) -> Self {
        Self { theirs, meaning }
    }
}

/// What is made of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// Our option, with their value.
    Same(&'static str),
    /// Our option, with our word for each of their values. SQL only.
    #[cfg_attr(not(any(feature = "mysql", feature = "postgres")), allow(dead_code))]
    Each(&'static str, &'static [(&'static str, &'static str)]),
    /// These values ask for what is so anyway.
    AsItIs(&'static [&'static str]),
    /// What to do instead.
    Instead(&'static str),
}

impl Options {
    /// Puts our words in the place of `words`, so that a URL can be used as a
    /// hosting company shows it.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a word or a value that means
    /// nothing here, with what to write instead; and when both words are there.
    pub(crate) fn translate(&mut self, words: &[Foreign]) -> Result<()> {
        for Foreign { theirs, meaning } in words {
            let Some(value) = self.left.remove(*theirs) else {
                continue;
            };
            let (ours, value) = match meaning {
                Meaning::Same(ours) => (ours, value),
                Meaning::Each(ours, values) => (ours, ours_for(theirs, &value, values)?.to_owned()),
                Meaning::AsItIs(values) => {
                    let pairs: Vec<_> = values.iter().map(|value| (*value, "")).collect();
                    ours_for(theirs, &value, &pairs)?;
                    continue;
                }
                Meaning::Instead(advice) => {
                    return Err(Error::invalid(format!(
                        "the option {theirs:?} means nothing here: {advice}"
                    )));
                }
            };
            if self.left.insert((*ours).to_owned(), value).is_some() {
                return Err(Error::invalid(format!(
                    "the options {theirs:?} and {ours:?} are the same: give one of them"
                )));
            }
        }
        Ok(())
    }
}

/// Our word for `value`. The words of others come in capitals, too.
fn ours_for(
    theirs: &str,
    value: &str,
    values: &[(&'static str, &'static str)],
) -> Result<&'static str> {
    let found = values
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(value));
    found.map(|(_, ours)| *ours).ok_or_else(|| {
        let known: Vec<_> = values.iter().map(|(word, _)| *word).collect();
        Error::invalid(format!(
            "the option {theirs:?} is one of {} here, not {:?}",
            known.join(", "),
            brief(value)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::url::StoreUrl;

    const WORDS: [Foreign; 4] = [
        Foreign {
            theirs: "sslmode",
            meaning: Meaning::Each("tls", &[("require", "on"), ("disable", "off")]),
        },
        Foreign {
            theirs: "sslrootcert",
            meaning: Meaning::Same("tls_ca"),
        },
        Foreign {
            theirs: "attrs",
            meaning: Meaning::AsItIs(&["any", "primary"]),
        },
        Foreign {
            theirs: "pgbouncer",
            meaning: Meaning::Instead("write notify=off"),
        },
    ];

    fn translated(query: &str) -> Result<Options> {
        let mut options = StoreUrl::parse(&format!("memory:?{query}"))?.options();
        options.translate(&WORDS)?;
        Ok(options)
    }

    #[test]
    fn words_of_others_become_ours() {
        let mut options = translated("sslmode=REQUIRE&sslrootcert=/a/B.pem&attrs=any").unwrap();
        assert_eq!(options.switch("tls").unwrap(), Some(true));
        assert_eq!(options.text("tls_ca").as_deref(), Some("/a/B.pem"));
        options.finish().unwrap();
    }

    #[test]
    fn what_means_nothing_is_answered_with_our_word_for_it() {
        for (query, said) in [
            ("sslmode=maybe", "is one of require, disable here"),
            ("attrs=standby", "is one of any, primary here"),
            ("pgbouncer=true", "write notify=off"),
            ("sslmode=require&tls=on", "are the same"),
        ] {
            let error = translated(query).unwrap_err().to_string();
            assert!(error.contains(said), "{query}: {error}");
        }
    }
}
