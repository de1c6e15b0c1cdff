//! Chance that no two processes share.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use super::host;

/// 128 bits that no other process has: from the operating system, mixed with what
/// tells this moment of this process from every other.
///
/// Asked for each time, and kept nowhere: what a process keeps, its fork has
/// too, and an id or a nonce that two processes make is no identity. The system
/// alone is not trusted either: a copy of a virtual machine may go on with the
/// random numbers of its original.
///
/// # Panics
/// When the operating system has no chance to give; nothing that must be unique
/// can be made then.
pub(crate) fn bits() -> u128 {
    // Random bits stay random whatever known ones are added to them.
    from_system::<1>()[0] ^ here_and_now(Here::now())
}

/// The same twice, for one who knows where and when it is. The system is not asked
/// again by one who asks again and again.
#[inline]
pub(crate) fn bits_twice(here: Here) -> [u128; 2] {
    let drawn = DRAWN.try_with(|drawn| drawn.borrow_mut().next(here));
    // A thread that ends keeps nothing.
    let [one, other] = drawn.unwrap_or_else(|_| from_system());
    let here_and_now = here_and_now(here);
    [one ^ here_and_now, other ^ mix(here_and_now)]
}

fn from_system<const N: usize>() -> [u128; N] {
    let mut bytes = [[0; 16]; N];
    getrandom::fill(bytes.as_flattened_mut()).expect("the operating system gives random bytes");
    bytes.map(u128::from_ne_bytes)
}

/// Which process asks, and what its clocks show, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    process: u32,
    /// Of a clock that is never set.
    now: u64,
    /// Of the wall clock.
    wall: u64,
}

impl Here {
    pub(crate) fn now() -> Self {
        static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            process: std::process::id(),
            // What 64 bits count to is passed in the year 2554.
            now: BEGINNING.elapsed().as_nanos() as u64,
            wall: since_epoch.map_or(0, |time| time.as_nanos() as u64),
        }
    }

    /// In a process whose id is known, by one who has just read both clocks.
    pub(crate) fn at(process: u32, now: u64, wall: u64) -> Self {
        Self { process, now, wall }
    }

    /// The same by one who knows the process alone.
    pub(crate) fn now_in(process: u32) -> Self {
        Self {
            process,
            ..Self::now()
        }
    }

    pub(crate) fn process(self) -> u32 {
        self.process
    }
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn::NOTHING) };
}

/// What the system gave last, for one who asks again and again: for less time than a
/// fork takes, what is added to it tells one bid from the next, as it tells one
/// process from another that has the same chance.
struct Drawn {
    pair: [u128; 2],
    /// When and where the system gave it.
    at: u64,
    process: u32,
}

impl Drawn {
    const BRIEFLY: u64 = 100_000; // nanoseconds
    const NOTHING: Self = Self {
        pair: [0; 2],
        at: u64::MAX / 2, // never
        process: 0,
    };

    fn next(&mut self, here: Here) -> [u128; 2] {
        let is_recent =
            here.process == self.process && here.now.wrapping_sub(self.at) < Self::BRIEFLY;
        if !is_recent {
            (self.pair, self.at, self.process) = (from_system(), here.now, here.process);
        }
        self.pair
    }
}

/// A random UUID.
pub(crate) fn uuid() -> uuid::Uuid {
    uuid::Builder::from_random_bytes(bits().to_ne_bytes()).into_uuid()
}

/// Different in any two processes that live, and at any two calls in one.
///
/// Two processes of one machine have different ids, two containers at least
/// begin and ask at different nanoseconds, two machines have different names,
/// addresses or boots, and the copy of a machine goes on at another time.
#[inline]
fn here_and_now(here: Here) -> u128 {
    static BEGINNING: LazyLock<u128> = LazyLock::new(beginning);
    static CALLS: AtomicU64 = AtomicU64::new(0);
    // What is copied with a process is hashed once. What its copy has
    // otherwise is asked for at each call, and added so that two calls which
    // differ in one of it never make the same.
    let call = u128::from(CALLS.fetch_add(1, Ordering::Relaxed)) << 64;
    let times = u128::from(here.now) << 64 | u128::from(here.wall);
    [call | u128::from(here.process), times]
        .into_iter()
        .fold(*BEGINNING, |mixed, part| mix(mixed ^ part))
}

/// What tells where and when this process first asked.
fn beginning() -> u128 {
    let process = (std::process::id(), std::thread::current().id());
    let place = (host::address(), host::host_name());
    let mut digest = Digest(hmac_sha256::Hash::new());
    (place, process, Instant::now(), SystemTime::now()).hash(&mut digest);
    let digest = digest.0.finalize();
    let half = digest.first_chunk().expect("it has 32 bytes");
    u128::from_ne_bytes(*half)
}

/// Another number for each number, in which every bit depends on all.
#[inline]
fn mix(mut bits: u128) -> u128 {
    // The first digits of pi, made odd: multiplying by it can be undone.
    const ODD: u128 = 0x3243_f6a8_885a_308d_3131_98a2_e037_0735;
    for _ in 0..2 {
        bits = bits.wrapping_mul(ODD);
        bits ^= bits >> 64;
    }
    bits.wrapping_mul(ODD)
}

/// Whatever can be hashed, in 256 bits.
struct Digest(hmac_sha256::Hash);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole digest is asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_never_repeats_itself() {
        // At one moment, as far as the clocks show.
        let here = Here::now();
        let draw = move || (0..1000).map(|_| here_and_now(here)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(draw)).collect();
        let mut all: Vec<u128> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
    }

    #[test]
    fn bids_of_one_moment_share_what_the_system_gave_and_nothing_else() {
        let here = Here::now();
        let mut all: Vec<u128> = (0..1000).flat_map(|_| bits_twice(here)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2000);
    }

    #[test]
    fn what_the_system_gave_is_used_by_no_other_process_and_not_for_long() {
        let here = Here::now();
        let mut drawn = Drawn::NOTHING;
        let first = drawn.next(here);
        let later = |nanos| Here {
            now: here.now + nanos,
            ..here
        };
        assert_eq!(drawn.next(later(Drawn::BRIEFLY - 1)), first);
        let second = drawn.next(later(Drawn::BRIEFLY));
        assert_ne!(second, first);
        let process = here.process + 1;
        let forked = drawn.next(Here { process, ..here });
        assert!(forked != first && forked != second);
        // Nor before it gave it: a clock that was read earlier, on another thread.
        let mut drawn = Drawn::NOTHING;
        let late = drawn.next(later(10));
        assert_ne!(drawn.next(here), late);
    }

    #[test]
    fn a_change_anywhere_changes_everything() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut flipped = 0;
        for _ in 0..200 {
            let bits = rng.u128(..);
            for at in 0..128 {
                let other = mix(mix(bits ^ (1 << at)));
                flipped += (other ^ mix(mix(bits))).count_ones();
            }
        }
        // Half of the bits, as of a random number.
        let share = f64::from(flipped) / (200.0 * 128.0 * 128.0);
        assert!((0.49..0.51).contains(&share), "{share}");
    }
}
