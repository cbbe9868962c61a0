//! Files, loop devices, mounts and swap of one test, gone when it ends. Whatever is missing here is printed with the name of the test.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const MIB: u64 = 1 << 20;

pub(super) struct Stage {
    folder: tempfile::TempDir,
    undo: Vec<Vec<String>>,
}

/// Names a file that gets a line for each test, or part of one, that is not run: `just test-rust` prints it.
const LIST: &str = "FLASHWEIR_NOT_RUN";

/// Says that a test, or the part of it that needs `what`, is not run.
pub(crate) fn not_run(what: &str) {
    let thread = std::thread::current();
    let line = format!("not run: {} ({})", thread.name().unwrap_or("a test"), what.replace('\n', " "));
    eprintln!("{line}");
    if let Some(list) = std::env::var_os(LIST) {
        let list = File::options().append(true).create(true).open(list);
        let _ = list.and_then(|mut list| writeln!(list, "{line}"));
    }
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// Output of a command; `None`, with a line that says so, if it can't be run here or fails.
pub(super) fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(done) if done.status.success() => Some(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            let said = said.lines().next().unwrap_or("it failed");
            not_run(&format!("{program} {}: {said}", arguments.join(" ")));
            None
        }
        Err(error) => {
            not_run(&format!("{program}: {error}"));
            None
        }
    }
}

impl Stage {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), undo: Vec::new() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file without data.
    pub(super) fn file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        File::create_new(&path).expect("a file").set_len(bytes).expect("grown");
        path
    }

    /// Undone at the end, last first.
    pub(super) fn at_end(&mut self, command: &[&str]) {
        self.undo.push(command.iter().map(|word| (*word).to_owned()).collect());
    }

    /// A loop device on a file or device; `options` are those of losetup.
    pub(super) fn attach(&mut self, file: &Path, options: &[&str]) -> Option<PathBuf> {
        let device = run("losetup", &[&["--find", "--show"], options, &[text(file)]].concat())?;
        self.at_end(&["losetup", "--detach", &device]);
        Some(PathBuf::from(device))
    }

    /// Detaches a loop device, which may be another test's from then on.
    pub(super) fn detach(&mut self, device: &Path) -> Option<()> {
        self.undo.retain(|command| command[..] != ["losetup", "--detach", text(device)]);
        run("losetup", &["--detach", text(device)]).map(|_| ())
    }

    /// A loop device on a file of its own.
    pub(super) fn device(&mut self, name: &str, bytes: u64) -> Option<PathBuf> {
        let file = self.file(name, bytes);
        self.attach(&file, &[])
    }

    /// A partition that `addpart` adds to the kernel, without a partition table on the device.
    pub(super) fn partition(
        &mut self,
        device: &Path,
        number: u32,
        start: u64,
        bytes: u64,
    ) -> Option<PathBuf> {
        let (number_text, start, sectors) =
            (number.to_string(), (start / 512).to_string(), (bytes / 512).to_string());
        run("addpart", &[text(device), &number_text, &start, &sectors])?;
        self.at_end(&["delpart", text(device), &number_text]);
        let partition = PathBuf::from(format!("{}p{number}", device.display()));
        if !partition.exists() {
            not_run("no node of a partition appears");
            return None;
        }
        Some(partition)
    }

    pub(super) fn mount(&mut self, device: &Path, name: &str) -> Option<PathBuf> {
        let point = self.path(name);
        std::fs::create_dir(&point).expect("a folder");
        run("mount", &[text(device), text(&point)])?;
        self.at_end(&["umount", text(&point)]);
        Some(point)
    }

    pub(super) fn swap_on(&mut self, path: &Path) -> Option<()> {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");
        run("mkswap", &[text(path)])?;
        run("swapon", &[text(path)])?;
        self.at_end(&["swapoff", text(path)]);
        Some(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            let _ = Command::new(&command[0]).args(&command[1..]).output();
        }
    }
}

/// Data that is no format.
pub(super) fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 21) as u8 | 1).collect()
}

pub(super) fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).expect("opened");
    file.write_all_at(bytes, at).expect("written");
    file.sync_all().expect("on the drive");
}

/// Bytes of a file or device, read past the page cache of other nodes.
pub(super) fn bytes_of(path: &Path) -> Vec<u8> {
    let file = File::open(path).expect("opened");
    let _ = rustix::fs::fsync(&file);
    std::fs::read(path).expect("read")
}
