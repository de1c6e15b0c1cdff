//! An owner in a virtual machine: paused by its hypervisor, restored from a
//! snapshot, copied.
//!
//! Not part of a normal run: `cargo xtask test --only machine`. QEMU is the
//! hypervisor, and Debian's kernel for clouds the guest's.

mod guest;
mod image;
mod kernel;
mod stories;

tenure_testkit::peer_process!();
