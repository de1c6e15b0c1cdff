//! Chance that no two processes share.

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
    from_system() ^ here_and_now(std::process::id())
}

/// The same twice by one question to the system, for a process whose id is known.
pub(crate) fn bits_twice(process: u32) -> [u128; 2] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    let here_and_now = here_and_now(process);
    let (one, other) = bytes.split_at(16);
    let random = |half: &[u8]| u128::from_ne_bytes(half.try_into().expect("it has 16 bytes"));
    [
        random(one) ^ here_and_now,
        random(other) ^ mix(here_and_now),
    ]
}

fn from_system() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    u128::from_ne_bytes(bytes)
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
fn here_and_now(process: u32) -> u128 {
    static BEGINNING: LazyLock<(u128, Instant)> = LazyLock::new(beginning);
    static CALLS: AtomicU64 = AtomicU64::new(0);
    // What is copied with a process is hashed once. What its copy has
    // otherwise is asked for at each call, and added so that two calls which
    // differ in one of it never make the same.
    let call = u128::from(CALLS.fetch_add(1, Ordering::Relaxed)) << 64;
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    [
        call | u128::from(process),
        BEGINNING.1.elapsed().as_nanos(),
        since_epoch.map_or(0, |time| time.as_nanos()),
    ]
    .into_iter()
    .fold(BEGINNING.0, |mixed, part| mix(mixed ^ part))
}

/// What tells where and when this process first asked, and when that was.
fn beginning() -> (u128, Instant) {
    let first = Instant::now();
    let process = (std::process::id(), std::thread::current().id());
    let place = (host::address(), host::host_name());
    let mut digest = Digest(hmac_sha256::Hash::new());
    (place, process, first, SystemTime::now()).hash(&mut digest);
    let digest = digest.0.finalize();
    let half = digest.first_chunk().expect("it has 32 bytes");
    (u128::from_ne_bytes(*half), first)
}

/// Another number for each number, in which every bit depends on all.
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
        let process = std::process::id();
        let draw = move || (0..1000).map(|_| here_and_now(process)).collect::<Vec<_>>();
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
