//! Every key of a mutex in every bad way, and every call on it: at most one
//! owns, tokens rise, no waiter waits for ever, an error has changed nothing,
//! other mutexes are not hurt, and a revocation mends it.

mod hash;
mod states;

use std::sync::LazyLock;
use std::time::Duration;

use tenure::backend::{
    Answer, Backend, Bid, Claim, ClaimAnswer, Held, Hints, Interest, Page, Prune, TickEnd,
};
use tenure::model::{MutexName, StoreTime};
use tenure::stores::redis::Redis as Client;
use tenure::{Error, ErrorKind, Outcome};
use tenure_testkit::Whole as _;
use tenure_testkit::servers::Redis;
use tokio::task::JoinSet;

use crate::support::{PATIENCE, bid, client, fresh, held, long, win};
use states::{Damage, ENDS, SNAPSHOT, Sort};

/// How the mutex was before it was damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    /// Owned once, and free again.
    Free,
    /// Owned.
    Held,
    /// Owned, with a waiter in the queue that listens.
    Contended,
}

/// What is done to it then.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Acquire,
    TryAcquire,
    Leave,
    LeaveOwner,
    Renew,
    Release,
    Look,
    Revoke,
    RevokeToken,
    Prune,
    Claim,
    Finish,
    Ledger,
    Ledgers,
}

const MUTEX_DEEDS: [Deed; 10] = [
    Deed::Acquire,
    Deed::TryAcquire,
    Deed::Leave,
    Deed::LeaveOwner,
    Deed::Renew,
    Deed::Release,
    Deed::Look,
    Deed::Revoke,
    Deed::RevokeToken,
    Deed::Prune,
];

/// Those that could make a second owner.
const TAKING: [Deed; 2] = [Deed::Acquire, Deed::Release];

/// Those that read what a text says.
const READING: [Deed; 4] = [Deed::TryAcquire, Deed::Renew, Deed::LeaveOwner, Deed::Look];

const LEDGER_DEEDS: [Deed; 6] = [
    Deed::Claim,
    Deed::Finish,
    Deed::Ledger,
    Deed::Ledgers,
    Deed::Revoke,
    Deed::Prune,
];

/// One mutex, as it was made and damaged.
struct Scene<'a> {
    server: &'a Redis,
    client: &'a Client,
    name: MutexName,
    first: Bid,
    owner: Held,
    newcomer: Bid,
}

impl<'a> Scene<'a> {
    /// The mutex, and the ears of the waiter.
    async fn set(server: &'a Redis, client: &'a Client, base: Base) -> (Self, Option<Hints>) {
        let name = fresh("corrupt");
        let first = bid(&name, "a", long());
        let owner = win(client, &first).await;
        let mut hints = None;
        match base {
            Base::Free => {
                let claim = Claim::new(
                    "plan",
                    StoreTime::from_millis(1),
                    3,
                    StoreTime::from_millis(2),
                );
                let claimed = client.claim_tick(&owner, &claim).await.unwrap();
                assert_eq!(claimed, ClaimAnswer::Claimed);
                assert!(client.release(&owner).await.unwrap().is_won());
            }
            Base::Held => {
                let claim = Claim::new(
                    "plan",
                    StoreTime::from_millis(1),
                    3,
                    StoreTime::from_millis(2),
                );
                client.claim_tick(&owner, &claim).await.unwrap();
            }
            Base::Contended => {
                let waiter = bid(&name, "b", long());
                hints = Some(client.changes(&Interest::in_turn(&waiter)));
                assert!(!client.acquire(&waiter).await.unwrap().is_won());
            }
        }
        let newcomer = bid(&name, "c", long());
        let scene = Self {
            server,
            client,
            name,
            first,
            owner,
            newcomer,
        };
        (scene, hints)
    }

    fn key(&self, end: &str) -> String {
        format!("simba:{{{}}}{end}", self.name)
    }

    fn damage(&self, damage: &Damage) {
        let script = format!("local k = KEYS[1] {} return 1", damage.lua);
        let done = self
            .server
            .command(&["EVAL", &script, "1", &self.key(damage.end)]);
        done.unwrap_or_else(|error| panic!("{}: {error}", damage.lua));
    }

    fn snapshot(&self) -> String {
        let keys = ENDS.map(|end| self.key(end));
        let mut words = vec!["EVAL", SNAPSHOT, "7"];
        words.extend(keys.iter().map(String::as_str));
        self.server.command(&words).unwrap()
    }

