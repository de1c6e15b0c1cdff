//! Which questions go together in one script.

use std::collections::BTreeMap;

use super::keys;

/// `all` in batches of at most `most`, for the server runs nothing beside a script. In a
/// cluster only those go together whose keys share a slot.
pub(super) fn together<T>(
    all: impl IntoIterator<Item = T>,
    most: usize,
    is_cluster: bool,
    key: impl Fn(&T) -> String,
) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    // Of each slot: the batch that is being filled.
    let mut open: BTreeMap<u16, usize> = BTreeMap::new();
    for one in all {
        let slot = if is_cluster {
            keys::slot(&key(&one))
        } else {
            0
        };
        match open.get(&slot).map(|at| &mut batches[*at]) {
            Some(batch) if batch.len() < most => batch.push(one),
            _ => {
                open.insert(slot, batches.len());
                batches.push(vec![one]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_full_and_of_one_slot_where_there_are_slots() {
        let key = |number: &u32| format!("{{{}}}", number % 2);
        let plain = together(0..5, 2, false, key);
        assert_eq!(plain, [vec![0, 1], vec![2, 3], vec![4]]);
        let slots = together(0..6, 2, true, key);
        assert_eq!(slots, [vec![0, 2], vec![1, 3], vec![4], vec![5]]);
        assert!(together([], 2, true, key).is_empty());
    }
}
