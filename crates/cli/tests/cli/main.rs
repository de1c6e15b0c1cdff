//! The real program, as processes.

mod damage;
mod data;
mod demo;
mod doctor;
mod endurance;
mod guardian;
mod hold;
mod init;
mod late;
mod lead;
mod once;
mod person;
mod restart;
mod run;
mod schedule;
mod signals;
mod stores;
mod support;
mod terminal;
mod tree;
mod usage;
mod voice;
