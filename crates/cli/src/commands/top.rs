//! `tenure top`: who owns what, live on a terminal.
//!
//! Looking and drawing go their own ways: the store is asked again and again,
//! however long it takes, and meanwhile keys are heard and times go on.

mod controls;
mod details;
mod draw;
mod history;
mod kinds;
mod order;
mod picture;

use std::convert::Infallible;
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::Coordinator;
use tenure::model::MutexName;
use tenure_dashboard::looks::{Answer, Looks};
use tokio::sync::mpsc;

use kinds::Kinds;
use picture::Picture;

use crate::args::Top;
use crate::config::Settings;
use crate::exit::{self, Failure};
use crate::output::{Format, Voice};
use crate::signals::Signals;
use crate::store;
use crate::view::{Keys, Palette, Screen};

/// How often the store is asked, if it answers fast.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is asked which mutexes are more than that: a walk through all
/// of the store again, for what seldom changes.
const KINDS: Duration = Duration::from_secs(5);
/// How often the view is drawn: times go on between two looks.
const FRAME: Duration = Duration::from_millis(100);

/// What looking tells.
enum News {
    /// What the store told, and how long it took.
    Rows(Answer, Duration),
    Kinds(Kinds),
}

/// What `tenure top` was asked for.
pub(super) async fn asked(
    top: &Top,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    // Also those that only others can contend for.
    let names: Vec<MutexName> = top.names.iter().map(MutexName::found).collect();
    self::top("top", &names, settings, voice).await
}

/// The view, under whatever `command` asked for it.
pub(super) async fn top(
    command: &str,
    names: &[MutexName],
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    if settings.output == Format::Json || !Screen::is_there() {
        return Err(Failure::usage(format!(
            "{command} needs a terminal: for a program, use tenure watch NAME… --output json"
        )));
    }
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("listen to signals", &error))?;
    let coordinator = tokio::select! {
        opened = store::open(settings, voice) => opened?,
        signal = signals.end() => return Ok(exit::by_signal(signal.as_raw())),
    };
    let screen = Screen::take().map_err(|error| Failure::system("take the screen", &error))?;
    let ended = tokio::select! {
        // Without a failure it was asked to quit: an end as it should be.
        shown = show(screen, names, &coordinator) => shown.map(|()| ExitCode::SUCCESS),
        signal = signals.end() => Ok(exit::by_signal(signal.as_raw())),
    };
    let _ = coordinator.close().await;
    ended
}

/// Shows it until the user asks for the end, or looking again cannot help.
async fn show(
    mut screen: Screen,
    names: &[MutexName],
    coordinator: &Coordinator,
) -> Result<(), Failure> {
    let palette = Palette::new();
    let terms = coordinator.terms();
    let lease = terms.ttl() + terms.transition();
    let mut picture = Picture::new(coordinator.profile().scheme, lease);
    let mut keys = Keys::listen();
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut looking = pin!(async {
        let rows = look(names, coordinator, &tell);
        let kinds = look_at_kinds(names, coordinator, &tell);
        tokio::select! {
            never = rows => never,
            never = kinds => never,
        }
    });
    loop {
        // A screen that went away ends nothing: a signal does, if any.
        let _ = screen.draw(|frame| draw::draw(frame, &mut picture, palette));
        tokio::select! {
            biased;
            key = keys.next() => {
                if picture.hear(key).is_break() {
                    return Ok(());
                }
            }
            Some(news) = told.recv() => match news {
                News::Rows(answer, took) => picture.hear_of(answer, took, Instant::now())?,
                News::Kinds(kinds) => picture.kinds = kinds,
            },
            never = &mut looking => match never {},
            () = tokio::time::sleep(FRAME) => {}
        }
    }
}

/// Looks again and again, and leaves the store in peace for as long as a look
/// took.
async fn look(
    names: &[MutexName],
    coordinator: &Coordinator,
    tell: &mpsc::UnboundedSender<News>,
) -> Infallible {
    let mut looks = Looks::at(names);
    loop {
        let begun = Instant::now();
        let answer = looks.rows(coordinator).await;
        let took = begun.elapsed();
        let _ = tell.send(News::Rows(answer, took));
        tokio::time::sleep(took.max(LOOK)).await;
    }
}

async fn look_at_kinds(
    names: &[MutexName],
    coordinator: &Coordinator,
    tell: &mpsc::UnboundedSender<News>,
) -> Infallible {
    let mut kinds = Kinds::default();
    loop {
        kinds = kinds.look(coordinator, names).await;
        let _ = tell.send(News::Kinds(kinds.clone()));
        tokio::time::sleep(KINDS).await;
    }
}
