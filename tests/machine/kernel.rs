//! A Linux kernel for the guest: Debian's for clouds, unpacked and not installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Names the newest.
const NEWEST: &str = "linux-image-cloud-amd64";

/// What the guest's network needs, each after what it needs itself. What is
/// not there is built in.
const MODULES: [&str; 8] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
];

pub(crate) struct Kernel {
    pub(crate) file: PathBuf,
    /// Name and contents, in the order in which they are loaded.
    pub(crate) modules: Vec<(String, Vec<u8>)>,
}

pub(crate) static KERNEL: LazyLock<Kernel> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel");
    let files = || find(&folder, &|path| name(path).starts_with("vmlinuz"));
    if files().is_empty() {
        fetch(&folder);
    }
    let file = files().pop().expect("the package has a kernel");
    let modules = MODULES.iter().filter_map(|module| {
        let is_it = |path: &Path| name(path).split('.').next() == Some(module);
        let path = find(&folder, &is_it).pop()?;
        Some(((*module).to_owned(), contents(&path)))
    });
    let modules = modules.collect();
    Kernel { file, modules }
});

/// Downloads the package, as apt verifies it, and unpacks it.
fn fetch(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let depends = run(Command::new("apt-cache").args(["depends", NEWEST]));
    let depends = String::from_utf8(depends).unwrap();
    let package = depends.lines().find_map(|line| {
        let (_, package) = line.split_once("Depends: ")?;
        package.starts_with("linux-image").then_some(package)
    });
    let package = package.unwrap_or_else(|| panic!("apt knows no {NEWEST}: {depends}"));
    run(Command::new("apt-get")
        .args(["download", package])
        .current_dir(folder));
    let archive = find(folder, &|path| name(path).ends_with(".deb")).pop();
    let archive = archive.expect("it was downloaded");
    run(Command::new("dpkg-deb").arg("-x").args([&archive, folder]));
    std::fs::remove_file(archive).unwrap();
}

/// Newer kernels have compressed modules.
fn contents(module: &Path) -> Vec<u8> {
    if name(module).ends_with(".xz") {
        return run(Command::new("xz").arg("-dc").arg(module));
    }
    std::fs::read(module).unwrap()
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn find(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(find(&path, wanted));
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found
}

pub(crate) fn run(command: &mut Command) -> Vec<u8> {
    let done = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {errors}");
    done.stdout
}
