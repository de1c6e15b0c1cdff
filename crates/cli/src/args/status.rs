//! Who owns what, once and live.

use clap::Args;

use super::{ARGUMENTS, WHAT, examples};

/// Show who owns what
///
/// The owner, its token, for how long it has been the owner, how long it stays
/// so without a renewal, and who waits, where the store knows.
#[derive(Args, Debug)]
#[command(after_help = examples::STATUS, next_help_heading = WHAT)]
pub(crate) struct Status {
    /// Only these
    #[arg(help_heading = ARGUMENTS, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Go on looking, on a terminal: the same as tenure top
    #[cfg(feature = "views")]
    #[arg(long, short)]
    pub(crate) watch: bool,
}

/// Show who owns what, live on a terminal
///
/// All mutexes of the store, with what is left of their leases and how often
/// they have changed hands since it looks. The arrow keys select one, whose
/// waiters and history are shown below; left and right sort, / filters, q ends
/// it. When the store does not answer, what was seen last stays, with its age.
#[cfg(feature = "views")]
#[derive(Args, Debug)]
#[command(after_help = examples::TOP, next_help_heading = WHAT)]
pub(crate) struct Top {
    /// Only these
    #[arg(help_heading = ARGUMENTS, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}
