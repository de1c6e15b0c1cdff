//! The callback chain: implement [`Contender`] or [`Retriever`], and a service
//! calls you when ownership changes.
//!
//! A service has a life: [`Status::Initial`] → `Starting` → `Running` →
//! `Stopping` → `Initial`, and can be started again. Callbacks come in order,
//! one at a time, on a blocking thread: one that is slow or panics delays only
//! its own service's callbacks, never a renewal, never the news of a loss.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> tenure::Result<()> {
//! use tenure::Coordinator;
//! use tenure::service::LocalContender;
//!
//! let coordinator = Coordinator::connect("memory:").await?;
//! let (tell, told) = std::sync::mpsc::channel();
//! let contender = LocalContender::new("order-settlement")?
//!     .on_acquired(move |_state| tell.send("acquired").unwrap());
//! let service = coordinator.contend_service(contender)?;
//! service.start()?;
//! # let told = tokio::task::spawn_blocking(move || told.recv().unwrap());
//! # let told = told.await.unwrap();
//! assert_eq!(told, "acquired");
//! service.stop().await?; // on_released, then the store is told
//! coordinator.close().await?;
//! # Ok(())
//! # }
//! ```

mod contend;
mod contender;
mod local;
mod retrieval;
mod retriever;
mod status;

pub use contend::ContendService;
pub use contender::{Contender, route};
pub use local::LocalContender;
pub use retrieval::RetrievalService;
pub use retriever::Retriever;
pub use status::Status;
