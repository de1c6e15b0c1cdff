//! What the doctor says.

use tenure::backend::Severity;

use super::{Case, Part, Subject};
use crate::Whole as _;

/// A store that passes everything else has nothing bad about it.
pub async fn the_check_of_a_healthy_store_finds_nothing_bad(subject: &impl Subject) {
    let case = Case::new(subject);
    let client = case.client().await;
    let sentence = "the_check_of_a_healthy_store_finds_nothing_bad";
    if case.has_none(&client, Part::Administration, sentence) {
        return;
    }
    let findings = client.check().await;
    assert!(!findings.is_empty(), "a check says what it looked at");
    let bad = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Bad);
    let bad: Vec<_> = bad.collect();
    assert!(bad.is_empty(), "a healthy store: {bad:?}");
}