    /// Leaves nothing behind: some of it is large.
    fn strike(&self) {
        let keys = ENDS.map(|end| self.key(end));
        let mut words = vec!["DEL"];
        words.extend(keys.iter().map(String::as_str));
        self.server.command(&words).unwrap();
    }

    /// What the call answered, as text, and the grant if it won one.
    async fn act(&self, deed: Deed) -> Result<(String, Option<Held>), Error> {
        let told = |answer: Answer| (format!("{answer:?}"), None);
        let (client, owner) = (self.client, &self.owner);
        match deed {
            Deed::Acquire => {
                let answer = client.acquire(&self.newcomer).await?;
                Ok((
                    format!("{answer:?}"),
                    held(&self.newcomer, &answer).filter(|_| answer.is_won()),
                ))
            }
            Deed::TryAcquire => {
                let bid = self.newcomer.clone().without_queue();
                let answer = client.acquire(&bid).await?;
                Ok((
                    format!("{answer:?}"),
                    held(&bid, &answer).filter(|_| answer.is_won()),
                ))
            }
            Deed::Leave => {
                // Of the one who waits, where there is one.
                client.leave(&bid(&self.name, "b", long())).await?;
                Ok(("left".into(), None))
            }
            Deed::LeaveOwner => {
                client.leave(&self.first).await?;
                Ok(("left".into(), None))
            }
            Deed::Renew => {
                let mut answers = client.renew(std::slice::from_ref(owner)).await;
                answers.remove(0).map(told)
            }
            Deed::Release => client.release(owner).await.map(told),
            Deed::Look => {
                client.list(&Page::of([self.name.clone()])).await?;
                client.owner(&self.name).await.map(told)
            }
            Deed::Revoke => client.revoke(&self.name, None).await.map(told),
            Deed::RevokeToken => client.revoke(&self.name, Some(owner.token)).await.map(told),
            Deed::Prune => {
                let pruned = client
                    .prune(&Prune::unused_for(Duration::from_secs(3600)))
                    .await?;
                Ok((format!("{pruned:?}"), None))
            }
            Deed::Claim => {
                let claim = Claim::new(
                    "plan",
                    StoreTime::from_millis(1),
                    4,
                    StoreTime::from_millis(3),
                );
                let answer = client.claim_tick(owner, &claim).await?;
                Ok((format!("{answer:?}"), None))
            }
            Deed::Finish => {
                let finished = client.finish_tick(owner, &TickEnd::new(3, true)).await?;
                Ok((format!("{finished:?}"), None))
            }
            Deed::Ledger => {
                let entry = client.read_ledger(&self.name).await?;
                Ok((format!("{entry:?}"), None))
            }
            Deed::Ledgers => {
                let page = Page::of([self.name.clone()]);
                let ledgers = client.list_ledgers(&page).await;
                // One that cannot be made out is a line with a fault.
                Ok((format!("{:?}", ledgers.expect("a listing")), None))
            }
        }
    }

    /// Acts, and says what is wrong about it.
    async fn judge(&self, deed: Deed, neighbour: &Held) -> Result<(), String> {
        let before = self.snapshot();
        let acted = tokio::time::timeout(PATIENCE, self.act(deed)).await;
        let acted = acted.map_err(|_| "hangs".to_owned())?;
        let won = match acted {
            Err(error) => {
                let after = self.snapshot();
                if error.outcome() == Outcome::DidNot && is_changed(&before, &after) {
                    return Err(format!("{error} did something:\n{before}\n--\n{after}"));
                }
                if error.outcome() != Outcome::DidNot {
                    return Err(format!("the server answered, but: {error:?}"));
                }
                None
            }
            Ok((_, won)) => won,
        };
        if let Some(won) = &won
            && won.token <= self.owner.token
        {
            return Err(format!(
                "the token fell from {} to {}",
                self.owner.token, won.token
            ));
        }
        // In one batch with a mutex that is well.
        let mut all = vec![self.owner.clone(), neighbour.clone()];
        all.extend(won.clone());
        let answers = self.client.renew(&all).await;
        let is_won =
            |answer: &tenure::Result<Answer>| matches!(answer, Ok(answer) if answer.is_won());
        if !is_won(&answers[1]) {
            return Err(format!("the neighbour was hurt: {:?}", answers[1]));
        }
        if won.is_some() && is_won(&answers[0]) {
            return Err("two own it".into());
        }
        self.is_mended(deed).await
    }

