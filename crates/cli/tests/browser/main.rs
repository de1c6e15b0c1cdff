//! The dashboard's page in a real browser: Debian's Chromium, driven over
//! WebDriver, with owners in other processes.

mod driver;
mod hands;
mod keys;
mod kinds;
mod login;
mod many;
mod names;
mod outage;
mod pictures;
mod revoke;
mod support;
