//! The cryptography behind `rediss://`.

/// The driver takes the process's provider and panics without one. An
/// application that has chosen its own keeps it.
pub(super) fn ensure_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Lost to a caller that was faster: fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
