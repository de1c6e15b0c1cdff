//! `flock(2)` of a file: what the kernel itself takes to hand over between processes.

use std::fs::File;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use super::{Lock, Locks, path};
use crate::Result;

/// Files beside the one that the URL names.
#[derive(Clone, Debug)]
pub struct Flock(PathBuf);

/// An open file. Waiting blocks the thread; the worker has nothing else to do.
#[derive(Debug)]
pub struct Open(File);

impl Locks for Flock {
    type Lock = Open;

    async fn open(url: &str) -> Result<Self> {
        Ok(Self(path(url).into()))
    }

    fn lock(&self, name: &str) -> Result<Open> {
        let file = self.0.with_file_name(format!("{name}.flock"));
        let mut options = File::options();
        Ok(Open(
            options.create(true).append(true).read(true).open(file)?,
        ))
    }
}

impl Lock for Open {
    async fn take(&mut self) -> Result<()> {
        Ok(flock(&self.0, FlockOperation::LockExclusive)?)
    }

    async fn free(&mut self) -> Result<()> {
        Ok(flock(&self.0, FlockOperation::Unlock)?)
    }
}
