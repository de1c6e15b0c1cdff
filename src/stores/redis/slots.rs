//! Who has which slot of a cluster, in the words of its nodes.

use redis::Value;

use super::config::Address;

/// How many slots a cluster has.
const SLOTS: usize = 16_384;

/// The slots from first to last, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Address,
}

/// Whose `slot` is.
pub(super) fn owner_of(shares: &[Share], slot: u16) -> Option<&Address> {
    let share = shares.iter().find(|s| (s.first..=s.last).contains(&slot));
    share.map(|share| &share.master)
}

/// All masters, in an order of their own.
pub(super) fn masters(shares: &[Share]) -> Vec<Address> {
    let mut masters: Vec<Address> = shares.iter().map(|s| s.master.clone()).collect();
    masters.sort_by_key(ToString::to_string);
    masters.dedup();
    masters
}

/// The slots on whose owner at least `enough` of the `answers` agree.
pub(super) fn agreed(answers: &[Vec<Share>], enough: usize) -> Vec<Share> {
    // As a rule they all say the same.
    let is_common = |it: &&Vec<Share>| answers.iter().filter(|other| other == it).count() >= enough;
    if let Some(common) = answers.iter().find(is_common) {
        return common.clone();
    }
    count(answers, enough)
}

/// The same shares without those that earlier ones hide.
pub(super) fn flatten(shares: Vec<Share>) -> Vec<Share> {
    count(&[shares], 1)
}

fn count(answers: &[Vec<Share>], enough: usize) -> Vec<Share> {
    let mut all = Vec::new();
    let mut opinions: Vec<Vec<Option<usize>>> = Vec::new();
    for answer in answers {
        let mut owners = vec![None; SLOTS];
        for share in answer {
            let at = all.iter().position(|known| *known == share.master);
            let at = at.unwrap_or_else(|| {
                all.push(share.master.clone());
                all.len() - 1
            });
            let last = usize::from(share.last).min(SLOTS - 1);
            let first = usize::from(share.first).min(last);
            for owner in &mut owners[first..=last] {
                owner.get_or_insert(at);
            }
        }
        opinions.push(owners);
    }
    let decided = |slot: usize| {
        let named = |opinion: &Vec<Option<usize>>| opinion[slot];
        let mut candidates = opinions.iter().filter_map(named);
        candidates.find(|who| {
            let same = |opinion: &&Vec<Option<usize>>| opinion[slot] == Some(*who);
            opinions.iter().filter(same).count() >= enough
        })
    };
    let mut shares: Vec<Share> = Vec::new();
    for slot in 0..SLOTS {
        let Some(who) = decided(slot) else { continue };
        let number = slot as u16;
        match shares.last_mut() {
            Some(share) if share.last + 1 == number && share.master == all[who] => {
                share.last = number;
            }
            _ => shares.push(Share {
                first: number,
                last: number,
                master: all[who].clone(),
            }),
        }
    }
    shares
}

/// Whether these are all slots.
pub(super) fn is_whole(shares: &[Share]) -> bool {
    let number: usize = shares
        .iter()
        .map(|s| usize::from(s.last - s.first) + 1)
        .sum();
    number >= SLOTS
}

/// The shares in the answer to CLUSTER SLOTS.
pub(super) fn shares(answer: &Value, asked: &Address) -> Option<Vec<Share>> {
    let Value::Array(rows) = answer else {
        return None;
    };
    let share = |row: &Value| {
        let Value::Array(row) = row else { return None };
        let [
            Value::Int(first),
            Value::Int(last),
            Value::Array(master),
            ..,
        ] = row.as_slice()
        else {
            return None;
        };
        let [host, Value::Int(port), ..] = master.as_slice() else {
            return None;
        };
        let host = match host {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
            // Unknown to itself: where we reached it.
            _ => match asked {
                Address::Tcp(host, _) => host.clone(),
                Address::Unix(_) => return None,
            },
        };
        Some(Share {
            first: u16::try_from(*first).ok()?,
            last: u16::try_from(*last).ok()?,
            master: Address::Tcp(host, u16::try_from(*port).ok()?),
        })
    };
    let shares: Vec<Share> = rows.iter().map(share).collect::<Option<_>>()?;
    (!shares.is_empty()).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(first: u16, last: u16, port: u16) -> Share {
        let master = Address::Tcp("h".to_owned(), port);
        Share {
            first,
            last,
            master,
        }
    }

    #[test]
    fn a_slot_is_whose_most_say_it_is() {
        let old = vec![share(0, 9_999, 1), share(10_000, 16_383, 2)];
        let new = vec![
            share(0, 4_999, 9),
            share(5_000, 9_999, 1),
            share(10_000, 16_383, 2),
        ];
        let answers = [old.clone(), new.clone(), new.clone()];
        assert_eq!(agreed(&answers, 2), new);
        assert_eq!(
            agreed(&answers, 3),
            [share(5_000, 9_999, 1), share(10_000, 16_383, 2)]
        );
        assert_eq!(agreed(&answers[..2], 2), agreed(&answers, 3));
        assert!(agreed(&[], 1).is_empty());
        let hidden = [new.clone(), old.clone()].concat();
        assert_eq!(flatten(hidden), new);
        assert!(is_whole(&old) && !is_whole(&agreed(&answers, 3)));
        assert_eq!(owner_of(&new, 4_999), Some(&new[0].master));
    }
}
