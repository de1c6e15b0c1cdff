//! [`BindError`]: why a dashboard does not begin.

use std::net::SocketAddr;
use std::{error, fmt, io};

use super::SHORTEST_TOKEN;

/// Why a dashboard does not begin.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// There is no such address, or it is taken.
    Listen(io::Error),
    /// Certificate or key cannot be used.
    Tls(String),
    /// Others than this host could come without a token.
    NeedsToken(SocketAddr),
    /// They could even free mutexes.
    RevokeNeedsToken(SocketAddr),
    /// They could guess the token: it has fewer characters than
    /// [`SHORTEST_TOKEN`].
    ShortToken(SocketAddr),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(error) => error.fmt(f),
            Self::Tls(why) => f.write_str(why),
            Self::NeedsToken(address) => write!(
                f,
                "others can reach {address}, and there is no token that they must know"
            ),
            Self::RevokeNeedsToken(address) => write!(
                f,
                "others can reach {address}, and without a token all of them could revoke"
            ),
            Self::ShortToken(address) => write!(
                f,
                "others can reach {address}, and guess a token of less than {SHORTEST_TOKEN} \
                 characters"
            ),
        }
    }
}

impl error::Error for BindError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Listen(error) => Some(error),
            _ => None,
        }
    }
}
