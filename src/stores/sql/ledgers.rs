//! Pages of ledgers.

use super::client::Client;
use super::dialect::Dialect;
use super::question::ListLedgers;
use crate::backend::{LedgerEntry, LedgerLine, Ledgers, Page};
use crate::error::{ErrorKind, Result};
use crate::model::MutexName;

impl<D: Dialect> Client<D> {
    pub(super) async fn ledgers(&self, page: &Page) -> Result<Ledgers> {
        let questions: Vec<_> = match &page.names {
            Some(names) => {
                let some = names.chunks(D::TOGETHER);
                some.map(|names| ListLedgers::Of(names.to_vec())).collect()
            }
            None => {
                // One more than is shown says whether there is another page.
                let most = page.limit.saturating_add(1) as u64;
                vec![ListLedgers::After(page.after.clone(), most)]
            }
        };
        let (mut lines, mut now) = (Vec::new(), None);
        for question in questions {
            match self.ask(question).await {
                Ok(rows) => {
                    let wanted = |line: &LedgerLine| page.wants(&line.name);
                    lines.extend(rows.lines.into_iter().filter(wanted));
                    now = rows.now.or(now);
                }
                // The table could not be made: nothing was ever scheduled.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        let now = now.unwrap_or_else(|| self.about_now());
        Ok(Ledgers::of(lines, page, now))
    }
}

/// A line for a row of ledgers, which may be one that cannot be made out.
pub(in crate::stores) fn ledger_line(
    name: &str,
    table: &str,
    entry: sqlx::Result<LedgerEntry>,
) -> LedgerLine {
    let name = MutexName::found(name);
    match entry {
        Ok(entry) => LedgerLine::new(name, entry),
        Err(why) => {
            let fault = format!(
                "its row in {table} cannot be made out ({why}): delete the row, and the schedule \
                 begins anew"
            );
            LedgerLine::damaged(name, fault)
        }
    }
}
