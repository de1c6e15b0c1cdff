//! `/api/v1/events`: changes as they are seen.
//!
//! There is no queue for a page. What it is sent is made when it can take it, of
//! what has changed since the last time: one that is slow gets more at once, and
//! one that is too far behind gets everything.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, RawQuery, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

use crate::answer::{Answer, json_text};
use crate::looker::{Following, News};
use crate::query::Query;
use crate::serve::Progress;
use crate::site::Site;

const USUAL: usize = 2_000;
const MOST: usize = 5_000;
/// The store is told of at least so often.
const STORE: Duration = Duration::from_secs(5);
/// So that a proxy sees that the connection lives.
const COMMENT: Duration = Duration::from_secs(10);
/// Then the browser comes again, and shows its cookie.
const LONGEST: Duration = Duration::from_secs(3600);
/// After how many milliseconds it comes again.
const RETRY: Duration = Duration::from_secs(1);

pub(crate) async fn events(
    State(site): State<Arc<Site>>,
    RawQuery(query): RawQuery,
    Extension(progress): Extension<Progress>,
) -> Response {
    let limit = Query(query.as_deref().unwrap_or_default()).value("limit");
    let limit = match limit {
        Ok(limit) => limit.unwrap_or(USUAL).min(MOST),
        Err(why) => return Answer::refusal(400, &why).into_response(),
    };
    let Ok(permit) = Arc::clone(&site.streams).try_acquire_owned() else {
        return Answer::refusal(503, "too many pages follow the changes already").into_response();
    };
    progress.streams();
    let page = FollowingPage::new(site, limit, permit);
    let events = stream::unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((Ok::<_, Infallible>(event), page))
    });
    // A proxy must not wait for more.
    ([("x-accel-buffering", "no")], Sse::new(events)).into_response()
}

/// A page that follows the changes, and what it knows.
#[derive(Debug)]
struct FollowingPage {
    site: Arc<Site>,
    news: watch::Receiver<News>,
    ending: watch::Receiver<bool>,
    limit: usize,
    /// Made together, and sent one after the other: at most three.
    ready: VecDeque<Event>,
    told: Option<News>,
    store_due: Instant,
    comment_due: Instant,
    end: Instant,
    _following: Following,
    _permit: OwnedSemaphorePermit,
}

impl FollowingPage {
    fn new(site: Arc<Site>, limit: usize, permit: OwnedSemaphorePermit) -> Self {
        let now = Instant::now();
        Self {
            news: site.looker.news(),
            ending: site.ending.subscribe(),
            limit,
            ready: VecDeque::from([Event::default().retry(RETRY)]),
            told: None,
            store_due: now,
            comment_due: now + COMMENT,
            end: now + LONGEST,
            _following: site.looker.follow(),
            _permit: permit,
            site,
        }
    }

    /// The next event; none when the server or the hour ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.comment_due = Instant::now() + COMMENT;
                return Some(event);
            }
            self.make_ready();
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = sleep_until(self.store_due) => {}
                () = sleep_until(self.comment_due) => {
                    self.ready.push_back(Event::default().comment(""));
                }
                _ = self.ending.wait_for(|is_ending| *is_ending) => return None,
                () = sleep_until(self.end) => return None,
            }
        }
    }

    fn make_ready(&mut self) {
        let news = *self.news.borrow_and_update();
        let told = self.told.unwrap_or_default();
        let now = Instant::now();
        if now >= self.store_due || news.health != told.health {
            self.store_due = now + STORE;
            let store = self.site.looker.store(self.site.allow_revoke);
            self.ready
                .push_back(Event::default().event("store").data(json_text(&store)));
        }
        // Before the first look there is nothing to tell of mutexes.
        if !news.has_looked {
            return;
        }
        let since = self.told.map(|told| told.version);
        if since == Some(news.version) {
            self.told = Some(news);
            return;
        }
        let changes = self.site.looker.board().changes(since, self.limit);
        // The board may be ahead of the news by a look.
        let version = changes.version;
        self.told = Some(News { version, ..news });
        let event = Event::default().event("mutexes").id(version.to_string());
        self.ready.push_back(event.data(json_text(&changes)));
    }
}
