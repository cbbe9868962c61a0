//! Structure of a drive, measured from outside: measurements that show its pages, dies, channels, times, spare space
//! and buffer, in the ways of uFLIP (Bouganim et al. 2009) and SSDcheck (Kim et al. 2018), by pairs of reads, and by
//! writes that make collections show.
//!
//! The drive is written all over. Only requests and their times are used. Structures that behave alike from outside are
//! not guessed: each answer gives its confidence, and a key without evidence keeps its default.

mod ask;
mod buffer;
mod file;
mod fold;
mod layout;
mod order;
mod page;
mod passing;
mod spare;
#[cfg(test)]
mod tests;

use flashweir_run::Progress;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Error, OpenOptions, Target, named_again, open};
use ask::Asked;
use layout::{Layout, Placing};
use page::Page;
use passing::Waiting;
use spare::Spare;

/// Smallest drive on which there is room for questions, bytes.
const SMALLEST: u64 = 2 << 20;
/// Cores of the firmware in the file: enough that no command waits for one.
const CORES: u64 = 64;

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The key of a device file.
    pub key: &'static str,
    /// Its value: a number, or text with its unit.
    pub value: Value,
    /// Confidence, from 0 (a default, nothing was seen) to 1.
    pub sure: f64,
    /// Method by which it was found, or the reason why it was not.
    pub how: &'static str,
}

/// Results of a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probed {
    /// The target's name.
    pub target: String,
    /// Requests that were made.
    pub requests: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Answers about the structure of the drive.
    pub answers: Vec<Answer>,
}

/// Specification of a probe: the drive, and the settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// `sim:...`, `py:...`, or the path of a block device or file.
    pub target: String,
    /// The target's own name, typed once more: what is on it is destroyed. Real drives need it, whatever is on them.
    #[serde(default)]
    pub erase: Option<String>,
    /// Of the random addresses.
    #[serde(default)]
    pub seed: u64,
}

/// Opens a drive and asks it. What was found as JSON, with the device file as `device_file`.
///
/// # Errors
/// The drive can't be used or is too small, a real one is not named once more, it fails, or `tell` said no.
pub fn probe(spec: &ProbeSpec, tell: &mut dyn FnMut(&Progress) -> bool) -> Result<Value, Error> {
    named_again(&spec.target, spec.erase.as_deref(), "probing")?;
    let options =
        OpenOptions { write: true, erase: spec.erase.clone(), seed: spec.seed, ..OpenOptions::default() };
    let mut target = open(&spec.target, &options)?;
    let found = ask_all(target.as_mut(), spec.seed, tell)?;
    let mut value = json!(found);
    value["device_file"] = json!(found.device_file());
    Ok(value)
}

