//! The machine that was measured on.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tenure_testkit::servers::find::Server;

use super::{Store, processors};

/// What a reader has to know of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor, as it names itself.
    pub processor: String,
    /// How many of them may be used.
    pub processors: usize,
    /// Memory in gigabytes.
    pub memory: u64,
    /// The kernel's name and version.
    pub kernel: String,
    /// How busy it was when the run began: the load of the last minute.
    pub load: f64,
    /// The servers, as they name themselves.
    pub servers: Vec<String>,
    /// The day, in UTC.
    pub day: String,
}

impl Machine {
    /// This machine, now, with the servers of these stores.
    pub fn look(stores: &[Store]) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key));
            let value = line.and_then(|line| line.split_once(':'));
            value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let memory: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
        let load = read("/proc/loadavg");
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            processors: processors().map_or(0, |all| all.len()),
            memory: (memory + (1 << 19)) >> 20,
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            load: load
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or_default(),
            servers: stores.iter().filter_map(|store| version(*store)).collect(),
            day: day(),
        }
    }

    /// For the file.
    pub fn json(&self) -> Value {
        json!({
            "day": self.day,
            "kernel": self.kernel,
            "load_at_start": self.load,
            "memory_gb": self.memory,
            "processor": self.processor,
            "processors": self.processors,
            "servers": self.servers,
        })
    }

    /// For the page.
    pub fn sentence(&self) -> String {
        let Self {
            processor,
            processors,
            memory,
            kernel,
            load,
            servers,
            day,
        } = self;
        format!(
            "Measured on {day}: {processors} processors ({processor}), {memory} GB, {kernel}; \
             {}. The load when the run began was {load}.",
            servers.join(", ")
        )
    }
}

fn version(store: Store) -> Option<String> {
    let (server, program) = match store {
        Store::Memory => return None,
        Store::Sqlite => return Some(format!("SQLite {}", rusqlite::version())),
        Store::Redis => (Server::Redis, "redis-server"),
        Store::Postgres => (Server::Postgres, "postgres"),
        Store::Mariadb => (Server::MariaDb, "mariadbd"),
        // Its jar does not say.
        Store::Zookeeper => return Some("ZooKeeper".to_owned()),
    };
    let output = Command::new(server.find(program).ok()?)
        .arg("--version")
        .output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    let mut words = text.split([' ', '=', '-']).filter(is_version);
    let number = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(format!("{} {}", store.name(), number.trim()))
}

/// Today, from the days since 1970.
fn day() -> String {
    let seconds = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let days = seconds.map_or(0, |seconds| seconds.as_secs() / 86_400) as i64;
    // Years that begin in March end with the leap day.
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{}-{month:02}-{day:02}", year + era * 400 + later)
}
