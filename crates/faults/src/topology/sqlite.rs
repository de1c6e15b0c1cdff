//! A file on a small disk, for the processes of one host.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tenure_testkit::servers::ServerError;

use super::{Cost, Mishap, Scene, TERMS, Topology};
use crate::fleet::{Fleet, Surroundings};
use crate::worker::Store;

pub(super) struct SqliteFile {
    disk: PathBuf,
}

fn failed(error: impl std::fmt::Display) -> ServerError {
    ServerError::new(error.to_string())
}

impl SqliteFile {
    /// On a small disk that is mounted in `directory`: half of what the log grows to before it is
    /// put back into the file, where there is room.
    pub(super) fn start(directory: &Path) -> Result<Self, ServerError> {
        let disk = directory.join("disk");
        fs::create_dir(&disk)?;
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(&disk)
            .status()?;
        if !mount.success() {
            return Err(failed("a small disk cannot be mounted"));
        }
        Ok(Self { disk })
    }

    fn file(&self) -> PathBuf {
        self.disk.join("locks.db")
    }

    fn filler(&self) -> PathBuf {
        self.disk.join("filler")
    }

    /// A stranger writes, and takes its time.
    fn occupy(&self, scene: &Scene<'_>) -> Result<(), ServerError> {
        let stranger = Connection::open(self.file()).map_err(failed)?;
        stranger.busy_timeout(scene.length).map_err(failed)?;
        stranger.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        scene.wait(1.0);
        // On a disk that is full meanwhile it may fail, and ends with its connection.
        let _ = stranger.execute_batch("ROLLBACK");
        Ok(())
    }

    fn fill(&self, scene: &Scene<'_>) -> Result<(), ServerError> {
        let mut filler = File::create(self.filler())?;
        // In ever smaller pieces, until not a byte is left.
        for piece in [64 * 1024, 4096, 512] {
            while filler.write_all(&vec![0; piece]).is_ok() {}
        }
        scene.wait(1.0);
        let _ = fs::remove_file(self.filler());
        Ok(())
    }

    /// A worker of a container comes in the place of one of the host's, and goes again.
    fn other_boot(&self, fleet: &Fleet, scene: &mut Scene<'_>) -> Result<(), ServerError> {
        let id = format!("{:032x}", scene.chance.u128(..));
        let parts = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]];
        let file = self.disk.with_extension(&id);
        fs::write(&file, format!("{}\n", parts.join("-")))?;
        let at = scene.one(fleet.size());
        fleet.kill(at);
        fleet.begin(at, Surroundings::OtherBoot(&file))?;
        scene.wait(2.0);
        fleet.kill(at);
        Ok(())
    }
}

impl Topology for SqliteFile {
    fn store(&self, _: usize) -> Store {
        Store::Url(format!("sqlite:{}?{TERMS}", self.file().display()))
    }

    fn menu<'a>(&'a self, fleet: &'a Fleet) -> Vec<Mishap<'a>> {
        vec![
            Mishap::new("a stranger writes", move |scene| self.occupy(scene)),
            Mishap::new("disk full", move |scene| self.fill(scene)),
            Mishap::new("another boot id", move |scene| {
                self.other_boot(fleet, scene)
            })
            .costing(Cost::Boot),
            Mishap::new("file deleted", move |scene| {
                let log = |end| PathBuf::from(format!("{}{end}", self.file().display()));
                scene.log.forgetting(|| {
                    fs::remove_file(self.file())?;
                    let _ = fs::remove_file(log("-wal"));
                    let _ = fs::remove_file(log("-shm"));
                    Ok(())
                })
            })
            .costing(Cost::Memory),
        ]
    }

    fn mend(&self) -> Result<(), ServerError> {
        let _ = fs::remove_file(self.filler());
        Ok(())
    }
}
