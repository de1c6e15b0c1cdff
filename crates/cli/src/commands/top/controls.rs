//! [`Controls`]: what the user has asked for.

use std::ops::ControlFlow;

use super::order::Order;
use crate::view::Key;

/// What the user has asked for.
#[derive(Debug)]
pub(super) struct Controls {
    pub(super) order: Order,
    /// Whether letters are those of the filter.
    pub(super) is_typing: bool,
    /// The name of the row that is selected.
    pub(super) selected: Option<String>,
    /// Where it was when it was selected: a look there is shorter than a search.
    pub(super) selected_at: usize,
    /// Whether its details are shown.
    pub(super) has_details: bool,
    /// The first of the rows that there is room for, and for how many there is:
    /// as they were drawn last.
    pub(super) first: usize,
    pub(super) room: usize,
}

impl Default for Controls {
    fn default() -> Self {
        Self {
            order: Order::default(),
            is_typing: false,
            selected: None,
            selected_at: 0,
            has_details: true,
            first: 0,
            room: 1,
        }
    }
}

impl Controls {
    /// Does what `key` asks for, where row `selected` of `count` is selected;
    /// breaks when it asks for the end.
    pub(super) fn hear(
        &mut self,
        key: Key,
        selected: Option<usize>,
        count: usize,
        name: impl Fn(usize) -> String,
    ) -> ControlFlow<()> {
        if self.is_typing && self.types(key) {
            return ControlFlow::Continue(());
        }
        let last = count.saturating_sub(1);
        let page = self.room.max(2) - 1;
        let wanted = match (key, selected) {
            (key, _) if key.is_quit() => return ControlFlow::Break(()),
            (Key::First | Key::Letter('g'), _) => 0,
            (Key::Last | Key::Letter('G'), _) => last,
            (Key::Down | Key::Letter('j'), Some(at)) => (at + 1).min(last),
            (Key::Up | Key::Letter('k'), Some(at)) => at.saturating_sub(1),
            (Key::PageDown, at) => (at.unwrap_or(0) + page).min(last),
            (Key::PageUp, at) => at.unwrap_or(0).saturating_sub(page),
            (Key::Enter, Some(_)) => {
                self.has_details = !self.has_details;
                return ControlFlow::Continue(());
            }
            // The first that is to be seen.
            (Key::Down | Key::Up | Key::Enter | Key::Letter('j' | 'k'), None) => self.first,
            (other, _) => {
                self.arranges(other);
                return ControlFlow::Continue(());
            }
        };
        if selected.is_none() {
            self.has_details = true;
        }
        self.selected = (wanted < count).then(|| name(wanted));
        self.selected_at = wanted;
        ControlFlow::Continue(())
    }

    fn arranges(&mut self, key: Key) {
        match key {
            Key::Right => self.order.next(),
            Key::Left => self.order.previous(),
            Key::Letter('r') => self.order.turn(),
            Key::Letter('/') => self.is_typing = true,
            // One thing after the other.
            Key::Escape if self.order.filter.is_empty() => self.selected = None,
            Key::Escape => self.order.filter.clear(),
            _ => {}
        }
    }

    /// Whether `key` was meant for the filter.
    fn types(&mut self, key: Key) -> bool {
        match key {
            Key::Letter(letter) => self.order.filter.push(letter),
            Key::Backspace => drop(self.order.filter.pop()),
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.order.filter.clear();
            }
            _ => return false,
        }
        true
    }

    /// Keeps what is selected in sight, with room for so many rows.
    pub(super) fn scroll(&mut self, selected: Option<usize>, count: usize, room: usize) {
        self.room = room;
        if let Some(at) = selected {
            let top = (at + 1).saturating_sub(room.max(1));
            self.first = self.first.clamp(top, at);
        }
        // No empty lines while there are rows above.
        self.first = self.first.min(count.saturating_sub(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is selected among ten rows after these keys.
    fn typed(controls: &mut Controls, keys: &[Key]) -> Option<usize> {
        let mut selected = controls
            .selected
            .as_deref()
            .map(|name| name.parse().unwrap());
        for key in keys {
            let heard = controls.hear(*key, selected, 10, |at| at.to_string());
            assert!(heard.is_continue(), "{key:?}");
            selected = controls
                .selected
                .as_deref()
                .map(|name| name.parse().unwrap());
            controls.scroll(selected, 10, 4);
        }
        selected
    }

    #[test]
    fn rows_are_reached_by_every_way_and_stay_in_sight() {
        let mut controls = Controls::default();
        controls.scroll(None, 10, 4);
        let mut at = |keys: &[Key]| (typed(&mut controls, keys), controls.first);
        assert_eq!(at(&[Key::Down]), (Some(0), 0));
        assert_eq!(at(&[Key::Down, Key::Letter('j')]), (Some(2), 0));
        assert_eq!(at(&[Key::PageDown]), (Some(5), 2));
        assert_eq!(at(&[Key::Last, Key::Down]), (Some(9), 6));
        assert_eq!(at(&[Key::PageUp, Key::Letter('k')]), (Some(5), 5));
        assert_eq!(at(&[Key::First, Key::Up]), (Some(0), 0));
        assert_eq!(at(&[Key::Escape]), (None, 0));
    }

    #[test]
    fn letters_go_to_the_filter_while_it_is_typed() {
        let mut controls = Controls::default();
        let letters = "q/jr".chars().map(Key::Letter);
        let keys: Vec<Key> = [Key::Letter('/')].into_iter().chain(letters).collect();
        assert_eq!(typed(&mut controls, &keys), None);
        assert_eq!(controls.order.filter, "q/jr");
        // The arrows still select.
        assert_eq!(typed(&mut controls, &[Key::Backspace, Key::Down]), Some(0));
        assert_eq!(controls.order.filter, "q/j");
        typed(&mut controls, &[Key::Enter]);
        assert!(!controls.is_typing);
        typed(&mut controls, &[Key::Escape]);
        assert_eq!(controls.order.filter, "");
        assert_eq!(typed(&mut controls, &[Key::Escape]), None);
        typed(
            &mut controls,
            &[Key::Letter('/'), Key::Letter('a'), Key::Escape],
        );
        assert!(controls.order.filter.is_empty() && !controls.is_typing);
        assert!(
            controls
                .hear(Key::Letter('q'), None, 10, |_| String::new())
                .is_break()
        );
    }

    #[test]
    fn without_rows_nothing_is_selected() {
        let mut controls = Controls::default();
        for key in [
            Key::Up,
            Key::Down,
            Key::Last,
            Key::PageUp,
            Key::PageDown,
            Key::Enter,
        ] {
            assert!(
                controls
                    .hear(key, None, 0, |_| panic!("no row"))
                    .is_continue()
            );
            controls.scroll(None, 0, 0);
            assert_eq!(controls.selected, None);
        }
    }

    #[test]
    fn details_are_closed_and_opened_again() {
        let mut controls = Controls::default();
        typed(&mut controls, &[Key::Down]);
        assert!(controls.has_details);
        typed(&mut controls, &[Key::Enter, Key::Down]);
        assert!(!controls.has_details, "until they are asked for");
        typed(&mut controls, &[Key::Enter]);
        assert!(controls.has_details);
    }
}
