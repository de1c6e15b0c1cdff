//! Writes to what the locks protect.

use tenure::model::FencingToken;
use tenure_testkit::history::{TenureId, What};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::Worker;
use super::hold::Claim;

/// A way to the registers.
pub(super) struct Writer(BufReader<UnixStream>);

impl Writer {
    pub(super) async fn open(worker: &Worker) -> Self {
        let stream = UnixStream::connect(&worker.orders.register).await;
        Self(BufReader::new(stream.expect("the registers are there")))
    }

    /// Writes to both registers; whether the one that checks tokens accepted.
    async fn write(&mut self, name: &str, token: FencingToken) -> bool {
        let line = format!("{name} {token}\n");
        let mut answer = String::new();
        let written = self.0.get_mut().write_all(line.as_bytes()).await;
        if written.is_err() || self.0.read_line(&mut answer).await.is_err() {
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
