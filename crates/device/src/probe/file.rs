//! Device file with the results of a probe.

use std::fmt::Write as _;

use super::{Answer, Probed};

/// Tables of a device file.
const TABLES: [&str; 6] = ["timing", "alloc", "gc", "sched", "buffer", "firmware"];

impl Probed {
    /// A device file that `simulate --device` takes, each key with how sure it is.
    pub fn device_file(&self) -> String {
        let name: String =
            self.target.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let mut text = format!("# Probed from {name} with {} requests.\n", self.requests);
        let (plain, grouped): (Vec<_>, Vec<_>) =
            self.answers.iter().partition(|answer| !answer.key.contains('.'));
        for answer in plain {
            line(&mut text, answer.key, answer);
        }
        for table in TABLES {
            let mut keys = grouped
                .iter()
                .filter_map(|answer| Some((answer.key.strip_prefix(table)?.strip_prefix('.')?, answer)))
                .peekable();
            if keys.peek().is_some() {
                let _infallible = writeln!(text, "\n[{table}]");
            }
            keys.for_each(|(key, answer)| line(&mut text, key, answer));
        }
        text
    }
}

fn line(text: &mut String, key: &str, answer: &Answer) {
    // JSON of numbers, texts and lists of texts is TOML as well.
    let _infallible = writeln!(text, "{key} = {} # sure: {:.1}; {}", answer.value, answer.sure, answer.how);
}
