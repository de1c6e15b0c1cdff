//! Rows, names and tables that no process of ours would make, and every call on
//! them: at most one owns, tokens rise, nothing hangs, an error has changed
//! nothing, and a revocation mends what it can.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::backend::{
    Answer, AnyBackend, Backend, Bid, Claim, ClaimAnswer, Held, Nonce, Page, Prune, TickEnd,
};
use tenure::model::{FencingToken, StoreTime};
use tenure::{ErrorKind, Outcome, Retry};
use tenure_testkit::Whole as _;
use tokio::time::timeout;

use crate::SERVER;
use crate::odd_tables::{COLUMNS, DUMP, IN_AN_HOUR, INTO, LOOSE, TEXTS, VERSION};
use crate::support::{bid, client, name, renew, terms, win};

const PATIENCE: Duration = Duration::from_secs(30);

/// What may stand in a column of numbers.
const NUMBERS: [&str; 11] = [
    "NULL",
    "-1",
    "0",
    "1",
    "5",
    "2147483648",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775807",
    "-9223372036854775808",
    IN_AN_HOUR,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Acquire,
    Again,
    Renew,
    Release,
    Leave,
    Look,
    List,
    Revoke,
    RevokeToken,
    Claim,
    Finish,
}

const DEEDS: [Deed; 11] = [
    Deed::Acquire,
    Deed::Again,
    Deed::Renew,
    Deed::Release,
    Deed::Leave,
    Deed::Look,
    Deed::List,
    Deed::Revoke,
    Deed::RevokeToken,
    Deed::Claim,
    Deed::Finish,
];

/// One row for one call: the usual one of an owner, with one column changed.
struct Case {
    row: String,
    column: &'static str,
    value: &'static str,
    deed: Deed,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (column, _) in COLUMNS.iter().filter(|(column, _)| *column != "mutex") {
        let is_text = ["owner_id", "nonce"].contains(column);
        let values: &[&str] = if is_text { TEXTS } else { &NUMBERS };
        for value in values {
            for deed in DEEDS {
                let row = format!("row-{}", cases.len());
                cases.push(Case {
                    row,
                    column,
                    value,
                    deed,
                });
            }
        }
    }
    cases
}