/// Asks a drive, which is written all over. `tell` is called about ten times a second, and ends it when it returns false.
///
/// # Errors
/// The drive is too small or fails, or `tell` said no.
pub fn ask_all(
    target: &mut dyn Target,
    seed: u64,
    tell: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Probed, Error> {
    let (name, capacity) = (target.name(), target.size_bytes());
    if capacity < SMALLEST {
        let detail = format!(
            "it has {capacity} bytes; expected at least {SMALLEST}, so that there is room for questions"
        );
        return Err(Error::Target { path: name.into(), detail });
    }
    let mut asked = Asked::new(target, seed, tell);
    let discarded = asked.discard()?;
    let page = page::page(&mut asked, discarded)?;
    if discarded && page.sure < 1.0 {
        asked.discard()?;
    }
    let layout = layout::layout(&mut asked, page.bytes, page.forgets)?;
    asked.fill_from(layout.window * page.bytes)?;
    let spare = spare::spare(&mut asked, page.bytes, &layout, page.forgets)?;
    let write_ns = spare.write_ns.iter().copied().reduce(f64::min).unwrap_or(layout.write_ns);
    let buffer = buffer::buffer_bytes(&mut asked, page.bytes, write_ns)?;
    let waiting = if let (Placing::Fixed, Some(buffer)) = (layout.placing, buffer) {
        let erases = (spare.block_pages.unwrap_or(1), spare.erase_ns.unwrap_or(0.0));
        passing::waiting(&mut asked, page.bytes, &layout, &spare.write_ns, erases, buffer)?
    } else {
        Waiting::InOrder
    };
    let (requests, written_bytes) = (asked.requests(), asked.written_bytes);
    Ok(Probed {
        target: name,
        requests,
        written_bytes,
        answers: answers(capacity, page, &layout, &spare, (buffer, waiting)),
    })
}

/// Maximum confidence that the noise allows.
fn steadiness(layout: &Layout) -> f64 {
    match layout.noise {
        noise if noise < layout::QUIET => 1.0,
        noise if noise < 0.1 => 0.8,
        _ => 0.5,
    }
}

/// Answers for the keys of a device file, from all measurements.
fn answers(
    capacity: u64,
    page: Page,
    layout: &Layout,
    spare: &Spare,
    (buffer, waiting): (Option<u64>, Waiting),
) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut say = |key, value, sure, how| answers.push(Answer { key, value, sure, how });
    let steady = steadiness(layout);
    let seen = if layout.regular { steady } else { 0.2 };
    let apart = layout.transfer_ns.is_some();
    let split = if apart { seen } else { seen * 0.3 };
    say("capacity", json!(capacity), 1.0, "the target's size");
    say("page", json!(page.bytes), page.sure, page.how);
    let how =
        if apart { "pairs of reads that wait for one bus" } else { "no two dies are seen to share a bus" };
    say("channels", json!(layout.channels), split, how);
    let shape = order::shape(layout, spare.planes.unwrap_or(1));
    if shape.chips > 1 {
        say("chips", json!(shape.chips), split * 0.7, "the order in which pages share dies");
    }
    say("dies", json!(shape.dies), split, "pairs of reads that wait for one die");
    let known = spare.planes.map_or(0.0, |_| steady);
    let how = spare.missing.unwrap_or("collections that come together on a die");
    say("planes", json!(spare.planes.unwrap_or(1)), known, how);
    let unplaced = waiting == Waiting::Unplaced && layout.dies > 1;
    let turns = layout.placing == Placing::Fixed && (spare.turns || unplaced);
    let placing = match layout.placing {
        Placing::Fixed if turns && layout.dies > 1 => Placing::FixedChannel,
        Placing::Fixed if turns => Placing::Free,
        placing => placing,
    };
    match placing {
        Placing::Fixed if shape.order != "CDPW" => {
            say("alloc.order", json!(shape.order), split * 0.7, "which pages share dies and channels");
        }
        Placing::Fixed => {}
        placing => {
            let how = if unplaced {
                "writes wait before their place is known"
            } else if turns {
                "a page that is written again lies on another plane"
            } else {
                "a page that is written again lies on another die"
            };
            say("alloc.kind", json!("dynamic"), seen, how);
            if placing == Placing::FixedChannel && layout.channels > 1 {
                say("alloc.mode", json!(1), split, "but on the same channel");
            }
        }
    }
    answers.extend(of_flash(page, layout, spare, buffer, waiting != Waiting::InOrder && !turns));
    answers
}

/// A time as text.
fn nanoseconds(time: f64) -> String {
    format!("{}ns", time.max(0.0).round())
}

