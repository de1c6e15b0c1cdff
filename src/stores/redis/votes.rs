//! [`Votes`]: what sentinels say of who is master, and whether that decides it.
//!
//! Sentinels know each other, and need more than half of all they know for a
//! fail-over. So does this: a client that counts fewer, because a URL names too
//! few of them, could follow a minority while others follow the majority.

use std::collections::{BTreeMap, HashMap};

use super::config::Address;

/// What one sentinel said.
#[derive(Clone, Debug)]
pub(super) struct SentinelWord {
    /// Whom it names.
    pub(super) master: Address,
    /// Its own id. Old ones have none, and a login may not be allowed to ask.
    pub(super) id: Option<String>,
    /// The others that it knows, by their ids, if it may be asked.
    pub(super) others: Option<BTreeMap<String, Address>>,
}

impl SentinelWord {
    /// Whether it says all that is asked.
    pub(super) fn is_whole(&self) -> bool {
        self.id.is_some() && self.others.is_some()
    }

    /// How many it knows, itself included.
    fn known(&self) -> usize {
        self.others.as_ref().map_or(0, BTreeMap::len) + 1
    }
}

/// Who has a vote: one sentinel has one, whatever its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Voter {
    Id(String),
    /// One that does not say who it is.
    At(Address),
}

struct Vote {
    word: SentinelWord,
    /// Where it was heard; more than one if the URL has it under two names.
    at: Vec<Address>,
    is_listed: bool,
}

pub(super) struct Votes {
    listed: Vec<Address>,
    /// There are at least so many, whatever the sentinels know.
    floor: usize,
    heard: HashMap<Voter, Vote>,
}

impl Votes {
    /// None of those that the URL lists has been heard yet. There are at least
    /// `floor`.
    pub(super) fn of(listed: &[Address], floor: usize) -> Self {
        Self {
            listed: listed.to_vec(),
            floor: floor.max(listed.len()),
            heard: HashMap::new(),
        }
    }

    /// Counts what was said at `address`.
    pub(super) fn count(&mut self, address: Address, word: SentinelWord) {
        let is_listed = self.listed.contains(&address);
        let voter = match &word.id {
            Some(id) => Voter::Id(id.clone()),
            // Perhaps one that was heard by another name: only the URL's count.
            None if !is_listed => return,
            None => Voter::At(address.clone()),
        };
        let vote = self.heard.entry(voter).or_insert_with(|| Vote {
            word: word.clone(),
            at: Vec::new(),
            is_listed,
        });
        vote.word = word;
        vote.is_listed |= is_listed;
        vote.at.push(address);
    }

    /// Those that count.
    fn votes(&self) -> impl Iterator<Item = &Vote> {
        // One that does not say who it is may be one that was only heard of.
        let nameless = self.heard.keys().any(|it| matches!(it, Voter::At(_)));
        let counts = move |vote: &&Vote| vote.is_listed || !nameless;
        self.heard.values().filter(counts)
    }

    /// How many sentinels there are in the eyes of the one that said this.
    fn known_to(&self, word: &SentinelWord) -> usize {
        self.floor.max(word.known())
    }

    /// How many there are: as many as the URL lists, or as any sentinel knows.
    pub(super) fn all(&self) -> usize {
        let known = self.votes().map(|vote| self.known_to(&vote.word));
        known.max().unwrap_or(self.floor)
    }

    /// How many must agree.
    pub(super) fn enough(&self) -> usize {
        self.all() / 2 + 1
    }

    /// Who is named by how many.
    pub(super) fn named(&self) -> BTreeMap<String, usize> {
        let mut named: BTreeMap<String, usize> = BTreeMap::new();
        for vote in self.votes() {
            *named.entry(vote.word.master.to_string()).or_default() += 1;
        }
        named
    }

    /// Who is named by more than half of all that those who name it know. One
    /// that remembers many who are long gone does not keep the others from
    /// agreeing.
    pub(super) fn decided(&self) -> Option<&Address> {
        self.votes().map(|vote| &vote.word.master).find(|master| {
            let named = self.votes().filter(|vote| vote.word.master == **master);
            let mut known: Vec<usize> = named.map(|vote| self.known_to(&vote.word)).collect();
            known.sort_unstable();
            let mut by_number = known.iter().zip(1..);
            by_number.any(|(known, number)| number > known / 2)
        })
    }

    /// How many those know that name `master`: the largest number of which they
    /// are more than half.
    pub(super) fn known(&self, master: &Address) -> usize {
        let named = || self.votes().filter(|vote| vote.word.master == *master);
        let number = named().count();
        let known = named().map(|vote| vote.word.known().max(self.listed.len()));
        known.filter(|known| number > known / 2).max().unwrap_or(0)
    }

    /// Where sentinels are that others know and that were not asked yet.
    pub(super) fn unasked(&self) -> Vec<Address> {
        let others = self.votes().filter_map(|vote| vote.word.others.as_ref());
        let unheard = |id: &&String| !self.heard.contains_key(&Voter::Id((*id).clone()));
        let mut unasked: Vec<Address> = others
            .flatten()
            .filter(|(id, at)| unheard(id) && !self.listed.contains(at))
            .map(|(_, at)| at.clone())
            .collect();
        unasked.sort_by_key(ToString::to_string);
        unasked.dedup();
        unasked
    }

