//! Chance that no two processes share.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
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
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    // Random bits stay random whatever known ones are added to them.
    u128::from_ne_bytes(bytes) ^ here_and_now()
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
fn here_and_now() -> u128 {
    static FIRST: OnceLock<(Instant, SystemTime, String)> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let first = FIRST.get_or_init(|| (Instant::now(), SystemTime::now(), host::host_name()));
    let process = (std::process::id(), std::thread::current().id(), first);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let moment = (Instant::now(), SystemTime::now(), call);
    let mut digest = Digest(hmac_sha256::Hash::new());
    (host::address(), process, moment).hash(&mut digest);
    let digest = digest.0.finalize();
    let half = digest.first_chunk().expect("it has 32 bytes");
    u128::from_ne_bytes(*half)
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
        let draw = || (0..1000).map(|_| here_and_now()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(draw)).collect();
        let mut all: Vec<u128> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
    }
}
