//! Trying a lock under an id that others make too.

use tenure::CoordinatorBuilder;
use tenure::Result;
use tenure::model::{ContenderId, ContenderIdGenerator, Uuid};
use tokio::sync::mpsc;

use super::args::Args;
use super::program::{listen, say};

/// The same id again and again, as a constant or a host name would be.
#[derive(Debug)]
struct Constant(ContenderId);

impl ContenderIdGenerator for Constant {
    fn generate(&self) -> Result<ContenderId> {
        Ok(self.0.clone())
    }
}

/// Says `acquired` or `refused`, and keeps what it has until it is told to end.
pub(super) async fn try_lock(builder: CoordinatorBuilder, args: &Args) -> Result<()> {
    let builder = match &args.id {
        Some(id) => builder.ids(Constant(ContenderId::new(id)?)),
        None => builder.ids(Uuid),
    };
    let coordinator = builder.connect(&args.url).await?;
    let guard = coordinator.lock(&args.name)?.try_acquire().await?;
    match &guard {
        Some(guard) => say(&format!(
            "acquired {} {}",
            guard.token()?,
            guard.tenure().remaining().as_millis()
        )),
        None => say("refused"),
    }
    say("tried");
    let (tell, mut events) = mpsc::unbounded_channel();
    listen(tell);
    // Whatever it is told: it ends.
    let _ = events.recv().await;
    if let Some(guard) = guard {
        guard.release().await?;
    }
    coordinator.close().await?;
    say("bye");
    Ok(())
}
