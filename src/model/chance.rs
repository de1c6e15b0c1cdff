//! Chance that no two processes share.

/// 128 bits from the operating system.
///
/// Asked for each time, and kept nowhere: what a process keeps, its fork has
/// too, and an id or a nonce that two processes make is no identity.
///
/// # Panics
/// When the operating system has no chance to give; nothing that must be unique
/// can be made then.
pub(crate) fn bits() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    u128::from_ne_bytes(bytes)
}

/// A random UUID.
pub(crate) fn uuid() -> uuid::Uuid {
    uuid::Builder::from_random_bytes(bits().to_ne_bytes()).into_uuid()
}
