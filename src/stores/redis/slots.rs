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

/// What one node says of the cluster.
#[derive(Clone, Debug)]
pub(super) struct NodeWord {
    /// Where it was asked.
    pub(super) by: Address,
    pub(super) shares: Vec<Share>,
    /// All nodes that it names, masters and replicas.
    pub(super) nodes: Vec<Address>,
}

/// Believes that `slot` is at `master`, until the next map.
pub(super) fn assign(shares: &mut Vec<Share>, slot: u16, master: Address) {
    // Those of one slot stand before the map that they correct.
    shares.retain(|share| (share.first, share.last) != (slot, slot));
    let share = Share {
        first: slot,
        last: slot,
        master,
    };
    shares.insert(0, share);
}

/// All masters, in an order of their own.
pub(super) fn masters(shares: &[Share]) -> Vec<Address> {
    let mut masters: Vec<Address> = shares.iter().map(|s| s.master.clone()).collect();
    masters.sort_by_key(ToString::to_string);
    masters.dedup();
    masters
}

/// The slots on whose owner at least `enough` of the `answers` agree.
pub(super) fn agreed(answers: &[NodeWord], enough: usize) -> Vec<Share> {
    let answers: Vec<&[Share]> = answers.iter().map(|word| word.shares.as_slice()).collect();
    // As a rule they all say the same.
    let is_common = |it: &&&[Share]| answers.iter().filter(|other| other == it).count() >= enough;
    if let Some(common) = answers.iter().find(is_common) {
        return common.to_vec();
    }
    count(&answers, enough)
}

/// The same shares without those that earlier ones hide.
pub(super) fn flatten(shares: &[Share]) -> Vec<Share> {
    count(&[shares], 1)
}

fn count(answers: &[&[Share]], enough: usize) -> Vec<Share> {
    let mut all = Vec::new();
    let mut opinions: Vec<Vec<Option<usize>>> = Vec::new();
    for answer in answers {
        let mut owners = vec![None; SLOTS];
        for share in *answer {
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

/// What the answer to CLUSTER SLOTS says, asked at `by`.
pub(super) fn word(answer: &Value, by: &Address) -> Option<NodeWord> {
    let Value::Array(rows) = answer else {
        return None;
    };
    let (mut shares, mut all) = (Vec::new(), Vec::new());
    for row in rows {
        let Value::Array(row) = row else { return None };
        let [Value::Int(first), Value::Int(last), nodes @ ..] = row.as_slice() else {
            return None;
        };
        let mut nodes = nodes.iter().map(|node| address(node, by));
        let master = nodes.next()??;
        shares.push(Share {
            first: u16::try_from(*first).ok()?,
            last: u16::try_from(*last).ok()?,
            master: master.clone(),
        });
        all.push(master);
        // The master counts; a replica whose address is odd is not mentioned.
        all.extend(nodes.flatten());
    }
    let by = by.clone();
    (!shares.is_empty()).then_some(NodeWord {
        by,
        shares,
        nodes: all,
    })
}

fn address(node: &Value, asked: &Address) -> Option<Address> {
    let Value::Array(node) = node else {
        return None;
    };
    let [host, Value::Int(port), ..] = node.as_slice() else {
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
    Some(Address::Tcp(host, u16::try_from(*port).ok()?))
}

/// Whether those who answer may speak for the cluster: they name so many nodes,
/// of which so many are masters, and so many that are known from elsewhere are
/// missing. A node that was reset names itself alone, and must miss none.
pub(super) fn may_speak(masters: usize, named: usize, missing: usize) -> bool {
    match masters {
        1 => missing < named,
        _ => missing <= named,
    }
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
        let said = |shares: &Vec<Share>| NodeWord {
            by: shares[0].master.clone(),
            shares: shares.clone(),
            nodes: Vec::new(),
        };
        let answers = [&old, &new, &new].map(said);
        assert_eq!(agreed(&answers, 2), new);
        assert_eq!(
            agreed(&answers, 3),
            [share(5_000, 9_999, 1), share(10_000, 16_383, 2)]
        );
        assert_eq!(agreed(&answers[..2], 2), agreed(&answers, 3));
        assert!(agreed(&[], 1).is_empty());
        let hidden = [new.clone(), old.clone()].concat();
        assert_eq!(flatten(&hidden), new);
        assert!(is_whole(&old) && !is_whole(&agreed(&answers, 3)));
        assert_eq!(owner_of(&new, 4_999), Some(&new[0].master));
    }
    #[test]
    fn what_is_believed_of_a_slot_replaces_what_was() {
        let whole = share(0, 16_383, 1);
        let mut shares = vec![whole.clone()];
        for port in 2..1_000 {
            assign(&mut shares, 7, Address::Tcp("h".to_owned(), port));
        }
        assert_eq!(shares, [share(7, 7, 999), whole.clone()]);
        assign(&mut shares, 8, Address::Tcp("h".to_owned(), 2));
        assert_eq!(shares, [share(8, 8, 2), share(7, 7, 999), whole]);
        assert_eq!(owner_of(&shares, 7), Some(&share(7, 7, 999).master));
    }

    #[test]
    fn a_node_that_names_itself_alone_needs_the_others() {
        assert!(may_speak(1, 1, 0), "a cluster of one");
        assert!(!may_speak(1, 1, 1) && !may_speak(1, 1, 2));
        assert!(may_speak(1, 2, 1), "one shard, a replica of two is down");
        assert!(may_speak(3, 3, 3), "all replicas are down");
        assert!(!may_speak(3, 2, 3));
    }

    #[test]
    fn a_map_names_replicas_too() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let node = |host: &str, port| Value::Array(vec![text(host), Value::Int(port), text("id")]);
        let row = vec![Value::Int(0), Value::Int(9), node("", 1), node("b", 2)];
        let asked = Address::Tcp("a".to_owned(), 7);
        let word = word(&Value::Array(vec![Value::Array(row)]), &asked).unwrap();
        let at = |host: &str, port| Address::Tcp(host.to_owned(), port);
        assert_eq!(word.nodes, [at("a", 1), at("b", 2)]);
        assert_eq!(word.shares[0].master, at("a", 1));
    }
}
