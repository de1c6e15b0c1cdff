//! [`Finding`]: what a person should know about a store.

use std::borrow::Cow;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Severity {
    /// As it should be.
    Good,
    /// It works, and can go wrong.
    Warning,
    /// It does not work.
    Bad,
}

/// One result of [`check`](super::Administration::check).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was looked at.
    pub subject: Cow<'static, str>,
    /// What was seen.
    pub detail: Cow<'static, str>,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: Cow<'static, str>,
}

impl Finding {
    /// `subject` is as it should be.
    #[must_use]
    pub fn good(
        subject: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            severity: Severity::Good,
            subject: subject.into(),
            detail: detail.into(),
            remedy: Cow::Borrowed(""),
        }
    }

    /// `subject` works and can go wrong; `remedy` prevents it.
    #[must_use]
    pub fn warning(
        subject: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        let remedy = remedy.into();
        Self {
            severity: Severity::Warning,
            remedy,
            ..Self::good(subject, detail)
        }
    }

    /// `subject` does not work; `remedy` repairs it.
    #[must_use]
    pub fn bad(
        subject: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        let remedy = remedy.into();
        Self {
            severity: Severity::Bad,
            remedy,
            ..Self::good(subject, detail)
        }
    }
}
