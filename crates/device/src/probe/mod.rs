//! What a drive is made of, from the outside: questions by which its pages, dies, channels, times, spare space and buffer show. Ways of
//! uFLIP (Bouganim et al. 2009) and SSDcheck (Kim et al. 2018), for drives that place pages by their address.
//!
//! All of the drive is written. What can't be told apart from outside is not guessed: each answer says how sure it is.

#![expect(clippy::cast_sign_loss, reason = "counts: none is negative")]

mod ask;
mod flash;
mod layout;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{Error, Target};
use ask::Asked;

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The key of a device file.
    pub key: &'static str,
    /// Its value: a number, or text with its unit.
    pub value: Value,
    /// How sure it is, from 0 (a default, nothing was seen) to 1.
    pub sure: f64,
    /// How it was found.
    pub how: &'static str,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probed {
    /// The target's name.
    pub target: String,
    /// Requests that were made.
    pub requests: u64,
    /// What it is made of.
    pub answers: Vec<Answer>,
}

/// Asks a drive, which is written all over.
pub fn probe(target: &mut dyn Target, seed: u64) -> Result<Probed, Error> {
    let name = target.name();
    let capacity = target.size_bytes();
    let mut asked = Asked::new(target, seed);
    asked.discard();
    asked.fill()?;
    asked.rest(1_000_000_000)?;
    let page = layout::page_bytes(&mut asked)?;
    let layout = layout::layout(&mut asked, page)?;
    let flash = flash::flash(&mut asked, page, &layout)?;
    let buffer = flash::buffer_bytes(&mut asked, page, flash.write_ns)?;
    let transfer = layout.transfer_ns.unwrap_or(0.0);
    let split = if layout.transfer_ns.is_some() { 0.9 } else { 0.3 };
    let ns = |time: f64| json!(format!("{}ns", time.max(0.0).round()));
    let mut answers = Vec::new();
    let mut say = |key, value, sure, how| answers.push(Answer { key, value, sure, how });
    say("capacity", json!(capacity), 1.0, "the target's size");
    say("page", json!(page), 0.9, "largest aligned read that takes the time of one page at full load");
    say("channels", json!(layout.channels), split, "pairs of reads that wait for one bus");
    say("dies", json!(layout.dies), split, "pairs of reads that wait for one die");
    say("planes", json!(flash.planes), if flash.erases > 2 { 0.7 } else { 0.0 }, "erases that come together");
    say("timing.read", ns(layout.read_ns - transfer), split, "a page read alone, less its transfer");
    say(
        "timing.program",
        ns(flash.write_ns - transfer),
        split,
        "a read behind a write, less what is not the program",
    );
    say("timing.bus", json!(transfer / page as f64), split, "pairs of reads on one channel");
    let sure = if flash.erases > 2 { 0.9 } else { 0.0 };
    say(
        "timing.erase",
        flash.erase_ns.map_or(json!("1500us"), ns),
        sure,
        "what writes in order over a full die wait for at times",
    );
    say(
        "pages_per_block",
        json!(flash.block_pages.unwrap_or(128)),
        seen,
        "writes from one of these waits to the next",
    );
    say(
        "op_ratio",
        json!(flash.op_ratio.unwrap_or(0.1)),
        seen,
        "writes over a full drive before the first of these waits",
    );
    say("buffer.bytes", json!(buffer), 0.8, "writes that an idle drive takes in at once");
    Ok(Probed { target: name, requests: asked.requests, answers })
}

impl Probed {
    /// A device file that `simulate --device` takes, each key with how sure it is.
    pub fn device_file(&self) -> String {
        let mut text =
            format!("# Probed from {} with {} requests.\n", self.target.replace('\n', " "), self.requests);
        let (plain, grouped): (Vec<_>, Vec<_>) =
            self.answers.iter().partition(|answer| !answer.key.contains('.'));
        let line = |key: &str, answer: &Answer| {
            format!("{key} = {} # sure: {:.1} ({})\n", answer.value, answer.sure, answer.how)
        };
        for answer in plain {
            text.push_str(&line(answer.key, answer));
        }
        for group in ["timing", "buffer"] {
            text.extend(["\n[", group, "]\n"]);
            for answer in &grouped {
                if let Some((_, key)) = answer.key.split_once('.').filter(|(name, _)| *name == group) {
                    text.push_str(&line(key, answer));
                }
            }
        }
        text
    }
}
