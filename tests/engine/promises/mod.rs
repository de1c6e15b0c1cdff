//! The ten promises of docs/guarantees.md, a file each or two.

mod p01_one_clock;
mod p02_loss_is_local;
mod p03_the_transition_is_for_retrying;
mod p04_renewal_is_by_grant;
mod p05_tokens_rise;
mod p06_quiesce_then_release;
mod p07_cancel_safe;
mod p08_hints_are_hints;
mod p09_callbacks_cannot_hurt;
mod p10_release_is_stubborn;