    /// Whether a revocation gives the mutex back to those who use it.
    async fn is_mended(&self, deed: Deed) -> Result<(), String> {
        let revoked = self.client.revoke(&self.name, None).await;
        revoked.map_err(|error| format!("cannot be revoked: {error}"))?;
        let bid = bid(&self.name, "d", long()).without_queue();
        let end = tokio::time::Instant::now() + PATIENCE / 4;
        loop {
            match self.client.acquire(&bid).await {
                Ok(answer) if answer.is_won() => {
                    let token = answer.token().ok_or("a grant without a token")?;
                    let is_larger = token > self.owner.token;
                    return is_larger
                        .then_some(())
                        .ok_or_else(|| "the token fell".to_owned());
                }
                // Kept for the waiter, for a moment.
                Ok(_) if tokio::time::Instant::now() < end => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(answer) => return Err(format!("not free after a revocation: {answer:?}")),
                Err(error) if error.to_string().contains("2^53") => return Ok(()),
                Err(error) => return Err(format!("after {deed:?} and a revocation: {error}")),
            }
        }
    }
}

/// What ends by itself may have done so.
fn is_changed(before: &str, after: &str) -> bool {
    let pairs = before.lines().zip(after.lines());
    let mut changed = pairs.filter(|(old, new)| old != new);
    changed.any(|(_, new)| !new.contains(" none -2 "))
}

/// Every damage with the bases and deeds that it can matter to.
fn cases() -> Vec<(usize, Base, Deed)> {
    let mut cases = Vec::new();
    for (at, damage) in states::all().iter().enumerate() {
        let bases: &[(Base, &[Deed])] = match damage.sort {
            Sort::Ledger => &[(Base::Held, &LEDGER_DEEDS)],
            Sort::Field => &[(Base::Held, &LEDGER_DEEDS[..2])],
            Sort::Whole => &[
                (Base::Free, &MUTEX_DEEDS),
                (Base::Held, &MUTEX_DEEDS),
                (Base::Contended, &MUTEX_DEEDS),
            ],
            Sort::Type => &[(Base::Contended, &MUTEX_DEEDS)],
            Sort::Text => &[(Base::Held, &READING), (Base::Contended, &TAKING)],
            Sort::Lasting => &[(Base::Held, &TAKING)],
        };
        for (base, deeds) in bases {
            cases.extend(deeds.iter().map(|deed| (at, *base, *deed)));
        }
    }
    cases
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_corrupt_state_makes_two_owners_or_hurts_another_mutex() {
    static SERVER: LazyLock<Redis> = LazyLock::new(|| Redis::start().unwrap());
    let server: &'static Redis = &SERVER;
    let damages: &'static [Damage] = states::all().leak();
    let cases: &'static [_] = cases().leak();
    assert!(damages.len() > 53, "only {} states", damages.len());
    let mut workers = JoinSet::new();
    const WORKERS: usize = 6;
    for worker in 0..WORKERS {
        workers.spawn(async move {
            let client = client(server).await;
            let neighbour = win(&client, &bid(&fresh("neighbour"), "n", long())).await;
            let mut faults = Vec::new();
            for (at, base, deed) in cases.iter().skip(worker).step_by(WORKERS) {
                let (scene, _waiter) = Scene::set(server, &client, *base).await;
                let damage = &damages[*at];
                scene.damage(damage);
                if let Err(what) = scene.judge(*deed, &neighbour).await {
                    let case = format!("{base:?}, {:?} is {}, {deed:?}", damage.end, damage.name);
                    faults.push(format!("{case}: {what}"));
                }
                scene.strike();
            }
            faults
        });
    }
    let faults = workers.join_all().await.concat();
    let few = faults
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        faults.is_empty(),
        "{} of {} cases:\n{few}",
        faults.len(),
        cases.len()
    );
}

/// A contender that finds too many dead before it asks again, and has a place by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_that_fails_behind_dead_waiters_leaves_no_place_behind() {
    let server = Redis::start().unwrap();
    let client = client(&server).await;
    let name = fresh("exhausted");
    let key = |end: &str| format!("simba:{{{name}}}{end}");
    server
        .command(&["SET", &key(":fence"), "9007199254740991"])
        .unwrap();
    for dead in 1..=20 {
        let (score, id) = (format!("{dead}.5"), format!("dead-{dead}"));
        server
            .command(&["ZADD", &key(":contender"), &score, &id])
            .unwrap();
    }
    let error = client.acquire(&bid(&name, "c", long())).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Conflict, Outcome::DidNot)
    );
    let queue = crate::support::queue(&server, name.as_str());
    assert!(!queue.contains(&"c".to_owned()), "{queue:?}");
}