/// Answers on times, blocks, spare space and the buffer. `passing`: reads pass writes.
fn of_flash(page: Page, layout: &Layout, spare: &Spare, buffer: Option<u64>, passing: bool) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut say = |key, value, sure, how| answers.push(Answer { key, value, sure, how });
    let steady = steadiness(layout);
    let apart = layout.transfer_ns.is_some();
    let seen = if layout.regular { steady } else { 0.2 };
    let split = seen * if apart { 1.0 } else { 0.3 };
    let transfer = layout.transfer_ns.unwrap_or(0.0);
    let ns = |time: f64, outside: f64| nanoseconds(time - transfer - outside);
    let list = |times: &[f64], otherwise: f64, outside: f64| match times {
        [] => json!(ns(otherwise, outside)),
        [one] => json!(ns(*one, outside)),
        several => json!(several.iter().map(|time| ns(*time, outside)).collect::<Vec<_>>()),
    };
    let (read, write) = if apart {
        ("a page read alone, less its transfer", "a page written through, less its transfer")
    } else {
        ("a page read alone, with its transfer", "a page written through, with its transfer")
    };
    let (read_outside, write_outside) = (layout.outside_ns, layout.write_outside_ns);
    let apart_sure = steady * if apart { 1.0 } else { 0.6 };
    say("timing.read", list(&spare.read_ns, layout.read_ns, read_outside), apart_sure, read);
    let program = list(&spare.write_ns, layout.write_ns, write_outside);
    // Of a drive that programs several pages at once a single one may be held for the next.
    let least = spare.write_ns.iter().copied().fold(layout.write_ns, f64::min) - transfer - write_outside;
    if least > 0.0 {
        say("timing.program", program, apart_sure, write);
    } else {
        let how = "a page written through ends before a program could: with the next pages";
        say("timing.program", json!(nanoseconds(layout.write_ns)), 0.0, how);
    }
    let bus = (transfer / page.bytes as f64 * 1e3).round() / 1e3;
    let how = if apart {
        "pairs of reads on one channel"
    } else {
        "not distinguished from reads and programs: included in their times"
    };
    say("timing.bus", json!(bus), split, how);
    let known = if spare.erase_ns.is_some() { steady } else { 0.0 };
    let how = spare.missing.unwrap_or("what writes in order wait for, once a block");
    let erase = spare.erase_ns.unwrap_or(0.0);
    say("timing.erase", json!(nanoseconds(erase)), known, how);
    let how = spare.missing.unwrap_or("writes from one erase to the next");
    let known = if spare.block_pages.is_some() { steady } else { 0.0 };
    say("pages_per_block", json!(spare.block_pages.unwrap_or(128)), known, how);
    let how = spare.missing.unwrap_or("writes over a full drive before pages have to be moved");
    let known = if spare.op_ratio.is_some() { steady } else { 0.0 };
    let ratio = (spare.op_ratio.unwrap_or(0.1) * 1e6).round() / 1e6;
    say("op_ratio", json!(ratio), known, how);
    if spare.two_frontiers {
        say("gc.frontiers", json!(2), known * 0.8, "blocks are as long as the distance of collections");
    }
    if passing {
        say(
            "sched.kind",
            json!("read-first"),
            steady * 0.7,
            "a read behind several writes to its die waits for one",
        );
    }
    let (known, how) = match buffer {
        Some(_) => (steady * 0.9, "writes that an idle drive takes in at once"),
        None => (0.0, "no write had to wait"),
    };
    say("buffer.bytes", json!(buffer.unwrap_or(0)), known, how);
    answers.extend(of_firmware(layout, seen));
    answers
}

/// Answers on the part of requests in which no die or channel works, which all commands take at the same time.
fn of_firmware(layout: &Layout, sure: f64) -> Vec<Answer> {
    if layout.outside_ns <= 0.0 {
        return Vec::new();
    }
    let read =
        "two reads of one page end earlier together than one after the other by this: firmware and link";
    let write = "a flush of nothing, and a write that waits for no die";
    [
        ("firmware.cores", json!(CORES), read),
        ("firmware.read_time", json!(nanoseconds(layout.outside_ns)), read),
        ("firmware.write_time", json!(nanoseconds(layout.write_outside_ns)), write),
    ]
    .map(|(key, value, how)| Answer { key, value, sure, how })
    .into()
}
