//! What a candidate answers: `/leader`, `/readyz`, `/healthz`.

#[allow(dead_code)] // of the gates
mod shared;

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use shared::send;
use tenure::{CampaignEvent, Coordinator, Elector, Leadership};
use tenure_axum::{Candidate, Readiness};
use tenure_testkit::Fleet;
use tenure_testkit::fault::{Call, Fault};

async fn ask(app: &Router, path: &str) -> (u16, String) {
    let (status, body) = send(app, Request::get(path).body(Body::empty()).unwrap()).await;
    (status.as_u16(), body)
}

/// Waits, on virtual time, until the answer is this one.
async fn until(app: &Router, path: &str, wanted: &str) {
    for _ in 0..600 {
        if ask(app, path).await.1 == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:?} is not {wanted:?}", ask(app, path).await);
}

/// Stands for ever, and holds every office it wins.
fn stand(elector: &Elector) -> tokio::task::JoinHandle<()> {
    let mut campaign = elector.campaign().unwrap();
    tokio::spawn(async move {
        let mut office: Option<Leadership> = None;
        while let Some(event) = campaign.next().await {
            match event {
                CampaignEvent::Elected(won) => office = Some(won),
                CampaignEvent::Deposed(_) => drop(office.take()),
                _ => {}
            }
        }
    })
}

/// What an elector that leads under this id answers.
fn leads(elector: &Elector, id: &str) -> String {
    let token = elector.tenure().unwrap().token().unwrap();
    format!(r#"{{"name":"billing","leader":"{id}","leading":true,"token":"{token}"}}"#)
}

fn routes(coordinator: &Coordinator, elector: &Elector) -> Router {
    Candidate::new(coordinator, elector).unwrap().routes()
}

#[tokio::test(start_paused = true)]
async fn the_leader_is_told_as_the_program_tells_it() {
    let fleet = Fleet::new();
    let (here, there) = (fleet.process().unwrap(), fleet.process().unwrap());
    let named = |process: &tenure_testkit::Process, id: &str| {
        let elector = process.coordinator().elector("billing").unwrap();
        elector.with_id(id.parse().unwrap())
    };
    let (ours, theirs) = (named(&here, "here"), named(&there, "there"));
    let (app, their_app) = (
        routes(here.coordinator(), &ours),
        routes(there.coordinator(), &theirs),
    );
    let empty = r#"{"name":"billing","leader":null,"leading":false,"token":null}"#;
    assert_eq!(ask(&app, "/leader").await, (200, empty.to_owned()));

    let _ours = stand(&ours);
    until(&app, "/readyz", "leading\n").await;
    assert_eq!(ask(&app, "/leader").await, (200, leads(&ours, "here")));
    let waits = r#"{"name":"billing","leader":"here","leading":false,"token":null}"#;
    until(&their_app, "/leader", waits).await;

    // Cut off, it knows by its own clock, and the other one follows.
    let _theirs = stand(&theirs);
    here.cut_off();
    until(&their_app, "/readyz", "leading\n").await;
    assert_eq!(
        ask(&their_app, "/leader").await,
        (200, leads(&theirs, "there"))
    );
    assert!(!ours.is_leading());
    let (_, body) = ask(&app, "/leader").await;
    assert!(body.ends_with(r#""leading":false,"token":null}"#), "{body}");
    here.reconnect();
    let waits = r#"{"name":"billing","leader":"there","leading":false,"token":null}"#;
    until(&app, "/leader", waits).await;
}

#[tokio::test(start_paused = true)]
async fn ready_is_who_leads_or_can_follow() {
    let fleet = Fleet::new();
    let (here, there) = (fleet.process().unwrap(), fleet.process().unwrap());
    let ours = here.coordinator().elector("billing").unwrap();
    let theirs = there.coordinator().elector("billing").unwrap();
    let app = routes(here.coordinator(), &ours);
    assert_eq!(ask(&app, "/healthz").await, (200, "ok\n".to_owned()));
    let nobody = (503, "nobody here stands for billing\n".to_owned());
    assert_eq!(ask(&app, "/readyz").await, nobody);

    let _theirs = stand(&theirs);
    let their_app = routes(there.coordinator(), &theirs);
    until(&their_app, "/readyz", "leading\n").await;
    let standing = stand(&ours);
    assert_eq!(ask(&app, "/readyz").await, (200, "waiting\n".to_owned()));

    here.cut_off();
    let (status, why) = ask(&app, "/readyz").await;
    assert_eq!(status, 503, "{why}");
    assert!(why.starts_with("the store"), "{why}");
    here.reconnect();
    assert_eq!(ask(&app, "/readyz").await, (200, "waiting\n".to_owned()));

    // Who leads is ready while its lease lasts, and no longer.
    there.cut_off();
    assert_eq!(ask(&their_app, "/readyz").await.0, 200);
    until(&app, "/readyz", "leading\n").await;
    assert_eq!(ask(&their_app, "/readyz").await.0, 503);

    standing.abort();
    assert!(standing.await.is_err());
    assert_eq!(ask(&app, "/readyz").await, nobody);
    assert_eq!(ask(&app, "/healthz").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_in_time_is_named() {
    let fleet = Fleet::new();
    let (here, there) = (fleet.process().unwrap(), fleet.process().unwrap());
    let _guard = there.coordinator().lock("billing").unwrap().acquire().await;
    let elector = here.coordinator().elector("billing").unwrap();
    let _campaign = elector.campaign().unwrap();
    let candidate = Candidate::new(here.coordinator(), &elector).unwrap();
    let candidate = candidate.with_limit(Duration::from_millis(100));
    assert_eq!(candidate.readiness().await, Readiness::Waiting);
    here.faults().always(Call::Owner, Fault::Hang);
    let silent = Readiness::NotReady("the store has not answered in 100ms".into());
    assert_eq!(candidate.readiness().await, silent);
    here.coordinator().close().await.unwrap();
    let closed = candidate.readiness().await;
    assert!(matches!(closed, Readiness::NotReady(_)), "{closed:?}");
}
