//! Tests of targets that may not be written. Everything here is a file of a temporary folder or a loop device on one.

mod adversary;
mod fuzz;
mod hidden;
mod holdings;
mod race;
mod stack;
pub(crate) mod stage;
mod uses;

use std::path::Path;

use super::*;
use crate::{OpenOptions, open};
use stage::{MIB, Stage, bytes_of, noise, not_run, run, text, write_at};

/// Opens a target to write it, as all commands do.
fn write(path: &Path, erase: Option<&str>) -> Result<Box<dyn crate::Target>, Error> {
    let erase = erase.map(str::to_owned);
    // Loop devices on file systems in memory know no O_DIRECT on old kernels.
    open(text(path), &OpenOptions { write: true, erase, direct: false, ..OpenOptions::default() })
}

fn refusal(path: &Path, erase: Option<&str>) -> String {
    write(path, erase).map(|_| ()).expect_err("refused").to_string()
}

/// Refused without its name, with what is said of it, and not with it.
fn needs_its_name(path: &Path, what: &str) {
    let said = refusal(path, None);
    assert!(said.contains(what) && said.contains(&format!("--erase {}", path.display())), "{what}: {said}");
    let seen =
        survey(path).and_then(|survey| survey.permit(None)).expect_err("refused by a look, too").to_string();
    assert_eq!(seen, said);
    assert!(write(path, Some("/dev/another")).is_err());
    write(path, Some(text(path))).expect("its name is enough");
}

/// Refused whatever is typed, with what is said of it.
fn is_never_written(path: &Path, what: &str) {
    for erase in [None, Some(text(path))] {
        let said = refusal(path, erase);
        assert!(said.contains(what) && said.contains("--erase does not override this"), "{what}: {said}");
        let seen = survey(path).and_then(|survey| survey.permit(erase)).expect_err("refused by a look, too");
        assert!(seen.to_string().contains(what), "{what}: {seen}");
    }
    open(text(path), &OpenOptions { direct: false, ..OpenOptions::default() })
        .expect("reading needs nobody's leave");
}

/// May be written as it is.
fn is_free(path: &Path) {
    write(path, None).expect("nothing on it, and nobody uses it");
    survey(path).expect("seen").permit(None).expect("and a look says so");
}

#[test]
fn files_with_content_are_refused_unless_named() {
    let stage = Stage::new();
    let path = stage.file("file", MIB);
    is_free(&path);
    write_at(&path, 300_000, b"content");
    needs_its_name(&path, "is a file that is not empty");
    assert!(refusal(&path, Some("/dev/sda")).contains("--erase /dev/sda is not the name of this target"));
    let link = stage.path("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    assert!(write(&link, Some(text(&path))).is_ok(), "by the name behind the link");
    assert!(write(&link, Some(text(&link))).is_ok(), "by the name of the link");
    assert!(write(&path, Some(text(&link))).is_err(), "by another name");
    // A file that has a size but no data holds nothing; a wrong name is never right.
    let holes = stage.file("holes", MIB);
    assert!(write(&holes, Some(text(&path))).is_err());
    // Space that was only reserved is no data.
    let file = std::fs::File::options().write(true).open(&holes).expect("opened");
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, MIB).is_ok() {
        is_free(&holes);
    }
}

#[test]
fn what_is_no_drive_is_refused() {
    let stage = Stage::new();
    for path in [stage.path("."), "/dev/null".into(), "/proc/self/fd".into()] {
        assert!(refusal(&path, None).contains("neither a block device nor a file"));
        assert!(survey(&path).is_err());
    }
    for path in ["/proc/self/comm", "/sys/kernel/mm/ksm/run"] {
        if Path::new(path).exists() {
            assert!(refusal(Path::new(path), Some(path)).contains("an interface of the kernel"), "{path}");
        }
    }
    assert!(refusal(Path::new("/dev/no-such-drive"), None).contains("no such device"));
    assert!(survey(&stage.path("none/file")).is_err());
    assert_eq!(survey(&stage.path("file")).expect("seen").kind, Kind::Missing);
    assert!(refusal(&stage.path("file"), None).contains("there is no such file"));
    let dangling = stage.path("dangling");
    std::os::unix::fs::symlink("/no/where", &dangling).expect("linked");
    assert!(survey(&dangling).is_err());
    // A pipe is not even opened: that would wait for its other end.
    let pipe = stage.path("pipe");
    if run("mkfifo", &[text(&pipe)]).is_some() {
        assert!(refusal(&pipe, None).contains("neither a block device nor a file"));
    }
}

#[test]
fn use_is_final_and_a_name_covers_the_rest() {
    let finding = |what: &str, weight| Finding::new(weight, what);
    let survey = |findings| Survey {
        path: "/dev/x".into(),
        resolved: "/dev/x".into(),
        kind: Kind::Block,
        size_bytes: 1,
        identity: None,
        discards: true,
        findings,
    };
    let content = finding("holds swap space", Weight::Content);
    let unknown = finding("may be in use", Weight::Unknown);
    let used = finding("is mounted at /mnt", Weight::Use);
    assert!(survey(vec![]).permit(None).is_ok());
    for weaker in [content.clone(), unknown.clone()] {
        assert!(survey(vec![weaker.clone()]).permit(None).is_err());
        assert!(survey(vec![weaker]).permit(Some("/dev/x")).is_ok());
    }
    let said = survey(vec![content.clone(), unknown.clone()]).permit(None).expect_err("both").to_string();
    assert!(said.contains("it holds swap space, and may be in use; expected"), "{said}");
    for findings in [vec![used.clone()], vec![content, unknown, used]] {
        let said = survey(findings).permit(Some("/dev/x")).expect_err("in use").to_string();
        assert!(said.contains("it is mounted at /mnt; expected a target that is not in use"), "{said}");
    }
}

#[test]
fn a_part_of_a_block_at_the_end_is_not_read() {
    let mut stage = Stage::new();
    let file = stage.file("file", 16 * MIB + 512);
    let Some(device) = stage.attach(&file, &["--sector-size", "4096"]) else { return };
    let seen = survey(&device).expect("seen");
    assert_eq!((seen.size_bytes, seen.findings.len()), (16 * MIB, 0));
}
