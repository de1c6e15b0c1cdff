//! Step 5: every sentence of the contract, as a test.

use std::sync::Arc;

use custom_backend::{Client, Whiteboard};
use tenure::Result;
use tenure::clock::Clock;
use tenure_testkit::contract::{Part, Subject};

struct OneBoard {
    board: Arc<Whiteboard>,
    clock: Clock,
}

impl OneBoard {
    fn new() -> Self {
        let clock = Clock::tokio();
        let board = Whiteboard::new(clock.clone());
        Self { board, clock }
    }
}

impl Subject for OneBoard {
    type Backend = Client;

    async fn client(&self) -> Result<Client> {
        Ok(Client::new(&self.board))
    }

    fn lacks(&self) -> &[Part] {
        &[Part::Ledger]
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

tenure_testkit::contract_tests! { #[tokio::test(start_paused = true)] OneBoard::new() }
