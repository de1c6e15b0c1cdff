//! Trouble with the store, as a person wants to hear of it: once, again when it
//! is another, and once when it is over; never a line for every try.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use tenure::{Coordinator, Doing, Error, Retry, Trouble, TroubleNews, Troubles};

use crate::exit::{Failure, told};
use crate::output::Voice;

/// The most that is said of one time of trouble: some errors never read alike.
const MOST: usize = 20;

/// What has been said of a time of trouble.
#[derive(Debug, Default)]
pub(crate) struct Spell {
    said: BTreeSet<String>,
}

impl Spell {
    /// What to say of this error, if it is news.
    pub(crate) fn news(&mut self, error: &Error) -> Option<String> {
        let text = bare(error);
        // Only the numbers differ: how long was waited, which port it was.
        let alike = text.replace(|c: char| c.is_ascii_digit(), "");
        let is_news = self.said.len() < MOST && self.said.insert(alike);
        is_news.then_some(text)
    }

    /// It is over; whether anything was said that can be taken back.
    pub(crate) fn is_over(&mut self) -> bool {
        !std::mem::take(&mut self.said).is_empty()
    }
}

/// The error and its causes, without whom it was about: several may suffer
/// from the same.
fn bare(error: &Error) -> String {
    let about = match (error.mutex(), error.contender()) {
        (Some(mutex), Some(contender)) => format!(" (mutex {mutex:?}, contender {contender:?})"),
        (Some(mutex), None) => format!(" (mutex {mutex:?})"),
        (None, Some(contender)) => format!(" (contender {contender:?})"),
        (None, None) => return told(error),
    };
    told(error).replacen(&about, "", 1)
}

/// What follows from a word about trouble.
#[derive(Debug)]
enum Heard {
    Nothing,
    Trouble(String),
    Well,
    Hopeless(Failure),
}

/// The troubles of a time, and what has been said of them.
#[derive(Debug)]
struct Tale {
    spell: Spell,
    /// Who is in trouble, and whether trying again cannot help.
    open: BTreeMap<u64, bool>,
    /// How many of them must be beyond help to give up.
    all: usize,
}

impl Tale {
    fn hear(&mut self, source: u64, news: &TroubleNews, may_end: impl Fn() -> bool) -> Heard {
        let error = match news {
            TroubleNews::Failed(error) => error,
            TroubleNews::Well => {
                self.open.remove(&source);
                let is_well = self.open.is_empty() && self.spell.is_over();
                return if is_well { Heard::Well } else { Heard::Nothing };
            }
            // It is not known whether it would go well by now.
            _ => {
                self.open.remove(&source);
                return Heard::Nothing;
            }
        };
        let is_hopeless = error.retry() == Retry::Never;
        self.open.insert(source, is_hopeless);
        let hopeless = self.open.values().filter(|is_hopeless| **is_hopeless);
        if is_hopeless && hopeless.count() >= self.all && may_end() {
            return Heard::Hopeless(error.clone().into());
        }
        match self.spell.news(error) {
            Some(text) => Heard::Trouble(text),
            None => Heard::Nothing,
        }
    }
}

/// What goes wrong in a coordinator, said in good time.
#[derive(Debug)]
pub(crate) struct Complaints<'a> {
    voice: &'a Voice,
    troubles: Troubles,
    tale: Tale,
}

impl<'a> Complaints<'a> {
    /// Of one who gives up, if at all, when as many things as this are beyond
    /// help.
    pub(crate) fn about(coordinator: &Coordinator, all: usize, voice: &'a Voice) -> Self {
        Self {
            voice,
            troubles: coordinator.troubles(),
            tale: Tale {
                spell: Spell::default(),
                open: BTreeMap::new(),
                all,
            },
        }
    }

    fn say(&self, message: &dyn Display) {
        // Whom we wait for may stand on the terminal's last line.
        self.voice.passing("");
        self.voice.warn(message);
    }

    /// Goes on with `work`, and tells of trouble meanwhile.
    pub(crate) async fn telling<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            _ = self.hopeless(|| false) => unreachable!("it never gives up"),
            done = work => done,
        }
    }

    /// The same, and gives `work` up when trying again cannot help.
    pub(crate) async fn unless_hopeless<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            failure = self.hopeless(|| true) => Err(failure),
            done = work => Ok(done),
        }
    }

    /// Tells of trouble until trying again cannot help and `may_end` says so.
    pub(crate) async fn hopeless(&mut self, may_end: impl Fn() -> bool) -> Failure {
        while let Some(trouble) = self.troubles.next().await {
            match self.tale.hear(trouble.source, &trouble.news, &may_end) {
                Heard::Nothing => {}
                Heard::Trouble(text) => self.say(&format_args!(
                    "trouble with {}: {text}; it is tried again",
                    subject(&trouble)
                )),
                Heard::Well => self.say(&"all is well again"),
                Heard::Hopeless(failure) => return failure,
            }
        }
        // Closed, and the one who closed it knows.
        std::future::pending().await
    }
}

