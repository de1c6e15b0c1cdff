//! Who leads, for a neighbour in the same pod: `/leader`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure::Tenure;
use tenure::model::MutexOwner;

/// What is known of the office, shared with those who ask.
#[derive(Clone, Debug)]
pub(super) struct Office(Arc<Mutex<Known>>);

#[derive(Debug)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "no client asks"))]
struct Known {
    name: String,
    /// Whether the store was reached: before, nothing is known.
    is_open: bool,
    leader: Option<String>,
    tenure: Option<Tenure>,
}

impl Office {
    pub(super) fn new(name: &str) -> Self {
        Self(Arc::new(Mutex::new(Known {
            name: name.to_owned(),
            is_open: false,
            leader: None,
            tenure: None,
        })))
    }

    /// The store is open.
    pub(super) fn opened(&self) {
        self.known().is_open = true;
    }

    pub(super) fn observed(&self, owner: &MutexOwner) {
        self.known().leader = owner.owner_id().map(ToString::to_string);
    }

    pub(super) fn elected(&self, tenure: &Tenure) {
        let mut known = self.known();
        known.leader = Some(tenure.contender().to_string());
        known.tenure = Some(tenure.clone());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers where the probes do.
    #[cfg(not(feature = "http"))]
    pub(super) fn answer_on(&self, _: &crate::probes::Probes) {}
}

#[cfg(feature = "http")]
mod answer {
    use serde::Serialize;
    use tenure::model::FencingToken;
    use tenure_dashboard::answer::Answer;

    use super::Office;
    use crate::probes::Probes;

    /// The answer to `/leader`.
    #[derive(Debug, Serialize)]
    struct Leader {
        name: String,
        leader: Option<String>,
        leading: bool,
        token: Option<FencingToken>,
    }

    impl Office {
        /// Answers where the probes do.
        pub(in super::super) fn answer_on(&self, probes: &Probes) {
            probes.answers(self.answers());
        }

        /// What is answered to a path.
        fn answers(&self) -> impl Fn(&str) -> Option<Answer> + Send + Sync + use<> {
            let office = self.clone();
            move |path| (path == "/leader").then(|| office.answer())
        }

        fn answer(&self) -> Answer {
            let known = self.known();
            if !known.is_open {
                return Answer::text(503, "the store is not open yet\n");
            }
            // The clock decides at this very moment, not the last news.
            let token = known.tenure.as_ref().and_then(|tenure| tenure.token().ok());
            let leader = Leader {
                name: known.name.clone(),
                leader: known.leader.clone(),
                leading: token.is_some(),
                token,
            };
            Answer::json(200, &leader)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn who_leads_is_answered_once_the_store_is_open_and_nothing_else() {
            let office = Office::new("billing");
            let answers = office.answers();
            assert_eq!(answers("/leader").unwrap().status(), 503);
            office.opened();
            let answer = answers("/leader").unwrap();
            assert_eq!(answer.status(), 200);
            let empty = r#"{"name":"billing","leader":null,"leading":false,"token":null}"#;
            assert_eq!(answer.body().trim(), empty);
            assert!(answers("/").is_none());
        }
    }
}