/// Writes the rows of all cases at once.
fn write(cases: &[Case]) {
    let columns: Vec<_> = COLUMNS.iter().map(|(column, _)| *column).collect();
    let rows = cases.iter().map(|case| {
        let values = COLUMNS.iter().map(|(column, usual)| match *column {
            "mutex" => format!("'{}'", case.row),
            column if column == case.column => case.value.to_owned(),
            _ => (*usual).to_owned(),
        });
        format!("({})", values.collect::<Vec<_>>().join(", "))
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let sql = format!("{LOOSE}; {INTO} ({}) VALUES {rows}", columns.join(", "));
    SERVER.sql(&sql).unwrap();
}

/// The rows as the server has them, by name.
fn dump() -> BTreeMap<String, String> {
    let text = SERVER.sql(DUMP).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(['\t', '|']));
    lines
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .collect()
}

/// The bid and the grant of the owner that the usual row tells of.
fn owner(row: &str) -> (Bid, Held) {
    let mut bid = bid(row, "a").with_nonce(Nonce::from_bits(7));
    bid.terms = terms(60_000, 60_000);
    let held = bid.held(FencingToken::from_store(VERSION).unwrap());
    (bid, held)
}

async fn act(client: &AnyBackend, case: &Case) -> tenure::Result<Option<Held>> {
    let (first, held) = owner(&case.row);
    let won = |bid: &Bid, answer: Answer| {
        answer
            .is_won()
            .then(|| answer.token().map(|token| bid.held(token)))
            .flatten()
    };
    match case.deed {
        Deed::Acquire => {
            let newcomer = bid(&case.row, "c");
            Ok(won(&newcomer, client.acquire(&newcomer).await?))
        }
        Deed::Again => client.acquire(&first).await.map(|_| None),
        Deed::Renew => renew(client, &held).await.map(|_| None),
        Deed::Release => client.release(&held).await.map(|_| None),
        Deed::Leave => client.leave(&first).await.map(|()| None),
        Deed::Look => client.owner(&held.name).await.map(|_| None),
        Deed::List => client.list(&Page::of([held.name])).await.map(|_| None),
        Deed::Revoke => client.revoke(&held.name, None).await.map(|_| None),
        Deed::RevokeToken => client
            .revoke(&held.name, Some(held.token))
            .await
            .map(|_| None),
        Deed::Claim => client.claim_tick(&held, &claim(4)).await.map(|_| None),
        Deed::Finish => client
            .finish_tick(&held, &TickEnd::new(4, true))
            .await
            .map(|_| None),
    }
}

fn claim(tick: u64) -> Claim {
    Claim::new(
        "plan",
        StoreTime::from_millis(1),
        tick,
        StoreTime::from_millis(2),
    )
}

/// What is wrong with how a case was answered.
async fn judge(client: &AnyBackend, case: &Case, neighbour: &Held) -> Result<bool, String> {
    let acted = timeout(PATIENCE, act(client, case))
        .await
        .map_err(|_| "hangs")?;
    let (won, failed) = match acted {
        Ok(won) => (won, false),
        Err(error) if error.outcome() == Outcome::DidNot => (None, true),
        // Granted and of no use, says the store: the one who asked undoes it.
        Err(error) if error.kind() == ErrorKind::Conflict => {
            let undone = client.leave(&bid(&case.row, "c")).await;
            undone.map_err(|error| format!("cannot be undone: {error}"))?;
            (None, false)
        }
        Err(error) => return Err(format!("the server answered, but: {error:?}")),
    };
    let mut all = vec![owner(&case.row).1, neighbour.clone()];
    all.extend(won.clone());
    let answers = client.renew(&all).await;
    let is_won = |answer: &tenure::Result<Answer>| matches!(answer, Ok(answer) if answer.is_won());
    if !is_won(&answers[1]) {
        return Err(format!("the neighbour was hurt: {:?}", answers[1]));
    }
    if let Some(won) = won {
        if case.column != "version" && won.token.store() <= VERSION {
            return Err(format!("the token fell to {}", won.token.store()));
        }
        if is_won(&answers[0]) {
            return Err("two own it".into());
        }
    }
    Ok(failed)
}

/// Whether the mutex can be used again once it was revoked.
async fn is_mended(client: &AnyBackend, case: &Case) -> Result<(), String> {
    let row = name(&case.row);
    let revoked = client.revoke(&row, None).await;
    revoked.map_err(|error| format!("cannot be revoked: {error}"))?;
    match client.acquire(&bid(&case.row, "d")).await {
        Ok(answer) if answer.is_won() => Ok(()),
        Ok(answer) => Err(format!("not free after a revocation: {answer:?}")),
        // Its numbers are used up: a person must say from where they go on.
        Err(error) if case.column == "version" && error.retry() == Retry::Never => Ok(()),
        Err(error) => Err(format!("after a revocation: {error}")),
    }
}

#[tokio::test]
async fn no_odd_row_has_two_owners_or_hurts_another() {
    let cases = cases();
    assert!(cases.len() > 252, "only {} calls", cases.len());
    write(&cases);
    let client = client(&format!("{}?table=odd&schedule_table=odd_s", SERVER.url()))
        .await
        .unwrap();
    let mut neighbour = bid("neighbour", "n");
    neighbour.terms = terms(60_000, 60_000);
    let neighbour = win(&client, &neighbour).await;
    let before = dump();
    let mut faults = Vec::new();
    let told = |case: &Case, what: &str| {
        format!("{} = {}, {:?}: {what}", case.column, case.value, case.deed)
    };
    let mut failed = Vec::new();
    for case in &cases {
        match judge(&client, case, &neighbour).await {
            Ok(true) => failed.push(case),
            Ok(false) => {}
            Err(what) => faults.push(told(case, &what)),
        }
    }
    let after = dump();
    for case in failed {
        // What the owner's own renewal wrote is no deed of the call that failed.
        let (old, new) = (&before[&case.row], &after[&case.row]);
        if old != new {
            faults.push(told(case, &format!("failed, and made {new} of {old}")));
        }
    }
    for case in &cases {
        if let Err(what) = is_mended(&client, case).await {
            faults.push(told(case, &what));
        }
    }
    let few = faults
        .iter()
        .take(60)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        faults.is_empty(),
        "{} of {} calls:\n{few}",
        faults.len(),
        cases.len()
    );
}

