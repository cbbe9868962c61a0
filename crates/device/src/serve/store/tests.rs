//! All stores hold the same bytes.

use super::*;

fn stores(folder: &Path, bytes: u64) -> Vec<Store> {
    let file = folder.join("data").display().to_string();
    vec![
        Store::open(&file, bytes, FileState::Whole).expect("a file"),
        Store::open("memory", bytes, FileState::Whole).expect("memory"),
    ]
}

#[test]
fn what_was_written_is_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let bytes = 1 << 20;
    for store in stores(dir.path(), bytes) {
        let mut expected = vec![0; bytes as usize];
        let mut seed = 1u64;
        let mut draw = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for round in 0..400u32 {
            let (at, len) = (draw(2000) * 512, (draw(80) + 1) * 512);
            let len = len.min(bytes - at);
            let range = at as usize..(at + len) as usize;
            if draw(4) == 0 {
                store.zero(at, len, round % 2 == 0).expect("zeroed");
                expected[range].fill(0);
            } else {
                expected[range.clone()].fill(round as u8);
                store.write(at, &expected[range]).expect("written");
            }
        }
        let mut found = vec![1; bytes as usize];
        store.read(0, &mut found).expect("read");
        assert!(found == expected, "{store:?}");
        let extents = store.extents(0, bytes, usize::MAX).expect("extents");
        assert_eq!(extents.iter().map(|(len, _)| len).sum::<u64>(), bytes);
        let mut at = 0;
        for (len, hole) in extents {
            let range = at as usize..(at + len) as usize;
            assert!(!hole || expected[range].iter().all(|byte| *byte == 0), "{store:?} at {at}");
            at += len;
        }
        assert_eq!(store.extents(4096, 8192, 1).expect("extents").len(), 1);
    }
}

#[test]
fn a_pattern_is_its_own_address() {
    let store = Store::open("none", 1 << 40, FileState::Whole).expect("a pattern");
    let mut bytes = [0; 16];
    store.write(1 << 39, &[7; 16]).expect("taken");
    store.read((1 << 39) + 512, &mut bytes).expect("read");
    assert_eq!(bytes[..8], ((1u64 << 39) + 512).to_le_bytes());
    assert_eq!(bytes[8..], ((1u64 << 39) + 520).to_le_bytes());
}

#[test]
fn a_file_of_a_killed_server_is_not_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().display().to_string();
    let refused = |bytes| Store::open(&folder, bytes, FileState::Whole).expect_err("refused").to_string();
    let there = Store::open(&folder, 8192, FileState::There).expect_err("not there").to_string();
    assert!(there.contains("has no bytes of the drive that --state has"), "{there}");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "nothing is made");
    let store = Store::open(&folder, 8192, FileState::Whole).expect("made");
    assert!(refused(8192).contains("is writing to it"), "{}", refused(8192));
    drop(store);
    assert!(refused(8192).contains("is not whole"), "{}", refused(8192));
    std::fs::remove_file(dir.path().join("drive.data.open")).expect("removed");
    let store = Store::open(&folder, 8192, FileState::Whole).expect("taken as it is");
    store.finish().expect("whole");
    drop(store);
    assert!(refused(4096).contains("has 8192 bytes"), "{}", refused(4096));
    assert!(Store::open(&folder, 8192, FileState::Whole).is_ok());
}
