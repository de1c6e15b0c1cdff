//! Taking a reentrant lock again and again, some levels deep.

use tenure::lock::ReentrantOptions;
use tenure::{Coordinator, Holder, Result};
use tokio::sync::mpsc::UnboundedReceiver;

use super::args::Args;
use super::program::{Event, keep_journal, say};

/// Holds the lock `levels` deep, for a while each time, until it is told to
/// end.
pub(super) async fn hold(
    coordinator: &Coordinator,
    args: &Args,
    levels: u64,
    mut events: UnboundedReceiver<Event>,
) -> Result<()> {
    let mut options = ReentrantOptions::default();
    if let Some(terms) = args.terms {
        options = options.with_expiry(terms.lease());
    }
    let lock = coordinator.reentrant_lock_with(&args.name, options)?;
    let lock = lock.held_by(&Holder::new("peer"));
    let rounds = async {
        loop {
            if let Err(error) = turn(&lock, args, levels).await {
                say(&format!("trouble {error}"));
            }
            tokio::time::sleep(args.rest).await;
        }
    };
    let told = async {
        while let Some(event) = events.recv().await {
            match event {
                Event::Line(line) if line.trim() != "quit" => {}
                _ => return,
            }
        }
    };
    tokio::select! {
        () = rounds => Ok(()),
        () = told => Ok(()),
    }
}

async fn turn(lock: &tenure::ReentrantLock, args: &Args, levels: u64) -> Result<()> {
    let outer = lock.acquire().await?;
    let (token, left) = (outer.token()?, outer.remaining().as_millis());
    say(&format!("acquired {token} {left}"));
    keep_journal(args.journal.as_deref(), outer.tenure().clone());
    let mut nested = Vec::new();
    for _ in 1..levels {
        nested.push(lock.acquire().await?);
    }
    if let Some(hold) = args.hold {
        // A holder that is stopped for too long finds out here.
        let _ = outer.protect(tokio::time::sleep(hold)).await;
    }
    drop(nested);
    drop(outer);
    say("released");
    Ok(())
}
