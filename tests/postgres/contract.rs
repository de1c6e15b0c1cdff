//! The contract of a backend: with push, and behind a pooler.

use std::rc::Rc;

use tenure::backend::AnyBackend;
use tenure::clock::Clock;
use tenure_testkit::contract::{self, Subject};
use tokio::sync::Semaphore;

use crate::SERVER;
use crate::support::client;

struct Store(&'static str);

impl Subject for Store {
    type Backend = AnyBackend;

    async fn client(&self) -> tenure::Result<AnyBackend> {
        client(&format!("{}{}", SERVER.url(), self.0)).await
    }

    fn clock(&self) -> Clock {
        Clock::boot()
    }
}

tenure_testkit::contract_tests! { #[tokio::test] Store("") }

/// Behind a pooler: the same sentences, several at once.
macro_rules! at_once {
    ({} $($area:ident { $($sentence:ident,)+ })+) => {
        #[tokio::test]
        async fn the_contract_holds_without_push() {
            let local = tokio::task::LocalSet::new();
            let room = Rc::new(Semaphore::new(10));
            let mut sentences = Vec::new();
            $($(
                let place = Rc::clone(&room);
                sentences.push(local.spawn_local(async move {
                    let _place = place.acquire().await;
                    contract::$area::$sentence(&Store("?notify=off&connections=2")).await;
                }));
            )+)+
            local.run_until(async {
                for sentence in sentences {
                    sentence.await.expect("see above");
                }
            })
            .await;
        }
    };
}

tenure_testkit::__contract_sentences! { at_once, {} }
