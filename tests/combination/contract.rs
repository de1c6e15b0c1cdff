//! The contract of a backend, on three servers at once: what the engine may
//! expect of any store it may expect here. Side by side, for most of it waits.

use std::sync::LazyLock;
use std::time::Duration;

use tenure::CombinationLock;
use tenure::clock::Clock;
use tenure::combination::Combined;
use tenure::model::LeaseTerms;
use tenure_testkit::contract::{self, Part, Subject};
use tenure_testkit::servers::Redis;
use tokio::task::LocalSet;

use super::support::{over, servers};

static SERVERS: LazyLock<Vec<Redis>> = LazyLock::new(|| servers(3));

struct Three;

impl Subject for Three {
    type Backend = Combined;

    async fn client(&self) -> tenure::Result<Combined> {
        CombinationLock::builder()
            .nodes(over(&SERVERS))
            .command_timeout(Duration::from_secs(5))
            .expiry(Duration::from_secs(60))
            .durable_nodes(true)
            .backend()
            .await
    }

    fn lacks(&self) -> &[Part] {
        &[Part::Ledger, Part::Inventory]
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }

    /// A renewal gives each node a tenth of what is left, and all sentences at
    /// once make a busy machine.
    fn terms(&self) -> LeaseTerms {
        LeaseTerms::new(Duration::from_millis(3600), Duration::from_millis(2400))
            .expect("both are long enough")
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// What cannot be said of several servers: a token is this process's own, so no
/// other client can release by it; and with no common clock, a lease is told to
/// end before any node ends it, and its begin is not told.
const NOT_HERE: [&str; 3] = [
    "a_close_releases_nothing",
    "an_owner_is_told_with_token_and_times",
    "the_lease_ends_where_the_store_says",
];

/// So much at once that the others would be late: it comes after them.
const ALONE: &str = "a_batch_of_250_is_answered_whole";

type Sentence = (&'static str, std::pin::Pin<Box<dyn Future<Output = ()>>>);

macro_rules! sentences {
    ({} $($area:ident { $($sentence:ident,)+ })+) => {
        fn sentences() -> Vec<Sentence> {
            vec![$($((stringify!($sentence), Box::pin(contract::$area::$sentence(&Three)) as _)),+),+]
        }
    };
}

tenure_testkit::__contract_sentences! { sentences, {} }

#[tokio::test]
async fn every_sentence_holds() {
    let local = LocalSet::new();
    let failed = local.run_until(async {
        let (alone, all): (Vec<_>, Vec<_>) = sentences()
            .into_iter()
            .filter(|(name, _)| !NOT_HERE.contains(name))
            .partition(|(name, _)| *name == ALONE);
        let mut failed = Vec::new();
        for together in [all, alone] {
            let start = |(name, sentence)| (name, tokio::task::spawn_local(sentence));
            let running: Vec<_> = together.into_iter().map(start).collect();
            for (name, sentence) in running {
                if sentence.await.is_err() {
                    failed.push(name);
                }
            }
        }
        failed
    });
    let failed = failed.await;
    assert!(failed.is_empty(), "{failed:?}: see the panics above");
}