fn subject(trouble: &Trouble) -> String {
    let mutex = crate::output::plain(trouble.mutex.as_str());
    match trouble.doing {
        Doing::Recording => format!("the ledger of {mutex}"),
        _ => mutex,
    }
}

#[cfg(test)]
mod tests {
    use tenure::model::MutexName;
    use tenure::{ErrorKind, Outcome};

    use super::*;

    fn error(kind: ErrorKind, message: &'static str) -> Error {
        let mutex = MutexName::new("m").unwrap();
        let error = Error::new(kind, Outcome::DidNot).with_message(message);
        error.with_mutex(&mutex)
    }

    fn late(seconds: u64) -> Error {
        Error::new(ErrorKind::Timeout, Outcome::MayHave)
            .with_message(format!("no answer within {seconds}s"))
    }

    #[test]
    fn each_trouble_is_told_once_in_a_spell() {
        let mut spell = Spell::default();
        let refused = error(ErrorKind::Unreachable, "refused");
        let read_only = error(ErrorKind::Denied, "read-only");
        assert_eq!(spell.news(&refused).as_deref(), Some("refused"));
        assert_eq!(spell.news(&refused), None);
        assert_eq!(spell.news(&read_only).as_deref(), Some("read-only"));
        // Turn and turn about, as a cluster that cannot make up its mind.
        assert_eq!(spell.news(&refused), None);
        assert_eq!(spell.news(&read_only), None);
        assert!(spell.is_over() && !spell.is_over());
        assert_eq!(spell.news(&refused).as_deref(), Some("refused"));
    }

    #[test]
    fn another_number_is_no_other_trouble() {
        let mut spell = Spell::default();
        assert!(spell.news(&late(2)).is_some());
        assert!(spell.news(&late(13)).is_none());
    }

    #[test]
    fn whom_it_was_about_is_no_other_trouble() {
        let mut spell = Spell::default();
        let other = MutexName::new("n").unwrap();
        let refused = error(ErrorKind::Unreachable, "refused");
        assert!(spell.news(&refused).is_some());
        assert!(spell.news(&refused.with_mutex(&other)).is_none());
    }

    #[test]
    fn it_is_well_when_all_are_well_and_hopeless_when_all_are_hopeless() {
        let mut tale = Tale {
            spell: Spell::default(),
            open: BTreeMap::new(),
            all: 2,
        };
        let mut hear = |source, news| match tale.hear(source, &news, || true) {
            Heard::Nothing => String::new(),
            Heard::Trouble(text) => text,
            Heard::Well => "well".into(),
            Heard::Hopeless(failure) => format!("{}", failure.code),
        };
        let down = || TroubleNews::Failed(error(ErrorKind::Unreachable, "down"));
        let denied = || TroubleNews::Failed(error(ErrorKind::Denied, "denied"));
        assert_eq!(hear(1, down()), "down");
        assert_eq!(hear(2, down()), "", "the same of another");
        assert_eq!(hear(1, TroubleNews::Well), "", "not of both");
        assert_eq!(hear(2, TroubleNews::Well), "well");
        assert_eq!(hear(1, denied()), "denied");
        assert_eq!(hear(1, TroubleNews::GivenUp), "", "nobody knows");
        assert_eq!(hear(1, denied()), "", "said before");
        assert_eq!(hear(2, denied()), "78");
    }

    #[test]
    fn whoever_must_not_end_is_told_instead() {
        let mut tale = Tale {
            spell: Spell::default(),
            open: BTreeMap::new(),
            all: 1,
        };
        let denied = TroubleNews::Failed(error(ErrorKind::Denied, "denied"));
        assert!(matches!(tale.hear(1, &denied, || false), Heard::Trouble(_)));
        assert!(matches!(tale.hear(1, &denied, || true), Heard::Hopeless(_)));
    }

    #[test]
    fn one_that_never_reads_alike_is_not_told_for_ever() {
        let mut spell = Spell::default();
        let told = (0..1000).filter(|at| {
            let text = "x".repeat(*at);
            let error = Error::new(ErrorKind::Store, Outcome::DidNot).with_message(text);
            spell.news(&error).is_some()
        });
        assert_eq!(told.count(), MOST);
    }
}
