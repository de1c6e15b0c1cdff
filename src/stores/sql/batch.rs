//! Many renewals in few statements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::client::Client;
use super::dialect::Dialect;
use super::pool::runtime_ended;
use crate::backend::{Answer, Held};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::model::{MutexName, MutexOwner, StoreTime};

/// The most that one statement carries: its rows stay locked for as long as it
/// takes, and where the server cannot skip rows, one that is locked delays all.
const MOST: usize = 200;

/// How many statements are on their way at most: more than there usually are
/// connections, and not as many as a process holds grants.
const AT_A_TIME: usize = 16;

/// Grants that one statement can renew: same terms, sorted by name so that two
/// batches lock rows in the same order.
#[derive(Debug)]
struct Batch {
    /// Where each stands in the question.
    places: Vec<usize>,
}

impl Batch {
    /// Splits a question into statements.
    fn split(question: &[Held]) -> Vec<Self> {
        let mut by_terms: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (place, held) in question.iter().enumerate() {
            let terms = (held.terms.ttl(), held.terms.transition());
            by_terms.entry(terms).or_default().push(place);
        }
        let mut batches = Vec::new();
        for mut places in by_terms.into_values() {
            places.sort_by(|a, b| question[*a].name.cmp(&question[*b].name));
            for places in places.chunks(MOST) {
                let places = places.to_vec();
                batches.push(Self { places });
            }
        }
        batches
    }

    fn held(&self, question: &[Held]) -> Arc<[Held]> {
        let held = self.places.iter().map(|place| question[*place].clone());
        held.collect()
    }
}

impl<D: Dialect> Client<D> {
    /// Renews all of `held` in as few statements as can be, each over a
    /// connection of its own: one that hangs delays no other.
    pub(super) async fn renew_all(&self, held: &[Held]) -> Vec<Result<Answer>> {
        let mut answers: Vec<_> = held.iter().map(|_| None).collect();
        let mut batches = Batch::split(held);
        if batches.len() == 1 {
            let batch = batches.remove(0);
            let renewed = renew_batch(self, batch.held(held)).await;
            for (place, answer) in batch.places.iter().zip(renewed) {
                answers[*place] = Some(answer);
            }
        } else {
            let mut tasks = JoinSet::new();
            let mut batches = batches.into_iter();
            loop {
                while tasks.len() < AT_A_TIME
                    && let Some(batch) = batches.next()
                {
                    let (its, held) = (self.clone(), batch.held(held));
                    let task = async move { (batch.places, renew_batch(&its, held).await) };
                    tasks.spawn_on(task, self.pool().runtime());
                }
                let Some(Ok((places, batch))) = tasks.join_next().await else {
                    break;
                };
                for (place, answer) in places.into_iter().zip(batch) {
                    answers[place] = Some(answer);
                }
            }
        }
        answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(|| Err(runtime_ended(Outcome::MayHave))))
            .collect()
    }
}

async fn renew_batch<D: Dialect>(client: &Client<D>, held: Arc<[Held]>) -> Vec<Result<Answer>> {
    let mut passes = Passes::over(held);
    while let Some(some) = passes.next(client.pool().clock()).await {
        passes.note(renew_some(client, some).await);
    }
    passes.answers()
}

/// One statement for `some`, and what it did for each of them.
async fn renew_some<D: Dialect>(client: &Client<D>, some: Arc<[Held]>) -> Vec<Passed> {
    let error = match D::renew(client, &some).await {
        Ok(passed) if passed.len() == some.len() => return passed,
        Ok(_) => Error::new(ErrorKind::Store, Outcome::MayHave)
            .with_message("the server did not answer every renewal of a batch"),
        Err(error) => error,
    };
    let about = |held: &Held| Passed::Answered(Err(error.clone().with_mutex(&held.name)));
    some.iter().map(about).collect()
}

/// The pauses before those that were skipped are tried again: most who hold a
/// row hold it for one statement.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(20)];

/// What one statement did for a grant of its batch.
#[derive(Debug)]
pub(in crate::stores) enum Passed {
    Answered(Result<Answer>),
    /// Another transaction holds its row: nothing was done, and nothing waited.
    Skipped,
}

