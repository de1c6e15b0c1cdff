//! The demo's processes, and the lines they send.

use std::io;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::contender::{CONTENDER, Said};
use crate::ourselves;

pub(super) const NAMES: [&str; 3] = ["ada", "ben", "cleo"];

/// All contenders, and what they say.
#[derive(Debug)]
pub(super) struct Processes {
    list: Vec<Child>,
    said: UnboundedReceiver<(usize, Said)>,
}

impl Processes {
    pub(super) fn start(url: &str) -> io::Result<Self> {
        let (sender, said) = unbounded_channel();
        let list = Vec::new();
        let mut all = Self { list, said };
        for (who, name) in NAMES.into_iter().enumerate() {
            let mut process = ourselves()
                .args([CONTENDER, url, name])
                // Its store is this one, whatever the environment names.
                .env_remove("TENURE_URL")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?;
            let stdout = process.stdout.take().expect("it is piped");
            all.list.push(process);
            let mut lines = BufReader::new(Receiver::from_owned_fd(stdout.into())?).lines();
            let sender = sender.clone();
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    let said = serde_json::from_str(&line).unwrap_or(Said::Trouble(line));
                    let _ = sender.send((who, said));
                }
                let _ = sender.send((who, Said::Gone));
            });
        }
        Ok(all)
    }

    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.list.iter().map(Child::id)
    }

    /// The next line of any of them; `None` when all are gone.
    pub(super) async fn next(&mut self) -> Option<(usize, Said)> {
        self.said.recv().await
    }

    pub(super) fn signal(&mut self, who: usize, signal: Signal) {
        let process = &mut self.list[who];
        // The number of one that was collected may be another's by now.
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process(Pid::from_child(process), signal);
        if signal == Signal::KILL {
            // Dead before anything else happens, not merely about to die.
            let _ = process.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.list {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
