//! The real program, as processes.

mod damage;
mod data;
mod demo;
mod doctor;
mod endurance;
mod guardian;
mod init;
mod late;
mod lead;
mod once;
mod person;
mod restart;
mod run;
mod schedule;
mod schedules;
mod signals;
mod stores;
mod support;
mod terminal;
mod tree;
mod voice;