/// Names and ids that look like something else: to SQL, or to a person.
const HOSTILE: [&str; 24] = [
    "'; DROP TABLE simba_mutex; --",
    "' OR '1'='1",
    "\"; SELECT 1; --",
    "a\\",
    "\\'",
    "%",
    "_",
    "a%",
    "a_b",
    "?",
    "$1",
    ":name",
    "`",
    "/* x */",
    "a",
    "A",
    "á",
    "a\u{301}",
    "ａ",
    "ß",
    "ss",
    "SS",
    "🔒",
    "名名名名名名名名名名名名名名名名名名名名名名",
];

#[tokio::test]
async fn names_that_look_alike_or_like_sql_are_names() {
    let url = format!("{}?table=hostile&schedule_table=hostile_s", SERVER.url());
    let client = client(&url).await.unwrap();
    let mut held = Vec::new();
    for mutex in HOSTILE {
        let mut bid = bid(mutex, mutex);
        bid.terms = terms(60_000, 60_000);
        let held_now = win(&client, &bid).await;
        let claimed = client.claim_tick(&held_now, &claim(1)).await.unwrap();
        assert_eq!(claimed, ClaimAnswer::Claimed, "{mutex:?}");
        held.push(held_now);
    }
    let rows = SERVER.sql("SELECT COUNT(*) FROM hostile").unwrap();
    assert_eq!(rows.trim(), HOSTILE.len().to_string());
    for (mutex, held) in HOSTILE.iter().zip(&held) {
        let by = client.owner(&held.name).await.unwrap();
        assert_eq!(
            by.owner().owner_id().map(ToString::to_string).as_deref(),
            Some(*mutex)
        );
        assert!(
            !client
                .acquire(&bid(mutex, "another"))
                .await
                .unwrap()
                .is_won(),
            "{mutex:?}"
        );
        for other in HOSTILE.iter().filter(|other| *other != mutex) {
            let mut twin = held.clone();
            twin.contender = other.parse().unwrap();
            assert!(
                !renew(&client, &twin).await.unwrap().is_won(),
                "{mutex:?} as {other:?}"
            );
        }
        assert!(
            client
                .finish_tick(held, &TickEnd::new(1, true))
                .await
                .unwrap(),
            "{mutex:?}"
        );
    }
    assert!(
        client
            .renew(&held)
            .await
            .iter()
            .all(|answer| answer.as_ref().unwrap().is_won())
    );
    for held in &held {
        assert!(
            client.release(held).await.unwrap().is_won(),
            "{:?}",
            held.name
        );
    }
    let prune = Prune::unused_for(Duration::from_secs(3600));
    assert_eq!(client.prune(&prune).await.unwrap().mutexes, 0);
    assert_eq!(
        SERVER.sql("SELECT COUNT(*) FROM hostile").unwrap().trim(),
        HOSTILE.len().to_string()
    );
}

/// A table of another shape: it works as ours does, or an error says what is
/// wrong with it and is not tried again.
pub(crate) async fn works_or_is_refused(what: &str, table: &str) -> Result<(), String> {
    let url = format!("{}?table={table}&schedule_table=odd_shape_s", SERVER.url());
    let refused = |error: tenure::Error| {
        let is_told = error.kind() != ErrorKind::Unreachable && error.to_string().len() > 30;
        match error.retry() {
            Retry::Never if is_told => Ok(()),
            _ => Err(format!("{what}: {error:?}")),
        }
    };
    let work = async {
        let client = match client(&url).await {
            Ok(client) => client,
            Err(error) => return refused(error),
        };
        let (first, second) = (bid("shape", "a"), bid("shape", "b"));
        let held = match client.acquire(&first).await {
            Ok(answer) => match answer.token() {
                Some(token) => first.held(token),
                None => return Err(format!("{what}: nobody owns it, and yet {answer:?}")),
            },
            Err(error) => return refused(error),
        };
        for step in 0..2 {
            match client.acquire(&second).await {
                Ok(answer) if answer.is_won() => return Err(format!("{what}: two own it")),
                Ok(_) => {}
                Err(error) => return refused(error),
            }
            match renew(&client, &held).await {
                Ok(answer) if answer.is_won() => {}
                other => return Err(format!("{what}: renewal {step}: {other:?}")),
            }
        }
        match client.release(&held).await {
            Ok(answer) if answer.is_won() => {}
            other => return Err(format!("{what}: release: {other:?}")),
        }
        let again = win(&client, &second).await;
        if again.token <= held.token {
            return Err(format!("{what}: the token fell"));
        }
        Ok(())
    };
    timeout(PATIENCE * 2, work)
        .await
        .unwrap_or_else(|_| Err(format!("{what}: hangs")))
}
