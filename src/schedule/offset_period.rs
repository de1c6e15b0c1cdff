//! [`OffsetPeriod`]: the time between two changes of the clocks of a zone.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneTransition};
use jiff::{SignedDuration, Timestamp};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// From one change of the clocks of a zone to the next. Inside it the wall
/// clock and time run alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetPeriod {
    offset: Offset,
    begin: Option<Change>,
    end: Option<Timestamp>,
}

/// A change of the clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) at: Timestamp,
    /// What the wall clock would have shown next.
    pub(super) from: DateTime,
    /// What it showed instead.
    pub(super) to: DateTime,
}

impl OffsetPeriod {
    /// The period of `zone` that holds `time`.
    pub(super) fn at(zone: &TimeZone, time: Timestamp) -> Option<Self> {
        let offset = zone.to_offset(time);
        // Some transitions change the zone's abbreviation alone.
        let differs = |transition: &TimeZoneTransition<'_>| transition.offset() != offset;
        let end = zone.following(time).find(differs);
        let mut begin = None;
        // Those before, of which the last that changed to this offset counts.
        for transition in zone.preceding(time.checked_add(SECOND).ok()?) {
            let at = transition.timestamp();
            let before = zone.to_offset(at.checked_sub(SECOND).ok()?);
            if before != offset {
                let (from, to) = (before.to_datetime(at), offset.to_datetime(at));
                begin = Some(Change { at, from, to });
                break;
            }
        }
        Some(Self {
            offset,
            begin,
            end: end.map(|transition| transition.timestamp()),
        })
    }

    pub(super) fn after(&self, zone: &TimeZone) -> Option<Self> {
        Self::at(zone, self.end?)
    }

    pub(super) fn before(&self, zone: &TimeZone) -> Option<Self> {
        Self::at(zone, self.begin?.at.checked_sub(SECOND).ok()?)
    }

    /// The change of the clocks it begins with.
    pub(super) fn begin(&self) -> Option<Change> {
        self.begin
    }

    pub(super) fn wall(&self, time: Timestamp) -> DateTime {
        self.offset.to_datetime(time)
    }

    /// When the wall clock shows `wall`, before the end of the period.
    pub(super) fn time(&self, wall: DateTime) -> Option<Timestamp> {
        let time = self.offset.to_timestamp(wall).ok()?;
        self.end.is_none_or(|end| time < end).then_some(time)
    }
}