    /// Whether a sentinel does not say who it is, or whom it knows.
    pub(super) fn is_partial(&self) -> bool {
        self.heard.values().any(|vote| !vote.word.is_whole())
    }

    /// Two names in the URL for one sentinel.
    pub(super) fn doubled(&self) -> Option<(&Address, &Address)> {
        let listed = |vote: &'_ Vote| -> Vec<usize> {
            let at = self.listed.iter().enumerate();
            at.filter(|(_, it)| vote.at.contains(it))
                .map(|(index, _)| index)
                .collect()
        };
        let mut pairs = self.heard.values().map(listed);
        let pair = pairs.find(|pair| pair.len() > 1)?;
        Some((&self.listed[pair[0]], &self.listed[pair[1]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp("h".to_owned(), port)
    }

    /// What the sentinel `id` says, which knows `others`.
    fn word(id: u16, master: u16, others: &[u16]) -> SentinelWord {
        let other = |id: &u16| (id.to_string(), at(*id));
        SentinelWord {
            master: at(master),
            id: Some(id.to_string()),
            others: Some(others.iter().map(other).collect()),
        }
    }

    fn nameless(master: u16) -> SentinelWord {
        SentinelWord {
            master: at(master),
            id: None,
            others: None,
        }
    }

    #[test]
    fn more_than_half_of_all_that_are_known_decide() {
        let mut votes = Votes::of(&[at(1)], 0);
        votes.count(at(1), word(1, 100, &[2, 3]));
        assert_eq!(votes.decided(), None, "one of three");
        assert_eq!((votes.all(), votes.enough()), (3, 2));
        assert_eq!(votes.unasked(), [at(2), at(3)]);
        votes.count(at(2), word(2, 200, &[1, 3]));
        assert_eq!(votes.decided(), None);
        votes.count(at(3), word(3, 200, &[1, 2]));
        assert_eq!(votes.decided(), Some(&at(200)));
    }

    #[test]
    fn one_sentinel_has_one_vote_whatever_its_names() {
        let listed = [at(1), at(11), at(2)];
        let mut votes = Votes::of(&listed, 0);
        votes.count(at(1), word(1, 100, &[2]));
        votes.count(at(11), word(1, 100, &[2]));
        assert_eq!(votes.decided(), None);
        assert_eq!(votes.doubled(), Some((&listed[0], &listed[1])));
        votes.count(at(2), word(2, 100, &[1]));
        assert_eq!(votes.decided(), Some(&at(100)));
    }

    #[test]
    fn where_nobody_says_who_he_is_those_of_the_url_decide() {
        let mut votes = Votes::of(&[at(1), at(2), at(3)], 0);
        votes.count(at(1), nameless(100));
        assert!(votes.is_partial());
        // A sentinel that was only heard of may be one of them.
        votes.count(at(9), word(9, 100, &[]));
        votes.count(at(8), nameless(100));
        assert_eq!(votes.decided(), None);
        votes.count(at(2), nameless(100));
        assert_eq!(votes.decided(), Some(&at(100)));
    }

    #[test]
    fn one_that_remembers_the_dead_does_not_stop_the_others() {
        let mut votes = Votes::of(&[at(1), at(2), at(3)], 0);
        votes.count(at(1), word(1, 100, &[2, 3, 4, 5, 6, 7]));
        votes.count(at(2), word(2, 100, &[1, 3]));
        assert_eq!(votes.decided(), None, "two of seven, one of three");
        votes.count(at(3), word(3, 100, &[1, 2]));
        assert_eq!(votes.decided(), Some(&at(100)));
    }

    #[test]
    fn one_that_has_forgotten_the_others_is_no_majority() {
        let mut votes = Votes::of(&[at(1)], 3);
        votes.count(at(1), word(1, 100, &[]));
        assert_eq!(votes.decided(), None, "there were three");
        assert_eq!((votes.all(), votes.enough()), (3, 2));
        // With another that remembers them it is, and there are still three.
        votes.count(at(2), word(2, 100, &[1, 3]));
        assert_eq!(votes.decided(), Some(&at(100)));
        assert_eq!(votes.known(&at(100)), 3);
    }

    #[test]
    fn fewer_are_needed_once_a_majority_knows_fewer() {
        let mut votes = Votes::of(&[at(1)], 5);
        for id in 1..=3 {
            assert_eq!(votes.decided(), None);
            let others: Vec<u16> = (1..=3).filter(|other| *other != id).collect();
            votes.count(at(id), word(id, 100, &others));
        }
        assert_eq!(votes.decided(), Some(&at(100)));
        assert_eq!(votes.known(&at(100)), 3);
        // One that remembers the dead does not make them count.
        votes.count(at(4), word(4, 100, &[1, 2, 3, 5, 6, 7, 8, 9]));
        assert_eq!(votes.known(&at(100)), 3);
    }
}
