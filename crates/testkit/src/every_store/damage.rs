//! Damaged mutexes beside healthy ones.

use std::time::Duration;

use tenure::backend::{Entry, Page};
use tenure::model::MutexName;
use tenure::{Coordinator, ErrorKind};

/// A mutex that was damaged.
#[derive(Debug)]
pub struct Damage {
    /// As a listing shows it.
    pub name: String,
    /// Part of the reason that is told.
    pub why: &'static str,
}

/// The mutex of this name, damaged; `why` is part of the reason that is told.
pub fn damage(name: &str, why: &'static str) -> Damage {
    Damage {
        name: name.to_owned(),
        why,
    }
}

/// All entries of a listing in pages of `size`.
pub async fn all(coordinator: &Coordinator, size: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut page = Page::first(size);
    loop {
        let listing = coordinator.list(&page).await.expect("a listing");
        entries.extend(listing.entries.clone());
        match listing.next_page(&page) {
            Some(next) => page = next,
            None => return entries,
        }
    }
}

/// Lists, locks and mends: `damage` has been done to the store of
/// `coordinator`, in which no other test is.
pub async fn is_isolated_and_mended(coordinator: &Coordinator, damage: &[Damage]) {
    assert!(damage.len() >= 5, "several kinds");
    let lock = |name: &str| coordinator.lock(name).expect("a valid name");
    let healthy = ["aa-healthy", "zz-healthy"];
    let mut guards = Vec::new();
    for name in healthy {
        guards.push(lock(name).acquire().await.expect("a healthy mutex"));
    }
    for size in [1, 2, 100] {
        let entries = all(coordinator, size).await;
        assert!(entries.is_sorted_by(|a, b| a.name < b.name), "{entries:?}");
        assert_eq!(entries.len(), damage.len() + 2, "{entries:#?}");
        for name in healthy {
            let entry = entries.iter().find(|entry| entry.name.as_str() == name);
            let entry = entry.unwrap_or_else(|| panic!("{name} in {entries:?}"));
            assert_eq!(entry.fault, None);
            assert!(entry.owner.owner_id().is_some(), "{entry:?}");
        }
        for Damage { name, why } in damage {
            let fault = fault_of(&entries, name);
            assert!(fault.contains(why), "{name:?}: {fault}");
        }
    }
    // Named ones are looked up alone, healthy or not.
    for name in healthy {
        let page = Page::of([MutexName::found(name)]);
        let listing = coordinator.list(&page).await.expect("one mutex");
        assert_eq!(listing.entries.len(), 1);
        assert_eq!(listing.entries[0].fault, None);
    }
    for guard in guards {
        guard.release().await.expect("a healthy mutex");
    }
    for entry in all(coordinator, 100).await {
        let name = entry.name.as_str().to_owned();
        let is_a_name = MutexName::new(&name).is_ok_and(|same| same == entry.name);
        if is_a_name {
            let limit = Duration::from_secs(20);
            let got = tokio::time::timeout(limit, lock(&name).acquire()).await;
            let got = got.unwrap_or_else(|_| panic!("{name:?} is waited for in silence"));
            let error = got.map(drop).expect_err("nobody can take a damaged mutex");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{name:?}: {error:?}");
        }
        let answer = coordinator.revoke_found(&entry.name, None).await;
        let answer = answer.unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
        assert!(answer.is_freed(), "{name:?} is mended: {answer:?}");
        let page = Page::of([entry.name.clone()]);
        // What the attempt before it left is tidied up in the background.
        let end = std::time::Instant::now() + Duration::from_secs(20);
        loop {
            let left = coordinator.list(&page).await.expect("a listing").entries;
            if left.is_empty() {
                break;
            }
            let mended = left.iter().all(|entry| entry.fault.is_none());
            let in_time = std::time::Instant::now() < end;
            assert!(mended && in_time, "{name:?} is mended: {left:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if is_a_name {
            let guard = lock(&name).acquire().await;
            let guard = guard.unwrap_or_else(|error| panic!("{name:?} after that: {error:?}"));
            guard.release().await.expect("as any other");
        }
    }
    assert_eq!(all(coordinator, 100).await, [], "all is mended");
}

fn fault_of<'a>(entries: &'a [Entry], name: &str) -> &'a str {
    let mut of_it = entries.iter().filter(|entry| entry.name.as_str() == name);
    let entry = of_it
        .next()
        .unwrap_or_else(|| panic!("{name:?} in {entries:?}"));
    let fault = entry.fault.as_deref();
    fault.unwrap_or_else(|| panic!("{name:?} is damaged: {entry:?}"))
}