/// Renews around the rows that others hold, and tries those again for a moment;
/// what stays locked is a time-out.
#[derive(Debug)]
struct Passes {
    held: Arc<[Held]>,
    answers: Vec<Option<Result<Answer>>>,
    /// The places of those without an answer.
    left: Vec<usize>,
    passes: usize,
}

impl Passes {
    fn over(held: Arc<[Held]>) -> Self {
        Self {
            answers: held.iter().map(|_| None).collect(),
            left: (0..held.len()).collect(),
            held,
            passes: 0,
        }
    }

    /// What the next statement renews, when it is time for it; `None` when
    /// there is none.
    async fn next(&mut self, clock: &Clock) -> Option<Arc<[Held]>> {
        if self.left.is_empty() || self.passes > PAUSES.len() {
            return None;
        }
        if self.passes > 0 {
            clock.sleep(PAUSES[self.passes - 1]).await;
        }
        self.passes += 1;
        if self.passes == 1 {
            return Some(Arc::clone(&self.held));
        }
        let held = self.left.iter().map(|at| self.held[*at].clone());
        Some(held.collect())
    }

    /// What came of it, in the same order.
    fn note(&mut self, passed: Vec<Passed>) {
        let mut skipped = Vec::new();
        for (at, passed) in std::mem::take(&mut self.left).into_iter().zip(passed) {
            match passed {
                Passed::Answered(answer) => self.answers[at] = Some(answer),
                Passed::Skipped => skipped.push(at),
            }
        }
        self.left = skipped;
    }

    fn answers(self) -> Vec<Result<Answer>> {
        let all = self.answers.into_iter().zip(&*self.held);
        all.map(|(answer, held)| answer.unwrap_or_else(|| Err(locked(&held.name))))
            .collect()
    }
}

/// The answer to a renewal by a statement that does not show the row; when the
/// grant began is not asked again.
pub(in crate::stores) fn extended(held: &Held, now: StoreTime, end: StoreTime) -> Answer {
    let owner = MutexOwner::foreign(held.contender.clone())
        .owning_until(end)
        .with_token(held.token);
    Answer::won(owner, now)
}

/// Another transaction holds the row of `name`.
pub(in crate::stores) fn locked(name: &MutexName) -> Error {
    Error::new(ErrorKind::Timeout, Outcome::DidNot)
        .with_message("another transaction holds the row's lock")
        .with_mutex(name)
}

/// How many places a statement for `count` things has. Few sizes, so that each
/// is prepared once; what is left over repeats the last.
#[cfg(any(feature = "mysql", test))]
pub(in crate::stores) fn padded(count: usize) -> usize {
    count.next_power_of_two().min(MOST).max(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Bid;
    use crate::model::{ContenderId, FencingToken, LeaseTerms};

    fn held(name: &str, ttl: u64) -> Held {
        let terms = LeaseTerms::new(Duration::from_secs(ttl), Duration::from_secs(5)).unwrap();
        let (name, id) = (
            MutexName::new(name).unwrap(),
            ContenderId::new("a").unwrap(),
        );
        Bid::new(name, id, terms).held(FencingToken::from_store(1).unwrap())
    }

    #[test]
    fn a_thousand_grants_are_five_statements() {
        let question: Vec<_> = (0..1000).map(|n| held(&format!("m{n}"), 10)).collect();
        let batches = Batch::split(&question);
        assert_eq!(batches.len(), 5);
        for batch in &batches {
            let held = batch.held(&question);
            assert!(held.is_sorted_by(|a, b| a.name < b.name));
            for (held, place) in held.iter().zip(&batch.places) {
                assert_eq!(*held, question[*place]);
            }
        }
    }

    #[test]
    fn other_terms_are_another_statement() {
        let batches = Batch::split(&[held("b", 10), held("c", 20), held("a", 10)]);
        let places: Vec<_> = batches.iter().map(|batch| batch.places.clone()).collect();
        assert_eq!(places, [vec![2, 0], vec![1]]);
    }

    #[test]
    fn statements_come_in_few_sizes() {
        let sizes: std::collections::BTreeSet<_> = (1..=MOST).map(padded).collect();
        assert_eq!(sizes.len(), 9, "{sizes:?}");
        assert!((1..=MOST).all(|count| (count..=MOST).contains(&padded(count))));
    }
}
