//! Pages of mutexes.

use super::calls::{Many, Said};
use super::client::{Postgres, owner};
use crate::backend::{Listing, Page};
use crate::error::Result;
use crate::model::{MutexName, StoreTime};
use crate::stores::sql::page as page_of;

impl Postgres {
    pub(super) async fn list_page(&self, page: &Page) -> Result<Listing> {
        let ask = match &page.names {
            Some(names) => Many::find(self.statements(), self.wire(), names),
            None => {
                let after = page.after.as_ref().map_or("", MutexName::as_str);
                let most = page.limit.saturating_add(1);
                Many::list(self.statements(), self.wire(), after, most)
            }
        };
        let said = self.read(ask).await?;
        let now = said.first().map_or(StoreTime::ZERO, Said::now);
        let rows = said.iter().filter_map(|said| said.row.as_ref());
        let told = rows.filter(|row| !row.is_free() || row.fault().is_some());
        let entries = told.map(|row| row.entry(owner(row))).collect();
        Ok(page_of(entries, page, now))
    }
}
