//! Who leads, for a neighbour in the same pod: `/leader`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tenure::Tenure;
use tenure::model::{FencingToken, MutexOwner};
use tenure_dashboard::http::Response;

/// What is known of the office, shared with those who ask.
#[derive(Clone, Debug)]
pub(super) struct Office(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    name: String,
    leader: Option<String>,
    tenure: Option<Tenure>,
}

/// The answer to `/leader`.
#[derive(Debug, Serialize)]
struct Answer {
    name: String,
    leader: Option<String>,
    leading: bool,
    token: Option<FencingToken>,
}

impl Office {
    pub(super) fn new(name: &str) -> Self {
        Self(Arc::new(Mutex::new(Known {
            name: name.to_owned(),
            leader: None,
            tenure: None,
        })))
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

    /// What is answered to a path.
    pub(super) fn answers(&self) -> impl Fn(&str) -> Option<Response> + Send + Sync + use<> {
        let office = self.clone();
        move |path| {
            let is_asked = path == "/leader";
            is_asked.then(|| Response::json("200 OK", &office.answer()))
        }
    }

    fn answer(&self) -> Answer {
        let known = self.known();
        // The clock decides at this very moment, not the last news.
        let token = known.tenure.as_ref().and_then(|tenure| tenure.token().ok());
        Answer {
            name: known.name.clone(),
            leader: known.leader.clone(),
            leading: token.is_some(),
            token,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leads_is_answered_and_nothing_else() {
        let answers = Office::new("billing").answers();
        let answer = answers("/leader").unwrap();
        assert_eq!(answer.status(), "200 OK");
        let empty = r#"{"name":"billing","leader":null,"leading":false,"token":null}"#;
        assert_eq!(answer.body().trim(), empty);
        assert!(answers("/").is_none());
    }
}
