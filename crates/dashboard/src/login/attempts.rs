//! [`Attempts`]: wrong tokens are counted, and those who go on are sent away.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many are heard out from one place in this time.
const MOST: u32 = 10;
const WITHIN: Duration = Duration::from_secs(60);
/// Of so many places at once. When there are more, new ones are counted together.
const MOST_PLACES: usize = 4_096;

/// All places for which there is no room.
const OTHERS: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// The wrong tokens of the last minute.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Attempts {
    /// How long one from there has to wait before it is heard out.
    pub(super) fn must_wait(&self, from: IpAddr) -> Option<Duration> {
        self.must_wait_at(from, Instant::now())
    }

    fn must_wait_at(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = |since: Instant| WITHIN.saturating_sub(now.saturating_duration_since(since));
        if places.len() >= MOST_PLACES {
            places.retain(|_, (since, _)| !left(*since).is_zero());
        }
        match places.get(&counted_as(&places, from)) {
            Some((since, count)) if *count >= MOST => {
                Some(left(*since)).filter(|left| !left.is_zero())
            }
            _ => None,
        }
    }

    /// One from there was wrong.
    pub(super) fn note_wrong(&self, from: IpAddr) {
        self.note_wrong_at(from, Instant::now());
    }

    fn note_wrong_at(&self, from: IpAddr, now: Instant) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = counted_as(&places, from);
        let (since, count) = places.entry(counted).or_insert((now, 0));
        if now.saturating_duration_since(*since) >= WITHIN {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }
}

fn counted_as(places: &HashMap<IpAddr, (Instant, u32)>, from: IpAddr) -> IpAddr {
    let place = place(from);
    match places.contains_key(&place) || places.len() < MOST_PLACES {
        true => place,
        false => OTHERS,
    }
}

/// One who has one address of version 6 has all of its network.
fn place(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_ten_wrong_ones_it_is_a_minute_before_the_next() {
        let attempts = Attempts::default();
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        for number in 0..MOST {
            assert_eq!(
                attempts.must_wait_at(at("2001:db8::1"), start),
                None,
                "{number}"
            );
            attempts.note_wrong_at(at("2001:db8::1"), start);
        }
        let later = start + 20 * second;
        let wait = attempts.must_wait_at(at("2001:db8::2"), later);
        assert_eq!(wait, Some(40 * second), "the same network");
        assert_eq!(attempts.must_wait_at(at("2001:db8:1::1"), later), None);
        assert_eq!(attempts.must_wait_at(at("192.0.2.1"), later), None);
        assert_eq!(
            attempts.must_wait_at(at("2001:db8::1"), start + WITHIN),
            None
        );
        attempts.note_wrong_at(at("2001:db8::1"), start + WITHIN);
        assert_eq!(
            attempts.must_wait_at(at("2001:db8::1"), start + WITHIN),
            None
        );
    }

    #[test]
    fn a_crowd_of_places_takes_no_memory_without_end() {
        let attempts = Attempts::default();
        let now = Instant::now();
        for number in 0..2 * MOST_PLACES as u32 {
            let from = IpAddr::from(number.to_be_bytes());
            if attempts.must_wait_at(from, now).is_none() {
                attempts.note_wrong_at(from, now);
            }
        }
        assert_eq!(attempts.0.lock().unwrap().len(), MOST_PLACES + 1);
        let wait = attempts.must_wait_at([9, 9, 9, 9].into(), now);
        assert_eq!(wait, Some(WITHIN), "with the others");
        let later = now + WITHIN;
        assert_eq!(attempts.must_wait_at([9, 9, 9, 9].into(), later), None);
        assert!(attempts.0.lock().unwrap().is_empty());
    }
}
