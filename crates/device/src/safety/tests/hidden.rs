//! Machines that hide who uses a target: without /proc, without /sys, in a container. This test binary runs itself there.

use super::*;

/// Names the target for the copy of this binary that runs where something is hidden.
const TARGET: &str = "FLASHWEIR_SAFETY_TARGET";

/// Is run by the tests below, where something is hidden.
#[test]
fn child() {
    let Ok(target) = std::env::var(TARGET) else { return };
    for erase in [None, Some(target.as_str())] {
        match write(Path::new(&target), erase) {
            Ok(_) => println!("ANSWER written"),
            Err(error) => println!("ANSWER refused: {error}"),
        }
    }
}

/// Answers without and with the name of a target where a shell has hidden something.
fn answers(unshare: &[&str], hide: &str, target: &Path) -> Option<[String; 2]> {
    let own = std::env::current_exe().expect("this binary");
    let script =
        format!("{hide} exec \"$0\" --exact safety::tests::hidden::child --nocapture --test-threads 1");
    let set = format!("{TARGET}={}", target.display());
    let words = [unshare, &["env", &set, "sh", "-c", &script, text(&own)]].concat();
    let said = run("unshare", &words)?;
    let answers: Vec<String> = said
        .lines()
        .filter_map(|line| line.split_once("ANSWER "))
        .map(|(_, answer)| answer.to_owned())
        .collect();
    Some(answers.try_into().unwrap_or_else(|_| panic!("two answers: {said}")))
}

/// Places to hide, the command that does, and a reason that is given for a device.
const PLACES: [(&[&str], &str, &str); 3] = [
    (&["--mount"], "umount --lazy /proc &&", "/proc does not list mounts"),
    (&["--mount"], "umount --lazy /sys &&", "/sys does not know this device"),
    (&["--pid", "--fork", "--mount-proc"], "", "mounts outside of this container are hidden"),
];

#[test]
fn a_device_whose_users_are_hidden_needs_its_name() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 16 * MIB) else { return };
    for (unshare, hide, reason) in PLACES {
        let Some([unnamed, named]) = answers(unshare, hide, &device) else { continue };
        assert!(
            unnamed.contains("may be in use, which can't be seen here") && unnamed.contains(reason),
            "{unnamed}"
        );
        assert!(unnamed.contains(&format!("--erase {}", device.display())), "{unnamed}");
        assert_eq!(named, "written", "{reason}");
    }
}

#[test]
fn a_device_in_use_is_final_even_where_its_users_are_hidden() {
    let mut stage = Stage::new();
    let Some(device) = stage.device("file", 64 * MIB) else { return };
    if run("mkfs.ext4", &["-q", text(&device)]).is_none() || stage.mount(&device, "point").is_none() {
        return;
    }
    for (unshare, hide, _) in PLACES {
        let hide = format!("umount {} && {hide}", stage.path("point").display());
        let unshare = [&["--mount"], unshare].concat();
        let Some(answers) = answers(&unshare, &hide, &device) else { continue };
        for answer in answers {
            assert!(
                answer.starts_with("refused") && answer.contains("--erase does not override this"),
                "{answer}"
            );
        }
    }
}

#[test]
fn a_file_under_a_hidden_loop_device_is_not_free() {
    let mut stage = Stage::new();
    let file = stage.file("file", 16 * MIB);
    let Some(device) = stage.attach(&file, &[]) else { return };
    for (unshare, hide, _) in PLACES {
        let Some([unnamed, named]) = answers(unshare, hide, &file) else { continue };
        for answer in [unnamed, named] {
            assert!(answer.contains(&format!("is in use by {}", device.display())), "{hide}: {answer}");
        }
    }
    // Nor where there is no node to ask for the file, and its path leads to another one.
    let hide = "mount -t tmpfs none /dev && mkdir /dev/shm &&";
    let moved = stage.path("moved");
    std::fs::rename(&file, &moved).expect("moved");
    if let Some([unnamed, _]) = answers(&["--mount"], hide, &moved) {
        assert!(unnamed.starts_with("refused"), "{unnamed}");
    }
}
