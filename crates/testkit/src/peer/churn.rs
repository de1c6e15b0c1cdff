//! Writing without a pause.

use crate::Whole as _;
use tenure::Result;
use tenure::backend::{Backend, Bid, Claim, TickEnd};
use tenure::clock::Clock;
use tenure::model::{ContenderId, MutexName};

use super::args::Args;
use super::program::say;

/// Takes, renews and releases `names` names until the process dies.
pub(super) async fn churn(args: &Args, names: u64) -> Result<()> {
    let store = tenure::stores::open(&args.url.parse()?, Clock::boot()).await?;
    let pid = std::process::id();
    let id = args.id.clone().unwrap_or_else(|| format!("churn-{pid}"));
    let (id, terms) = (ContenderId::new(id)?, args.terms.unwrap_or_default());
    say("ready");
    loop {
        for number in 0..names {
            let name = MutexName::new(format!("{}-{number}", args.name))?;
            let bid = Bid::new(name, id.clone(), terms).without_queue();
            let answer = store.acquire(&bid).await?;
            let Some(token) = answer.token() else {
                continue; // another's
            };
            let held = bid.held(token);
            let ledger = store.read_ledger(&held.name).await?;
            let tick = ledger.map_or(0, |entry| entry.last_tick + 1);
            let claim = Claim::new("churn", answer.now(), tick, answer.now());
            store.claim_tick(&held, &claim).await?;
            for renewed in store.renew(std::slice::from_ref(&held)).await {
                renewed?;
            }
            let end = TickEnd::new(tick, true);
            store.finish_tick(&held, &end).await?;
            store.release(&held).await?;
        }
    }
}
