//! Times that no clock of the file has shown: written by hand, or by a disk.

use tenure::ErrorKind;
use tenure::backend::{Backend, Bid, Page};
use tenure_testkit::Whole as _;

use crate::support::{TestFile, id, name, open, terms};

const YEAR_300000: i64 = 9_404_000_000_000_000;

/// Writes a row of this boot with these times.
fn row(place: &TestFile, name: &str, acquired_at: i64, until: i64) {
    let text = format!(
        "INSERT INTO simba_mutex VALUES ('{name}', {acquired_at}, {until}, {until}, 'evil', 5, \
         (SELECT boot_id FROM tenure_clock), x'00')"
    );
    place.sql().execute_batch(&text).unwrap();
}

#[tokio::test]
async fn a_row_from_the_far_future_keeps_nobody_out_and_ends_no_lease() {
    let place = TestFile::new();
    let first = place.open().await;
    let bid = |who| Bid::new(name("good"), id(who), terms(600_000));
    let answer = first.acquire(&bid("owner")).await.unwrap();
    assert!(answer.is_won());
    let soon = i64::try_from(answer.now().as_millis()).unwrap() + 600_000;
    let odd = [
        ("far", YEAR_300000, YEAR_300000),
        ("last", i64::MAX, i64::MAX),
        ("after-its-end", i64::MAX, soon),
        ("a-little-after", soon + 1, soon),
    ];
    for (name, acquired_at, until) in odd {
        row(&place, name, acquired_at, until);
    }

    let second = open(&place.url())
        .await
        .expect("rows of others are no clock");
    let listing = second.list(&Page::first(100)).await.unwrap();
    assert_eq!(listing.entries.len(), odd.len() + 1);
    for entry in &listing.entries {
        let is_odd = entry.name.as_str() != "good";
        assert_eq!(entry.fault.is_some(), is_odd, "{entry:?}");
    }
    assert!(!second.acquire(&bid("other")).await.unwrap().is_won());

    // Alone with the file, no process takes them for a sign of another boot: that
    // would end the lease of an owner who is only away.
    first.close().await.unwrap();
    second.close().await.unwrap();
    drop((first, second));
    let third = place.open().await;
    assert!(!third.acquire(&bid("other")).await.unwrap().is_won());
}

#[tokio::test]
async fn a_clock_that_cannot_be_is_named() {
    for epoch in [-1, i64::MAX] {
        let place = TestFile::new();
        place.open().await.close().await.unwrap();
        let text = format!("UPDATE tenure_clock SET epoch = {epoch}");
        place.sql().execute_batch(&text).unwrap();
        let error = open(&place.url()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
        assert!(error.to_string().contains("tenure_clock"), "{error}");
    }
}
