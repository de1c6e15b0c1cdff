//! [`Ask`]: which rows are wanted, and in which order.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Instant;

use serde::Serialize;
use tenure::model::Purpose;

use super::{Board, Placed};
use crate::query::Query;
use crate::status::Row;

const USUAL: usize = 200;
const MOST: usize = 1_000;
/// The kind of those that do not say what they are wanted for.
const UNKNOWN: &str = "unknown";

/// Which rows are wanted.
#[derive(Debug, Default)]
pub(crate) struct Ask {
    search: Option<String>,
    kind: Option<String>,
    standing: Option<Standing>,
    sort: Sort,
    is_descending: bool,
    offset: usize,
    limit: usize,
}

/// How a mutex stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Owned,
    Free,
    Waited,
    Faulty,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Name,
    Owner,
    Held,
    Left,
    Waiters,
    Changed,
}

impl FromStr for Standing {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Ok(match word {
            "owned" => Self::Owned,
            "free" => Self::Free,
            "waited" => Self::Waited,
            "faulty" => Self::Faulty,
            _ => return Err(()),
        })
    }
}

impl FromStr for Sort {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Ok(match word {
            "name" => Self::Name,
            "owner" => Self::Owner,
            "held" => Self::Held,
            "left" => Self::Left,
            "waiters" => Self::Waiters,
            "changed" => Self::Changed,
            _ => return Err(()),
        })
    }
}

/// Whether the larger comes first.
struct Descending(bool);

impl FromStr for Descending {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match word {
            "asc" => Ok(Self(false)),
            "desc" => Ok(Self(true)),
            _ => Err(()),
        }
    }
}

impl Ask {
    /// Of the query of a request; what is wrong with it otherwise.
    pub(crate) fn read(query: Query<'_>) -> Result<Self, String> {
        let kind = query.text("kind");
        let kinds = || Purpose::ALL.map(Purpose::word).into_iter().chain([UNKNOWN]);
        if kind
            .as_deref()
            .is_some_and(|kind| !kinds().any(|it| it == kind))
        {
            let kinds: Vec<&str> = kinds().collect();
            return Err(format!("kind is one of {}", kinds.join(", ")));
        }
        Ok(Self {
            search: query.text("search").map(|text| text.to_lowercase()),
            kind,
            standing: query.value("state")?,
            sort: query.value("sort")?.unwrap_or_default(),
            is_descending: query.value("order")?.is_some_and(|Descending(is)| is),
            offset: query.value("offset")?.unwrap_or(0),
            limit: query.value("limit")?.unwrap_or(USUAL).min(MOST),
        })
    }

    fn wants(&self, row: &Row) -> bool {
        let kind = self.kind.as_deref();
        let has_kind = kind.is_none_or(|kind| kind_of(row) == kind);
        let stands = match self.standing {
            None => true,
            Some(Standing::Owned) => row.owner.is_some(),
            Some(Standing::Free) => row.owner.is_none() && row.fault.is_none(),
            Some(Standing::Waited) => !row.waiters.is_empty(),
            Some(Standing::Faulty) => row.fault.is_some(),
        };
        has_kind
            && stands
            && self
                .search
                .as_deref()
                .is_none_or(|text| is_found(text, row))
    }

    /// In the order that is asked for; rows without that come last in any order, and by
    /// name where they are equal.
    fn compare(&self, left: &Placed, right: &Placed, at: Instant) -> Ordering {
        let (l, r) = (&left.row, &right.row);
        let passed = |row: &Row| at.saturating_duration_since(row.seen).as_millis();
        match self.sort {
            Sort::Name => self.directed(l.name.cmp(&r.name)),
            Sort::Owner => self.known(l.owner.as_deref(), r.owner.as_deref()),
            Sort::Held => {
                let held = |row: &Row| row.held_ms.map(|held| u128::from(held) + passed(row));
                self.known(held(l), held(r))
            }
            Sort::Left => {
                let left = |row: &Row| {
                    row.left_ms
                        .map(|left| u128::from(left).saturating_sub(passed(row)))
                };
                self.known(left(l), left(r))
            }
            Sort::Waiters => self.directed(l.waiters.len().cmp(&r.waiters.len())),
            Sort::Changed => self.directed(left.changed.cmp(&right.changed)),
        }
    }

    fn directed(&self, order: Ordering) -> Ordering {
        match self.is_descending {
            true => order.reverse(),
            false => order,
        }
    }

    fn known<T: Ord>(&self, left: Option<T>, right: Option<T>) -> Ordering {
        match (left, right) {
            (Some(left), Some(right)) => self.directed(left.cmp(&right)),
            (left, right) => left.is_none().cmp(&right.is_none()),
        }
    }
}

fn kind_of(row: &Row) -> &'static str {
    row.kind.unwrap_or(UNKNOWN)
}

fn is_found(text: &str, row: &Row) -> bool {
    let has = |word: &str| word.to_lowercase().contains(text);
    has(&row.name)
        || row.owner.as_deref().is_some_and(has)
        || row.waiters.iter().any(|waiter| has(waiter))
}

/// The rows that were asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Mutexes {
    version: u64,
    total: usize,
    pub(super) matched: usize,
    /// How many of each kind there are in all.
    kinds: BTreeMap<&'static str, usize>,
    pub(super) mutexes: Vec<Row>,
    cut: Option<String>,
    age_ms: u64,
}

impl Board {
    pub(crate) fn mutexes(&self, ask: &Ask) -> Mutexes {
        let at = Instant::now();
        let mut kinds = BTreeMap::new();
        for placed in self.rows.values() {
            *kinds.entry(kind_of(&placed.row)).or_default() += 1;
        }
        let placed = self.rows.values();
        let mut wanted: Vec<&Placed> = placed.filter(|placed| ask.wants(&placed.row)).collect();
        // They are in the order of their names.
        if ask.sort != Sort::Name || ask.is_descending {
            wanted.sort_by(|left, right| ask.compare(left, right, at));
        }
        let shown = wanted.iter().skip(ask.offset).take(ask.limit);
        Mutexes {
            version: self.version,
            total: self.rows.len(),
            matched: wanted.len(),
            kinds,
            mutexes: shown.map(|placed| placed.row.at(at)).collect(),
            cut: self.cut.clone(),
            age_ms: self.age_ms().unwrap_or(0),
        }
    }
}
