//! What the guest begins with: an archive of files in its memory.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kernel::{KERNEL, run};

/// The first program of the guest. It starts the owner, and then takes orders,
/// a line each, until there are no more.
const INIT: &str = r#"#!/bin/busybox sh
export PATH=/bin
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
for module in MODULES; do busybox insmod /$module; done
busybox ifconfig lo 127.0.0.1 up
busybox ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
busybox route add default gw 10.0.2.2
busybox stty -F /dev/ttyS1 raw -echo
busybox mkfifo /input
busybox sleep 100000 > /input &
TENURE_PEER_ARGS="$(busybox cat /args)" \
    /bin/peer --exact peer_process --ignored --nocapture < /input > /dev/ttyS0 2>&1 &
while read -r order; do eval "$order" > /dev/ttyS0 2>&1; done < /dev/ttyS1
"#;

/// Where the host is, seen from the guest.
pub(crate) const HOST: &str = "10.0.2.2";

/// Writes an archive for an owner with these arguments.
pub(crate) fn write(to: &Path, args: &[&str]) {
    let mut archive = Archive(Vec::new());
    for folder in ["bin", "dev", "proc"] {
        archive.add(folder, 0o040_755, &[]);
    }
    let names: Vec<_> = KERNEL.modules.iter().map(|(name, _)| &**name).collect();
    let init = INIT.replace("MODULES", &names.join(" "));
    archive.add("init", 0o100_755, init.as_bytes());
    archive.add("args", 0o100_644, args.join("\u{1f}").as_bytes());
    for (name, contents) in &KERNEL.modules {
        archive.add(name, 0o100_644, contents);
    }
    let busybox = in_path("busybox");
    let peer = to.with_extension("peer");
    let this = std::env::current_exe().unwrap();
    // Its symbols are most of it.
    run(Command::new("strip").arg("-o").args([&peer, &this]));
    for (name, file) in [("bin/busybox", &busybox), ("bin/peer", &peer)] {
        archive.program(name, file);
    }
    archive.add("TRAILER!!!", 0, &[]);
    std::fs::write(to, archive.0).unwrap();
}

fn in_path(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = files.find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{program} is needed"))
}

/// In the format that the kernel knows, "newc".
struct Archive(Vec<u8>);

impl Archive {
    fn add(&mut self, name: &str, mode: u32, contents: &[u8]) {
        let (file, name_length) = (self.0.len(), name.len() + 1);
        let _ = write!(
            self.0,
            "070701{file:08x}{mode:08x}{0:08x}{0:08x}{1:08x}",
            0, 1
        );
        let _ = write!(self.0, "{0:08x}{1:08x}{0:08x}{0:08x}", 0, contents.len());
        let _ = write!(self.0, "{0:08x}{0:08x}{name_length:08x}{0:08x}{name}\0", 0);
        self.align();
        self.0.extend_from_slice(contents);
        self.align();
    }

    /// A program, and the libraries that it is linked with.
    fn program(&mut self, name: &str, file: &Path) {
        self.add(name, 0o100_755, &std::fs::read(file).unwrap());
        let linked = Command::new("ldd").arg(file).output().unwrap();
        let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
        let libraries = linked.split_whitespace();
        for library in libraries.filter(|word| word.starts_with('/')) {
            self.folders_of(library);
            let contents = std::fs::read(library).unwrap();
            self.add(&library[1..], 0o100_755, &contents);
        }
    }

    fn folders_of(&mut self, file: &str) {
        for (end, _) in file.match_indices('/').skip(1) {
            self.add(&file[1..end], 0o040_755, &[]);
        }
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}
