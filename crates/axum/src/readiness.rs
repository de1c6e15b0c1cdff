//! [`Readiness`]: whether a candidate is of use.

use std::fmt;
use std::time::{Duration, SystemTime};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tenure::backend::StoreClock;

use crate::candidate::Candidate;

/// The answer to `/readyz`: 200 with `leading` or `waiting`, 503 with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// It leads, by the clock at this moment. The store need not be asked: a lease that lives is
    /// one that the store has renewed in time.
    Leading,
    /// It stands, the store answers, and the clocks agree: it can follow the leader.
    Waiting,
    /// It could not become leader, or should not: why.
    NotReady(String),
}

impl Candidate {
    /// Whether it leads, or can: asks the store only while it does not lead.
    ///
    /// # Cancel safety
    /// It only looks: dropping it changes nothing.
    pub async fn readiness(&self) -> Readiness {
        if self.elector.is_leading() {
            return Readiness::Leading;
        }
        let (name, limit) = (self.elector.name(), self.limit);
        if !self.elector.is_standing() {
            return Readiness::NotReady(format!("nobody here stands for {name}"));
        }
        let sent = SystemTime::now();
        let asked = tokio::time::timeout(limit, self.coordinator.store_time(name)).await;
        let there = match asked {
            Ok(Ok(there)) => Duration::from_millis(there.as_millis()),
            Ok(Err(error)) => return Readiness::NotReady(format!("the store: {error}")),
            Err(_) => {
                return Readiness::NotReady(format!("the store has not answered in {limit:?}"));
            }
        };
        let on_the_way = sent.elapsed().unwrap_or_default() / 2;
        // A store that counts from its own beginning has no time of day.
        let tells_the_time = self.coordinator.profile().clock == StoreClock::ServerWall;
        match (sent + on_the_way).duration_since(SystemTime::UNIX_EPOCH) {
            Ok(here) if tells_the_time => agreed(here, there, self.clocks_apart),
            _ => Readiness::Waiting,
        }
    }
}

/// What two clocks, read at one moment, say.
fn agreed(here: Duration, there: Duration, most: Duration) -> Readiness {
    let apart = here.abs_diff(there);
    if apart <= most {
        return Readiness::Waiting;
    }
    let which = if there > here { "ahead of" } else { "behind" };
    Readiness::NotReady(format!(
        "the store's clock is {}s {which} this host's",
        apart.as_secs()
    ))
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leading => "leading",
            Self::Waiting => "waiting",
            Self::NotReady(why) => why,
        })
    }
}

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let status = match self {
            Self::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        };
        let head = [(header::CACHE_CONTROL, "no-store")];
        (status, head, format!("{self}\n")).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_far_apart_are_named() {
        let at = Duration::from_secs;
        assert_eq!(agreed(at(1000), at(1060), at(60)), Readiness::Waiting);
        assert_eq!(agreed(at(1060), at(1000), at(60)), Readiness::Waiting);
        let told = |here, there| agreed(at(here), at(there), at(60)).to_string();
        assert_eq!(
            told(1000, 1061),
            "the store's clock is 61s ahead of this host's"
        );
        assert_eq!(
            told(5000, 1000),
            "the store's clock is 4000s behind this host's"
        );
    }
}
