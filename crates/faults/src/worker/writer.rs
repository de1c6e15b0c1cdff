//! Writes to what the locks protect.

use std::sync::Arc;

use tenure::model::FencingToken;
use tenure_testkit::history::{TenureId, What};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::hold::Claim;
use super::{Audience, Worker};
use crate::register::Registers;

/// A way to the registers.
pub(super) enum Writer {
    Socket(BufReader<UnixStream>),
    Here(Arc<Registers>),
}

impl Writer {
    pub(super) async fn open(worker: &Worker) -> Self {
        if let Audience::Here(_, registers) = &worker.audience {
            return Self::Here(Arc::clone(registers));
        }
        let stream = UnixStream::connect(&worker.orders.register).await;
        Self::Socket(BufReader::new(stream.expect("the registers are there")))
    }

    /// Writes to both registers; whether the one that checks tokens accepted.
    async fn write(&mut self, name: &str, token: FencingToken) -> bool {
        let stream = match self {
            Self::Here(registers) => return registers.write(name, token),
            Self::Socket(stream) => stream,
        };
        let line = format!("{name} {token}\n");
        let mut answer = String::new();
        let written = stream.get_mut().write_all(line.as_bytes()).await;
        if written.is_err() || stream.read_line(&mut answer).await.is_err() {
            // Their end is the end of the run.
            std::process::exit(0);
        }
        answer.trim() == "accepted"
    }

    /// Uses what `tenure` protects, whether it is still valid or not.
    pub(super) async fn use_it(&mut self, worker: &Worker, tenure: &TenureId, claim: &Claim<'_>) {
        let began = worker.now();
        let accepted = self.write(tenure.name.as_str(), tenure.token).await;
        let answered = worker.now();
        // Asked last: who is valid now was so when it was answered.
        let valid = !claim.remaining().is_zero();
        let used = What::Used {
            tenure: tenure.clone(),
            answered,
            accepted,
            valid,
        };
        worker.tell(began, used);
    }
}
