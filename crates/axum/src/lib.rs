//! For services on [axum](https://docs.rs/axum): a gate that lets only the newest owner in, the
//! answer to "who leads", and readiness that means something.
//!
//! | you want | take |
//! | --- | --- |
//! | the token that a request carries | [`Token`], an extractor |
//! | to refuse owners whose time is over, before the handler | [`Fenced`], a layer; [`Admitted`] is its proof |
//! | the last word beside the write itself | `fence_in`, in your transaction (features `postgres` and `mysql`); `fenced_set` (feature `redis`) |
//! | `/leader`, `/readyz`, `/healthz` | [`Candidate`] |
//!
//! A request carries its token in the header `Fencing-Token`, as decimal digits. What becomes of
//! it:
//!
//! | request | answer |
//! | --- | --- |
//! | with a token not smaller than the highest seen for the resource | the handler's |
//! | without the header | `428 Precondition Required` |
//! | with two of them, or with something that is no token | `400 Bad Request` |
//! | with a smaller token | `409 Conflict`, and the newest in the body |
//! | while the highest seen cannot be asked or kept | `503 Service Unavailable`: when in doubt, none is admitted |
//!
//! ```
//! use axum::Router;
//! use axum::routing::put;
//! use tenure_axum::{Admitted, Fenced, InMemory};
//!
//! async fn write(admitted: Admitted, body: String) -> String {
//!     format!("{} is {body}, says {}", admitted.resource(), admitted.token())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let gate = Fenced::new("account:{id}", InMemory::default());
//! let app: Router = Router::new().route("/accounts/{id}", put(write).layer(gate));
//!
//! # use axum::{body::Body, http::Request};
//! # use tower::ServiceExt;
//! let send = |token: &str| {
//!     let request = Request::put("/accounts/7").header("Fencing-Token", token);
//!     app.clone().oneshot(request.body(Body::from("80")).unwrap())
//! };
//! assert_eq!(send("2048").await.unwrap().status(), 200);
//! assert_eq!(send("1024").await.unwrap().status(), 409); // an owner of before
//! # }
//! ```
//!
//! # What is checked where
//!
//! A gate decides before the handler. Whether that is enough depends on where the highest token is
//! kept and what the handler writes to:
//!
//! - [`InMemory`], and the resource is this process: enough. Requests for one resource take turns,
//!   so what an old owner began is over before a newer one is admitted.
//! - `InPostgres`, `InMySql` or `InRedis`: the gate spares work that would be in vain. Between it and the write a
//!   newer owner may come; so check again beside the write, with `fence_in` in the same
//!   transaction or with `fenced_set`. Both may use the resource of the gate.
//!
//! A token is no password: a client that may send one may send the largest there is, and shut all
//! others out. Put the gate behind what knows the clients. Tokens compare only within one mutex: a
//! resource belongs to one mutex.

mod admitted;
mod candidate;
mod fenced;
mod readiness;
mod refusal;
mod resource;
mod seen;
mod token;

pub use admitted::Admitted;
pub use candidate::{Candidate, Leader};
pub use fenced::{Fenced, FencedService};
pub use readiness::Readiness;
pub use refusal::Refusal;
#[cfg(feature = "mysql")]
pub use seen::mysql::InMySql;
#[cfg(feature = "postgres")]
pub use seen::postgres::InPostgres;
#[cfg(feature = "redis")]
pub use seen::redis::{InRedis, fenced_set};
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub use seen::sql::{FenceDatabase, fence_in};
pub use seen::{HighestSeen, memory::InMemory};
pub use token::{FENCING_TOKEN, Token};
