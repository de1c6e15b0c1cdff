//! What a peer does.

use std::io::{self, BufRead, Write as _};
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tenure::service::{ContendService, LocalContender};
use tenure::{Coordinator, Error, ErrorKind, Outcome, Result, Tenure};
use tokio::sync::mpsc;

use super::args::Args;
use super::churn::churn;
use super::journal::Journal;
use super::reentrant::hold;
use super::trouble::Troubles;
use super::twin::try_lock;

/// How often an owner notes that it owns.
const OBSERVE: Duration = Duration::from_millis(3);

type Service = ContendService<LocalContender>;

pub(super) enum Event {
    Acquired,
    Line(String),
    Input(io::Result<()>),
}

/// Runs a peer with these arguments until it is told to end; its exit status.
pub fn main(args: impl IntoIterator<Item = String>) -> i32 {
    // The harness of a test leaves its own line open.
    say("");
    let _ = tracing::subscriber::set_global_default(Troubles);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = runtime.map_err(internal).and_then(|runtime| {
        let args = Args::parse(args)?;
        runtime.block_on(run(args))
    });
    match done {
        Ok(()) => 0,
        Err(error) => {
            let source = std::error::Error::source(&error);
            let source = source.map_or_else(String::new, |source| format!(": {source}"));
            say(&format!("trouble {error}{source}"));
            1
        }
    }
}

/// Writes a line at once, past whatever the test harness does with output.
pub(super) fn say(line: &str) {
    let mut out = io::stdout().lock();
    // The reader may be gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

async fn run(args: Args) -> Result<()> {
    if let Some(names) = args.churn {
        return churn(&args, names).await;
    }
    let mut builder = Coordinator::builder();
    if let Some(terms) = args.terms {
        builder = builder.terms(terms);
    }
    if args.try_lock {
        return try_lock(builder, &args).await;
    }
    let coordinator = builder.connect(&args.url).await?;
    let (tell, mut events) = mpsc::unbounded_channel();
    if let Some(levels) = args.reentrant {
        listen(tell);
        say("ready");
        hold(&coordinator, &args, levels, events).await?;
        coordinator.close().await?;
        say("bye");
        return Ok(());
    }
    let service = service(&coordinator, &args, tell.clone())?;
    listen(tell);
    service.start()?;
    say("ready");
    let mut rounds = 0;
    while let Some(event) = events.recv().await {
        match event {
            Event::Acquired => {
                rounds += 1;
                let Some(hold) = args.hold else { continue };
                tokio::time::sleep(hold).await;
                stop(&service).await;
                if args.rounds == Some(rounds) {
                    break;
                }
                tokio::time::sleep(args.rest).await;
                service.start()?;
            }
            Event::Line(line) => match line.trim() {
                "stop" => stop(&service).await,
                "start" => service.start()?,
                "quit" => break,
                "" => {}
                other => say(&format!("trouble there is no command {other:?}")),
            },
            Event::Input(end) => {
                end.map_err(internal)?;
                break;
            }
        }
    }
    drop(service);
    coordinator.close().await?;
    say("bye");
    Ok(())
}

fn service(
    coordinator: &Coordinator,
    args: &Args,
    tell: mpsc::UnboundedSender<Event>,
) -> Result<Arc<Service>> {
    let shared: Arc<OnceLock<Weak<Service>>> = Arc::default();
    let of = Arc::clone(&shared);
    let journal = args.journal.clone();
    let mut contender = LocalContender::new(&args.name)?
        .on_acquired(move |_| {
            let service = of.get().and_then(Weak::upgrade);
            let tenure = service.and_then(|service| service.tenure());
            let Some((tenure, token)) = tenure.and_then(|t| t.token().ok().map(|token| (t, token)))
            else {
                return; // over before it was told: `released` follows
            };
            say(&format!(
                "acquired {token} {}",
                tenure.remaining().as_millis()
            ));
            keep_journal(journal.as_deref(), tenure);
            let _ = tell.send(Event::Acquired);
        })
        .on_released(|_| say("released"));
    if let Some(id) = &args.id {
        contender = contender.with_id(id)?;
    }
    let service = Arc::new(coordinator.contend_service(contender)?);
    let _ = shared.set(Arc::downgrade(&service));
    Ok(service)
}

/// Notes the tenure in `journal`, if there is one, from a thread of its own.
pub(super) fn keep_journal(journal: Option<&Path>, tenure: Tenure) {
    if let Some(journal) = journal {
        let journal = Journal::open(journal).expect("the journal can be opened");
        std::thread::spawn(move || keep(journal, &tenure));
    }
}

/// Notes the tenure for as long as it lasts.
fn keep(mut journal: Journal, tenure: &Tenure) {
    while journal.observe(tenure).expect("the journal can be written") {
        std::thread::sleep(OBSERVE);
    }
}

async fn stop(service: &Service) {
    match service.stop().await {
        Ok(()) => say("stopped"),
        Err(error) => say(&format!("stopped {error}")),
    }
}

pub(super) fn listen(tell: mpsc::UnboundedSender<Event>) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let event = match line {
                Ok(line) => Event::Line(line),
                Err(error) => Event::Input(Err(error)),
            };
            if tell.send(event).is_err() {
                return;
            }
        }
        let _ = tell.send(Event::Input(Ok(())));
    });
}

fn internal(error: io::Error) -> Error {
    Error::new(ErrorKind::Store, Outcome::DidNot)
        .with_message("the peer itself is in trouble")
        .with_source(error)
}
