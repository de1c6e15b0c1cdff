//! What Tenure costs, measured beside what the stores cost without it.
//!
//! `cargo xtask bench` runs it; [docs/performance.md](https://github.com/tenure-rs/tenure/blob/main/docs/performance.md)
//! has the numbers of a run and says how to read them.
//!
//! Everything that is measured runs in [workers](worker): processes of their own, which take and
//! free [locks] of one kind when they are told to. The program itself starts the servers,
//! tells the workers what to do, in turns, and collects what they say.
//!
//! | folder | what it is |
//! | --- | --- |
//! | [`locks`] | Tenure's locks, the bare statements beside them, and peers, all behind one trait |
//! | [`worker`] | a process that takes and frees them, and how it is told |
//! | [`environment`] | the servers, and what they have used so far |
//! | [`rows`] | what is measured, one file each |
//! | [`report`] | medians, the judgement, and how both are shown |

pub mod args;
pub mod environment;
pub mod locks;
pub mod report;
pub mod rows;
pub mod worker;

/// Whatever went wrong: a benchmark only passes it on.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
