//! What a mutex is wanted for, in a column that a table may have or not.
//!
//! It holds the time of the grant and a digit for the purpose, and is believed
//! while that time is the row's own: what a peer takes that does not know the
//! column has another.

use super::statements::{NOW, Statements};
use crate::model::Purpose;

/// How many purposes there is room for.
const ROOM: u64 = 16;

/// Behind what a take writes. The time is computed again, and not taken from
/// the other column: in which order a join writes its columns is not said.
pub(super) fn written(says_purpose: bool) -> String {
    match says_purpose {
        true => format!(", m.purpose = {NOW} * {ROOM} + ?"),
        false => String::new(),
    }
}

/// What a look asks for.
pub(super) fn column(says_purpose: bool) -> &'static str {
    match says_purpose {
        true => "CAST(GREATEST(purpose, 0) AS UNSIGNED) AS purpose",
        false => "NULL AS purpose",
    }
}

/// What a take writes for it; zero says nothing.
pub(super) fn digit(purpose: Option<Purpose>) -> u8 {
    purpose.map_or(0, Purpose::digit)
}

/// What the column says of a grant from `acquired_at`.
pub(super) fn read(column: u64, acquired_at: u64) -> Option<Purpose> {
    let (time, digit) = (column / ROOM, (column % ROOM) as u8);
    (time == acquired_at).then(|| Purpose::of_digit(digit))?
}

/// Makes room for it. Never done by itself: the table may be in use by many,
/// and to change it waits for all of them, and lets them wait.
pub(super) fn extension(statements: &Statements) -> String {
    let table = &statements.table;
    format!("ALTER TABLE {table} ADD COLUMN purpose BIGINT UNSIGNED NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_believed_of_the_grant_that_it_was_written_with() {
        let at = 1_790_000_123_456;
        for purpose in Purpose::ALL {
            let written = at * ROOM + u64::from(digit(Some(purpose)));
            assert_eq!(read(written, at), Some(purpose));
            assert_eq!(read(written, at + 1), None, "of another grant");
        }
        assert_eq!(read(at * ROOM + u64::from(digit(None)), at), None);
        assert_eq!(read(at * ROOM + 15, at), None, "of a later version");
        assert_eq!(read(0, 0), None, "a free row, or a NULL");
        assert_eq!(read(u64::MAX, u64::MAX / ROOM), None);
    }
}
