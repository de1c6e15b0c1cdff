//! A blip shorter than the window changes nothing; a longer one is lost before
//! another can win.

use std::time::Duration;

use tenure::model::LeaseTerms;
use tenure_testkit::fault::{Call, Fault};

use crate::support::{World, millis, secs};

async fn survives(terms: LeaseTerms, blip: Duration, fault: Fault) -> bool {
    let world = World::with_terms(terms);
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    world.pass(terms.renew_after() - millis(1)).await;
    faults.always(Call::Renew, fault);
    world.pass(blip).await;
    faults.heal();
    world.pass(secs(60)).await;
    !guard.is_lost()
}

#[tokio::test(start_paused = true)]
async fn a_blip_within_the_window_changes_nothing() {
    let long = LeaseTerms::default();
    let bare = LeaseTerms::new(secs(9), Duration::ZERO).unwrap();
    for fault in [
        Fault::Fail,
        Fault::LoseRequest,
        Fault::LoseAnswer,
        Fault::Hang,
    ] {
        assert!(
            survives(long, secs(4), fault).await,
            "transition of 6 s, {fault:?}"
        );
        assert!(
            survives(bare, secs(2), fault).await,
            "no transition, {fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_longer_one_is_a_loss() {
    assert!(!survives(LeaseTerms::default(), secs(8), Fault::Fail).await);
    let bare = LeaseTerms::new(secs(9), Duration::ZERO).unwrap();
    assert!(!survives(bare, secs(4), Fault::Hang).await);
}

#[tokio::test(start_paused = true)]
async fn the_loss_comes_strictly_before_another_can_win() {
    for fault in [Fault::Fail, Fault::Hang, Fault::LoseAnswer] {
        let world = World::new();
        let (owner, faults) = world.process();
        let guard = owner.lock("m").unwrap().acquire().await.unwrap();
        faults.always(Call::Renew, fault);
        let (other, _) = world.process();
        let lock = other.lock("m").unwrap();
        let mut winning = tokio::spawn(async move { lock.acquire().await.unwrap() });
        tokio::select! {
            biased;
            _ = &mut winning => panic!("{fault:?}: another won before the loss"),
            _ = guard.lost() => {}
        }
        drop(winning.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_renewal_leaves_room_for_several_more() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    faults.always(Call::Renew, Fault::Hang);
    guard.lost().await;
    let tries = faults.calls(Call::Renew);
    assert!(tries >= 5, "{tries} tries in the window");
    assert!(tries <= 40, "{tries} tries: that is a storm");
}
