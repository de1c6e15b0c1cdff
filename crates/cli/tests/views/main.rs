//! What a person sees: the program on a real terminal, and in a browser.

mod dashboard;
mod demo;
mod slow_store;
mod support;
mod top;
mod web;
mod widths;
