//! Launchers for the real servers.
