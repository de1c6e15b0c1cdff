//! Which columns of a table of mutexes there is room for, and how wide they are.
//!
//! Names stay whole for as long as anything else can make room: tokens are
//! shortened first, waiters are counted, columns are left out, owners lose
//! their ends; only then a name loses its middle.

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Kind,
    Owner,
    Token,
    /// Its last digits, in which two tokens of one mutex differ.
    ShortToken,
    Held,
    Left,
    /// The time that is left, with a bar before it.
    Bar,
    Waiters,
    WaiterCount,
    /// How often it has changed hands lately.
    Changes,
}

use Column::{
    Bar, Changes, Held, Kind, Left, Name, Owner, ShortToken, Token, WaiterCount, Waiters,
};

/// What a table shows, from all that is known to what must be known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    columns: &'static [&'static [Column]],
    /// Up to this one owners are whole.
    whole_owners: usize,
    /// How much a title needs beside its letters, if there is room at all.
    mark: usize,
}

/// Of a table that is written once.
pub(super) const WRITTEN: Levels = Levels {
    columns: &[
        &[Name, Kind, Owner, Token, Held, Left, Waiters],
        &[Name, Kind, Owner, ShortToken, Held, Left, Waiters],
        &[Name, Kind, Owner, ShortToken, Held, Left, WaiterCount],
        &[Name, Owner, ShortToken, Held, Left, WaiterCount],
        &[Name, Owner, Held, Left, WaiterCount],
        &[Name, Owner, Left, WaiterCount],
        &[Name, Owner, Left],
    ],
    whole_owners: 2,
    mark: 0,
};

/// Of one that is live, and marks what it is sorted by.
#[cfg(feature = "views")]
pub(super) const LIVE: Levels = Levels {
    columns: &[
        &[Name, Kind, Owner, Token, Held, Bar, Waiters, Changes],
        &[
            Name,
            Kind,
            Owner,
            ShortToken,
            Held,
            Bar,
            WaiterCount,
            Changes,
        ],
        &[Name, Owner, ShortToken, Held, Bar, WaiterCount, Changes],
        &[Name, Owner, Held, Bar, WaiterCount, Changes],
        &[Name, Owner, Held, Left, WaiterCount, Changes],
        &[Name, Owner, Held, Left, WaiterCount],
        &[Name, Owner, Left, WaiterCount],
        &[Name, Owner, Left],
    ],
    whole_owners: 1,
    mark: 1,
};

/// How wide a bar is, with the space behind it.
pub(super) const BAR: usize = 7;
/// How much of an owner is worth a column, and how much is better than none.
const OWNER: (usize, usize) = (16, 5);
const GAP: usize = 2;
/// How many digits of a token are shown; a shorter one is whole.
const DIGITS: usize = 6;

impl Column {
    pub(super) fn title(self) -> &'static str {
        match self {
            Name => "NAME",
            Kind => "KIND",
            Owner => "OWNER",
            Token | ShortToken => "TOKEN",
            Held => "HELD FOR",
            Left | Bar => "TIME LEFT",
            Waiters | WaiterCount => "WAITERS",
            Changes => "CHANGES",
        }
    }
}

/// What can be shown of one mutex.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) owner: String,
    pub(super) token: String,
    pub(super) held: String,
    pub(super) left: String,
    pub(super) waiters: String,
    pub(super) waiter_count: usize,
    pub(super) changes: String,
}

impl Texts {
    /// What stands in `column` if that is so wide.
    pub(super) fn cell(&self, column: Column, width: usize) -> String {
        match column {
            Name => without_middle(&self.name, width),
            Owner => without_end(&self.owner, width),
            Waiters => without_end(&self.waiters, width),
            _ => self.whole(column),
        }
    }

    fn whole(&self, column: Column) -> String {
        match column {
            Name => self.name.clone(),
            Kind => self.kind.to_owned(),
            Changes => self.changes.clone(),
            Owner => self.owner.clone(),
            Token => self.token.clone(),
            ShortToken => short(&self.token),
            Held => self.held.clone(),
            Left | Bar => self.left.clone(),
            Waiters => self.waiters.clone(),
            WaiterCount if self.waiter_count == 0 => "-".into(),
            WaiterCount => self.waiter_count.to_string(),
        }
    }
}

