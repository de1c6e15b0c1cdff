//! Freeing by force, and all that stands before it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tenure::Coordinator;
use tenure::clock::Clock;
use tenure::model::LeaseTerms;
use tenure::stores::memory::Memory;
use tenure_dashboard::site::DashboardOptions;
use tenure_testkit::fault::{Call, Fault, FaultBackend, Faults};

use crate::support::{Reply, Server};

const PATH: &str = "/api/v1/mutexes/m/revoke";
const MARK: (&str, &str) = ("x-tenure-request", "1");
const JSON: (&str, &str) = ("content-type", "application/json");

async fn revoke(server: &Server, headers: &[(&str, &str)], body: &Value) -> Reply {
    server.ask("POST", PATH, headers, &body.to_string()).await
}

#[tokio::test]
async fn without_the_flag_nothing_is_freed() {
    let server = Server::start().await;
    let guard = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let body = json!({ "confirm": "m", "token": guard.token().unwrap() });
    let reply = revoke(&server, &[MARK, JSON], &body).await;
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("--allow-revoke"), "{reply:?}");
    assert!(server.coordinator.owner("m").await.unwrap().is_some());
}

#[tokio::test]
async fn every_door_must_be_open() {
    let server = Server::with(DashboardOptions::default().allow_revoke(true)).await;
    let guard = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let token = guard.token().unwrap();
    let good = json!({ "confirm": "m", "token": token });
    let here = format!("http://{}", server.address);
    let evil = ("origin", "http://evil.example");
    let port = ("origin", "http://127.0.0.1:1");
    let cross = ("sec-fetch-site", "cross-site");
    let same_site = ("sec-fetch-site", "same-site");
    for headers in [
        &[JSON][..],
        &[JSON, ("x-tenure-request", "0")],
        &[MARK, JSON, evil],
        &[MARK, JSON, port],
        &[MARK, JSON, ("origin", "null")],
        &[MARK, JSON, cross],
        &[MARK, JSON, same_site],
        &[MARK, JSON, ("origin", &here), cross],
    ] {
        assert_eq!(
            revoke(&server, headers, &good).await.status,
            403,
            "{headers:?}"
        );
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let reply = revoke(&server, &[MARK, ("content-type", kind)], &good).await;
        assert_eq!(reply.status, 415, "{kind}");
    }
    assert_eq!(revoke(&server, &[MARK], &good).await.status, 415);
    for (status, body) in [
        (400, json!({})),
        (400, json!({ "token": token })),
        (400, json!({ "confirm": "M", "token": token })),
        (400, json!({ "confirm": "m ", "token": token })),
        (400, json!({ "confirm": "", "token": token })),
        (400, json!({ "confirm": "m", "token": 7 })),
        (400, json!({ "confirm": "m", "token": "-7" })),
        (
            400,
            json!({ "confirm": "m", "token": token, "force": true }),
        ),
        (400, json!([1])),
        (409, json!({ "confirm": "m", "token": null })),
        (409, json!({ "confirm": "m", "token": null, "owner": "x" })),
        (409, json!({ "confirm": "m", "token": "1024" })),
        (
            413,
            json!({ "confirm": "m", "token": token, "owner": "x".repeat(9_000) }),
        ),
    ] {
        let reply = revoke(&server, &[MARK, JSON], &body).await;
        assert_eq!(reply.status, status, "{body}: {reply:?}");
    }
    assert_eq!(server.get(PATH).await.status, 405, "a link or an image");
    let owner = server.coordinator.owner("m").await.unwrap().unwrap();
    assert_eq!(owner.token(), Some(token), "it is still owned");
    let other = "/api/v1/mutexes/n/revoke";
    let reply = server
        .ask("POST", other, &[MARK, JSON], &good.to_string())
        .await;
    assert_eq!(reply.status, 400, "confirmed is another name");
    let all = [
        MARK,
        JSON,
        ("origin", here.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let done = revoke(&server, &all, &good).await;
    assert_eq!((done.status, &done.json()["revoked"]), (200, &true.into()));
    assert_eq!(done.json()["token"], token.to_string());
    assert!(server.coordinator.owner("m").await.unwrap().is_none());
    let again = revoke(&server, &all, &good).await;
    assert_eq!(
        (again.status, &again.json()["revoked"]),
        (200, &false.into())
    );
}

#[tokio::test]
async fn an_owner_that_came_meanwhile_is_left_alone_and_all_is_logged() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&log);
    let options = DashboardOptions::default().allow_revoke(true);
    let options = options.log(move |text| told.lock().unwrap().push(text.to_owned()));
    let server = Server::with(options).await;
    let first = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let stale = json!({ "confirm": "m", "token": first.token().unwrap() });
    first.release().await.unwrap();
    let second = server
        .coordinator
        .lock("m")
        .unwrap()
        .acquire()
        .await
        .unwrap();
    assert_eq!(revoke(&server, &[MARK, JSON], &stale).await.status, 409);
    assert!(server.coordinator.owner("m").await.unwrap().is_some());
    let fresh = json!({ "confirm": "m", "token": second.token().unwrap() });
    assert_eq!(revoke(&server, &[MARK, JSON], &fresh).await.status, 200);
    let log = log.lock().unwrap();
    let [refused, begun, freed] = log.as_slice() else {
        panic!("{log:?}")
    };
    assert!(begun.contains("is freeing \"m\" by force"), "{begun}");
    assert!(
        refused.contains("127.0.0.1:") && refused.contains("not freed \"m\""),
        "{refused}"
    );
    let token = second.token();
    assert!(
        freed.contains("has freed \"m\" by force from"),
        "{freed} {token:?}"
    );
}

#[tokio::test]
async fn what_may_have_been_freed_is_not_told_as_left_alone() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&log);
    let options = DashboardOptions::default().allow_revoke(true);
    let options = options.log(move |text| told.lock().unwrap().push(text.to_owned()));
    let faults = Faults::new(Clock::boot());
    let backend = FaultBackend::new(Memory::new(), &faults);
    let coordinator = Coordinator::with_backend(backend, LeaseTerms::default()).unwrap();
    let server = Server::of(coordinator, options).await;
    let lock = server.coordinator.lock("m").unwrap();
    let guard = lock.acquire().await.unwrap();
    let body = json!({ "confirm": "m", "token": guard.token().unwrap() });
    faults.always(Call::Revoke, Fault::Fail);
    assert_eq!(revoke(&server, &[MARK, JSON], &body).await.status, 503);
    faults.always(Call::Revoke, Fault::LoseAnswer);
    let reply = revoke(&server, &[MARK, JSON], &body).await;
    assert_eq!(reply.status, 504, "{reply:?}");
    assert!(reply.body.contains("may have been revoked"), "{reply:?}");
    let log = log.lock().unwrap();
    assert!(log[1].contains("has not freed"), "{log:?}");
    assert!(log[3].contains("may have freed \"m\""), "{log:?}");
}
