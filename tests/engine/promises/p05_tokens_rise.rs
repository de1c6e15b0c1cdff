//! Every tenure has a larger token than all before it.

use tenure_testkit::fault::{Call, Fault};

use crate::support::{World, secs};

#[tokio::test(start_paused = true)]
async fn over_releases_losses_and_processes() {
    let world = World::new();
    let mut tokens = Vec::new();
    for round in 0..20 {
        let (process, faults) = world.process();
        let guard = process.lock("m").unwrap().acquire().await.unwrap();
        tokens.push(guard.token().unwrap());
        match round % 3 {
            0 => guard.release().await.unwrap(),
            1 => drop(guard),
            _ => {
                faults.always(Call::Renew, Fault::Fail);
                guard.lost().await;
                world.pass(secs(1)).await;
            }
        }
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_keeps_the_token() {
    let world = World::new();
    let (process, faults) = world.process();
    let guard = process.lock("m").unwrap().acquire().await.unwrap();
    let token = guard.token().unwrap();
    world.pass(secs(100)).await;
    assert!(faults.calls(Call::Renew) >= 9);
    assert_eq!(guard.token().unwrap(), token);
    assert_eq!(world.owner("m").await.token(), Some(token));
}