/// The columns and their widths for these rows. Without a limit all is shown.
pub(super) fn fit(rows: &[Texts], levels: Levels, room: Option<usize>) -> Vec<(Column, usize)> {
    let natural = |column: Column, mark: usize| {
        let cells = rows.iter().map(|row| row.whole(column).chars().count());
        let bar = if column == Bar { BAR } else { 0 };
        let title = column.title().len() + mark;
        (cells.max().unwrap_or(0) + bar).max(title)
    };
    let room = room.unwrap_or(usize::MAX);
    for (level, columns) in levels.columns.iter().enumerate() {
        let is_last = level == levels.columns.len() - 1;
        let mark = if is_last { 0 } else { levels.mark };
        let mut widths: Vec<(Column, usize)> = columns
            .iter()
            .map(|column| (*column, natural(*column, mark)))
            .collect();
        let all = widths.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP;
        let mut missing = all.saturating_sub(room);
        let least = match level {
            level if level <= levels.whole_owners => usize::MAX,
            _ if is_last => OWNER.1,
            _ => OWNER.0,
        };
        for (column, least) in [(Owner, least), (Name, usize::from(!is_last) * usize::MAX)] {
            let at = columns.iter().position(|it| *it == column).unwrap_or(0);
            let width = &mut widths[at].1;
            let given = missing.min(width.saturating_sub(least));
            *width -= given;
            missing -= given;
        }
        if missing == 0 || is_last {
            return widths;
        }
    }
    unreachable!("the last level is always taken")
}

fn short(token: &str) -> String {
    match token.len().checked_sub(DIGITS) {
        Some(from @ 3..) if token.is_char_boundary(from) => format!("…{}", &token[from..]),
        _ => token.to_owned(),
    }
}

fn without_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let begin: String = text.chars().take(width.saturating_sub(1)).collect();
    begin + "…"
}

fn without_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let begin: String = text.chars().take(kept.div_ceil(2)).collect();
    let end: String = text.chars().skip(length - kept / 2).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, owner: &str) -> Texts {
        Texts {
            name: name.into(),
            kind: "schedule",
            owner: owner.into(),
            token: "1731763023000064512".into(),
            held: "4m 10s".into(),
            left: "12.3s".into(),
            waiters: "a-waiter/12345678, another-one/12345678".into(),
            waiter_count: 2,
            changes: "▁▁▂▁▁▁█▁ 12".into(),
        }
    }

    fn columns(fitted: &[(Column, usize)]) -> Vec<Column> {
        fitted.iter().map(|(column, _)| *column).collect()
    }

    #[test]
    fn whatever_the_width_the_table_is_not_wider() {
        for name in ["m", "billing-nightly-report", &"long-".repeat(40)] {
            let rows = [row(name, "worker-17.frankfurt.example.com/12345678")];
            for room in 20..300 {
                for levels in [WRITTEN, LIVE] {
                    let fitted = fit(&rows, levels, Some(room));
                    let all: usize = fitted.iter().map(|(_, width)| width + GAP).sum();
                    assert!(all - GAP <= room, "{name} at {room}: {fitted:?}");
                    for (column, width) in &fitted {
                        let bar = if *column == Bar { BAR } else { 0 };
                        let cell = rows[0].cell(*column, *width);
                        assert!(cell.chars().count() + bar <= *width, "{cell} in {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_name_is_whole_while_anything_else_can_give_way() {
        let rows = [row(
            "billing-nightly-report",
            "worker-17.frankfurt/12345678",
        )];
        for levels in [WRITTEN, LIVE] {
            for room in 40..300 {
                let fitted = fit(&rows, levels, Some(room));
                assert_eq!(fitted[0], (Name, 22), "at {room}");
            }
            assert_eq!(fit(&rows, levels, Some(36))[0].1, 18);
        }
        assert_eq!(rows[0].cell(Name, 18), "billing-n…y-report");
    }

    #[test]
    fn what_gives_way_does_so_in_order() {
        let rows = [row("billing", "worker-17.frankfurt/12345678")];
        for levels in [WRITTEN, LIVE] {
            assert_eq!(columns(&fit(&rows, levels, None)), levels.columns[0]);
            let level = |room| {
                let shown = columns(&fit(&rows, levels, Some(room)));
                levels.columns.iter().position(|level| *level == shown)
            };
            let found: Vec<usize> = (30..250).rev().map(|room| level(room).unwrap()).collect();
            assert!(found.is_sorted(), "{found:?}");
            let last = levels.columns.len() - 1;
            assert_eq!((found[0], found[found.len() - 1]), (0, last));
        }
        // The usual terminal.
        let shown = columns(&fit(&rows, LIVE, Some(80)));
        assert_eq!(shown, [Name, Owner, Held, Bar, WaiterCount, Changes]);
    }

    #[test]
    fn a_token_is_shortened_only_if_that_saves_room() {
        assert_eq!(short("1731763023000064512"), "…064512");
        assert_eq!(short("12345678"), "12345678");
        assert_eq!(short("-"), "-");
    }
}
