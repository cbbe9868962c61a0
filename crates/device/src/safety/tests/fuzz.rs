//! Random stacks of files, loop devices, partitions, file systems and swap, against one rule: what was not named or is in use keeps
//! its bytes. The rule is worked out in `stack`, from what was built, and not from what the kernel says.
//!
//! `FLASHWEIR_FUZZ_CASES` says how many stacks, `FLASHWEIR_FUZZ_SEED` where to begin.

use std::fs::File;
use std::os::unix::fs::FileExt;

use flashweir_trace::{Op, Request};

use super::stack::Stack;
use super::*;
use crate::Timing;
use crate::real::Engine;

/// Stacks of a run of all tests.
const CASES: u64 = 12;

/// Outcome of an attempt that kept the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Written,
    InUse,
    Unnamed,
}

impl Stack {
    /// Writes a target, if that is allowed; holds the outcome against the rule.
    fn attempt(&mut self, node: usize, erase: Option<&str>) -> Outcome {
        let path = self.built[node].path.clone();
        let named = erase == Some(text(&path));
        let (in_use, data) = (self.is_in_use(node), self.holds_data(node));
        let has_parts =
            self.built.iter().any(|other| other.is_partition && other.on.is_some_and(|on| on.lower == node));
        let before = self.grounds();
        let options = OpenOptions {
            write: true,
            erase: erase.map(str::to_owned),
            engine: Engine::Sync,
            max_outstanding: 1,
            direct: false,
            ..OpenOptions::default()
        };
        let opened = open(text(&path), &options);
        let may = !in_use && (named || erase.is_none() && !data && !has_parts);
        let context = format!(
            "{} erase {erase:?}: in use {in_use}, data {data}\n{:#?}\n{:#?}",
            path.display(),
            self.history,
            self.built
        );
        match opened {
            Err(error) => {
                // A file of zeros that were written is not empty, though it looks so here.
                let is_file = self.built[node].on.is_none();
                assert!(!may || is_file && erase.is_none(), "refused: {error}\n{context}");
                assert!(self.grounds() == before, "a refusal has written\n{context}");
                if in_use { Outcome::InUse } else { Outcome::Unnamed }
            }
            Ok(mut target) => {
                assert!(may, "opened: {context}");
                let blocks = self.built[node].bytes / 4096;
                let lba = self.random.below(blocks) * 8;
                let write = Request { time_ns: 0, lba, sectors: 8, stream: 0, op: Op::Write };
                let mut requests = std::iter::once(Ok(write));
                target.execute(&mut requests, Timing::Closed { depth: 1 }, &mut |_| Ok(())).expect("written");
                drop(target);
                let file = std::fs::File::open(&path).expect("opened");
                rustix::fs::fsync(&file).expect("on the drive");
                let ground = self.way(node).last().copied().expect("a ground");
                let block = ground.start / 4096 + lba / 8;
                for (other, mut now) in self.grounds() {
                    let mut before = before[&other].clone();
                    if other == ground.lower {
                        now.remove(&block);
                        before.remove(&block);
                    }
                    assert!(now == before, "bytes of {other} changed\n{context}");
                }
                // Zeros again, where there were some: the next attempt is to find the same.
                let zeros = File::options().write(true).open(&path).expect("opened");
                if !data {
                    zeros.write_all_at(&[0; 4096], lba * 512).expect("zeros");
                    rustix::fs::fsync(&zeros).expect("on the drive");
                }
                Outcome::Written
            }
        }
    }
}

#[test]
fn what_was_not_named_or_is_in_use_keeps_its_bytes() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cases = number("FLASHWEIR_FUZZ_CASES").unwrap_or(CASES);
    let first = number("FLASHWEIR_FUZZ_SEED").unwrap_or(1);
    if Stage::new().device("file", MIB).is_none() {
        return;
    }
    let mut outcomes = Vec::new();
    for seed in first..first + cases {
        let mut stack = Stack::new(seed);
        let steps = 6 + stack.random.below(12);
        for _ in 0..steps {
            // A step that can't be made is no step: the stack is what was built.
            let _ = stack.step();
        }
        for node in 0..stack.built.len() {
            let own = text(&stack.built[node].path).to_owned();
            for erase in [None, Some("/dev/another"), Some(own.as_str())] {
                outcomes.push(stack.attempt(node, erase));
            }
        }
    }
    for outcome in [Outcome::Written, Outcome::InUse, Outcome::Unnamed] {
        let count = outcomes.iter().filter(|other| **other == outcome).count();
        eprintln!("{outcome:?}: {count} of {} attempts on {cases} stacks", outcomes.len());
        assert!(count > 0, "the rule was not put to the test");
    }
}
