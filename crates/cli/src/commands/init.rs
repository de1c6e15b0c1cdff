//! `tenure init`: set the store up, or print what sets it up.

use std::process::ExitCode;

use tenure::backend::url::StoreUrl;
use tenure::clock::Clock;
use tenure::stores::StoreOptions;

use crate::args::Init;
use crate::config::Settings;
use crate::exit::Failure;
use crate::output::{self, Voice};
use crate::store;

pub(crate) async fn init(
    init: Init,
    settings: &Settings,
    voice: &Voice,
) -> Result<ExitCode, Failure> {
    if init.print {
        let url = settings.url.as_deref().unwrap_or("sqlite:tenure.db");
        let text = tenure::stores::setup(&url.parse()?)?;
        output::data(&text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let url = StoreUrl::parse(&store::url(settings)?)?;
    tenure::stores::prepare(&StoreOptions::from(&url), Clock::boot()).await?;
    voice.warn(&format_args!("the {} store is set up", url.scheme()));
    Ok(ExitCode::SUCCESS)
}
