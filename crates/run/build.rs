//! A fingerprint of the engine's sources, so that results of different engines are never taken for one another.

use std::fs;
use std::path::{Path, PathBuf};

/// Sources that determine the outcome of a run, relative to this crate's folder.
const SOURCES: [&str; 5] = ["../trace/src", "../ssd/src", "../ssd/presets", "../analyze/src", "src"];

fn main() {
    let mut hash = Fnv::default();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        for file in files(Path::new(folder)) {
            hash.add(file.to_string_lossy().as_bytes());
            hash.add(&fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
        }
    }
    println!("cargo::rustc-env=FLASHWEIR_BUILD={:016x}", hash.0);
}

/// All files below a folder, in an order that does not depend on the machine.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry that can be read").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// FNV-1a, 64 bits: enough to tell builds apart, and no dependency.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
