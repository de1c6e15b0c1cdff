//! What becomes of an owner whose machine does not know how late it is.

use std::time::{Duration, Instant};

use tenure::lock::Fence;
use tenure_testkit::peer::Peer;
use tenure_testkit::servers::Redis;

use crate::guest::{Guest, PATIENCE};
use crate::image::HOST;

const TERMS: [&str; 4] = ["--ttl", "12s", "--transition", "3s"];
const LEASE: Duration = Duration::from_secs(15);

/// How long after its clock was set right an owner may take to say that it has
/// lost: the guest's processor is computed, by one that others use as well.
const AT_ONCE: Duration = Duration::from_secs(4);

fn guest(redis: &Redis) -> Guest {
    let url = format!("redis://{HOST}:{}", redis.port());
    let mut args = vec![&*url, "m", "--journal", "/journal"];
    args.extend(TERMS);
    Guest::boot(&args)
}

/// Another process, on the host, that owns from when the lease is over.
fn heir(redis: &Redis) -> Peer {
    let url = format!("redis://{}", redis.address());
    let heir = Peer::contending(&url, "m").option(TERMS[0], TERMS[1]);
    heir.option(TERMS[2], TERMS[3]).spawn()
}

/// The owner in `guest` has slept through the end of its lease: it believes
/// until its wall clock is right, and not for a moment longer.
fn dies_when_its_clock_is_right(guest: &mut Guest) {
    let woken_at = Instant::now();
    assert!(guest.believes(), "its clocks have not counted that time");
    let believed = woken_at.elapsed();
    let set_at = guest.set_clock_right();
    let took = guest.wait_released().saturating_duration_since(set_at);
    assert!(took < AT_ONCE, "{took:?} after its clock was set right");
    println!(
        "believed for {believed:.3?} beside another, lost {took:.3?} after its clock was right"
    );
}

#[test]
fn a_paused_machine_believes_until_its_clock_is_right() {
    let redis = Redis::start().unwrap();
    let mut guest = guest(&redis);
    let ours = guest.wait_acquired();
    guest.pause();
    let mut heir = heir(&redis);
    let theirs = heir.wait_acquired(PATIENCE).token;
    // A resource that looks at tokens is safe all the while.
    assert!(Fence::starting_at(theirs).admit(ours).is_err());
    guest.resume();
    dies_when_its_clock_is_right(&mut guest);
    heir.quit(PATIENCE);
    assert!(guest.wait_acquired() > theirs, "it contends again");
}

#[test]
fn a_machine_whose_clock_nobody_sets_learns_of_it_at_its_next_renewal() {
    let redis = Redis::start().unwrap();
    let mut guest = guest(&redis);
    guest.wait_acquired();
    guest.pause();
    let mut heir = heir(&redis);
    heir.wait_acquired(PATIENCE);
    guest.resume();
    let resumed_at = Instant::now();
    assert!(guest.believes(), "its clocks have not counted that time");
    let took = guest.wait_released().saturating_duration_since(resumed_at);
    assert!(took < LEASE, "{took:?}, and a lease at most");
    println!("lost {took:.3?} after it went on");
    heir.quit(PATIENCE);
}

#[test]
fn a_restored_machine_believes_until_its_clock_is_right() {
    let redis = Redis::start().unwrap();
    let mut guest = guest(&redis);
    let ours = guest.wait_acquired();
    let snapshot = guest.snapshot();
    let mut heir = heir(&redis);
    let theirs = heir.wait_acquired(PATIENCE).token;
    assert!(Fence::starting_at(theirs).admit(ours).is_err());
    let mut restored = Guest::restored(&snapshot);
    dies_when_its_clock_is_right(&mut restored);
    heir.quit(PATIENCE);
    assert!(restored.wait_acquired() > theirs, "it contends again");
}

/// What no lock can see: one owner has become two, which know the same. Both
/// renew the one grant, and no token tells them apart.
#[test]
fn a_copy_of_a_machine_owns_beside_it_until_its_clock_is_right() {
    let redis = Redis::start().unwrap();
    let mut guest = guest(&redis);
    let ours = guest.wait_acquired();
    let snapshot = guest.snapshot();
    guest.resume();
    let mut copy = Guest::restored(&snapshot);
    let copied_at = Instant::now();
    std::thread::sleep(LEASE);
    assert!(guest.believes() && copy.believes(), "both renew");
    println!("two under one token for {:.3?}", copied_at.elapsed());
    // The copy loses, gives back what it takes for its own, and wins anew.
    copy.set_clock_right();
    copy.wait_released();
    let theirs = copy.wait_acquired();
    // The original learns of it at its next renewal. Here tokens help.
    assert!(Fence::starting_at(theirs).admit(ours).is_err());
    let won_at = Instant::now();
    let took = guest.wait_released().saturating_duration_since(won_at);
    assert!(took < LEASE, "{took:?}, and a lease at most");
    println!("and under two for {took:.3?}");
}
