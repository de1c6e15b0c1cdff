//! The real program, as processes.

mod clocks;
mod damage;
mod data;
mod demo;
mod doctor;
mod endurance;
mod escapes;
mod guardian;
mod init;
mod jvm;
mod late;
mod lead;
mod odd;
mod once;
mod person;
mod restart;
mod run;
mod schedule;
mod secrets;
mod signals;
mod stores;
mod support;
mod terminal;
mod tree;
mod trouble;
mod voice;
