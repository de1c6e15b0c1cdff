//! Ports that stay ours for as long as a server may want them back.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use super::error::ServerError;

/// Below the range from which systems choose the ports of outgoing connections: otherwise, while
/// a server is down, any connection of any process could take its port.
const RANGE: std::ops::Range<u16> = 11_000..31_000;

/// A port of 127.0.0.1 that no other test process will choose.
///
/// It is held by a lock on a file, which the kernel frees even after SIGKILL, so a server that
/// was killed finds its port free when it comes back.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: File,
}

impl Port {
    /// Chooses a free port.
    pub fn choose() -> Result<Port, ServerError> {
        static TRIED: AtomicU16 = AtomicU16::new(0);
        let user = rustix::process::getuid().as_raw();
        let directory = std::env::temp_dir().join(format!("tenure-ports-{user}"));
        fs::create_dir_all(&directory).map_err(ServerError::doing(directory.display()))?;
        // Test processes start at different places, so they rarely meet.
        let start = (process::id() as u16).wrapping_mul(37);
        for _ in RANGE {
            let step = TRIED.fetch_add(1, Ordering::Relaxed);
            let number = RANGE.start + start.wrapping_add(step) % (RANGE.end - RANGE.start);
            let held = File::create(directory.join(number.to_string()))?;
            if held.try_lock().is_ok() && is_free(number) {
                return Ok(Port {
                    number,
                    _held: held,
                });
            }
        }
        Err(ServerError::new("no free port"))
    }

    /// Starts a server on a free port, and on another one if a process that knows nothing of
    /// our locks took the port in between.
    pub(super) fn start<T>(
        start: impl Fn(Port) -> Result<T, ServerError>,
    ) -> Result<T, ServerError> {
        let again = |error: &ServerError| error.to_string().contains("ddress already in use");
        for _ in 0..3 {
            match start(Port::choose()?) {
                Err(error) if again(&error) => {}
                other => return other,
            }
        }
        start(Port::choose()?)
    }

    /// The number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The address: 127.0.0.1 and the port.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

fn is_free(number: u16) -> bool {
    let listens = |ip: Ipv4Addr| -> io::Result<TcpListener> { TcpListener::bind((ip, number)) };
    listens(Ipv4Addr::LOCALHOST).is_ok() && listens(Ipv4Addr::UNSPECIFIED).is_ok()
}
