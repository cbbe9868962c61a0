//! Benchmark suite of a workload, and the reason in words that need no knowledge of drives.
//!
//! The rule is the text of Yang 2009, sections 5.3 and 6.2 to 6.4, with the thresholds that it implies:
//! - *gc*: "very strong rewriting". More is written over old data than to new places: rewrites are the majority of the
//!   bytes. What the paper puts there has 56% and more, everything else 21% and less.
//! - *transfer*: mostly sequential or in long requests (64 KiB), and "rewrites are only 5% of it, so that the speed of
//!   transfers decides". Little rewriting is less than a tenth, between those 5% and the 18% from which on it counts.
//! - *buffer*: "locality of chunks": little rewriting; most requests are short and go neither on nor far: near one of the
//!   last K + 1, as when several chunks of 9.28 MB are filled at once. The whole looks scattered, and a buffer that waits
//!   for a chunk's other pieces sees that it is not.
//! - *mapping*: "short and scattered over a wide range": more at random than sequential, and most short requests far from
//!   the last ones.
//! - *overall*: "no single feature decides": everything else.

use serde::Serialize;

use super::counts::Counts;

/// Majorities are more than this.
const MAJORITY: f64 = 0.5;
/// Rewriting below this is little.
const LITTLE: f64 = 0.1;

/// A suite, named after the part of a drive that decides how fast it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Speed of transfers to the flash.
    Transfer,
    /// Gathering of related data in the write buffer.
    Buffer,
    /// Granularity of the address mapping.
    Mapping,
    /// Reclaiming of space (garbage collection).
    Gc,
    /// All of them.
    Overall,
}

/// A suite and why a workload belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The suite; `None` where nothing is written.
    pub name: Option<Suite>,
    /// Why, in one sentence.
    pub reason: String,
}

/// The suite of what was counted of writes.
pub(super) fn verdict(writes: &Counts) -> Verdict {
    let (bytes, requests) = (writes.shares(super::REWRITE, false), writes.shares(super::REWRITE, true));
    let (Some(sequential), Some(rewrites), Some(long)) = (bytes.sequential, bytes.again, bytes.long) else {
        let reason = "Nothing is written, and the suites are about writing.".into();
        return Verdict { name: None, reason };
    };
    let (local, scattered) = (requests.local.unwrap_or(0.0), requests.scattered.unwrap_or(0.0));
    let percent = |share: f64| match share {
        0.0 => "none".to_owned(),
        share if share < 0.1 => format!("{:.1}%", share * 100.0),
        share => format!("{:.0}%", share * 100.0),
    };
    let (name, reason) = if rewrites > MAJORITY {
        let reason = format!(
            "{} of what is written replaces older data, so the drive must clear away outdated copies all the time, \
             and how well it does that decides.",
            percent(rewrites)
        );
        (Suite::Gc, reason)
    } else if rewrites < LITTLE && local + scattered <= MAJORITY && (sequential > MAJORITY || long > MAJORITY)
    {
        let (after, of_64k) = (percent(sequential), percent(long));
        let how = match (sequential > MAJORITY, long > MAJORITY) {
            (true, true) => {
                format!("one piece after the other ({after} of it) and in long pieces ({of_64k} of it)")
            }
            (true, false) => format!("one piece after the other ({after} of it)"),
            (false, _) => format!("in long pieces ({of_64k} of it)"),
        };
        let little = percent(rewrites);
        let reason = format!(
            "Data comes {how}, and little of it ({little}) is ever replaced, so the speed at which the drive takes data \
             in decides."
        );
        (Suite::Transfer, reason)
    } else if rewrites < LITTLE && local > MAJORITY {
        let reason = format!(
            "{} of the writes are short pieces that fall near each other but out of order, and little ({}) is ever \
             replaced, so it matters whether the drive's buffer holds pieces until they fit together.",
            percent(local),
            percent(rewrites)
        );
        (Suite::Buffer, reason)
    } else if sequential <= MAJORITY && scattered > local && local + scattered > MAJORITY {
        let reason = format!(
            "{} of the writes are short and far from those just before, and {}{} of the data comes one piece after \
             the other, so it matters how finely the drive keeps track of where each piece lies.",
            percent(scattered),
            if sequential > 0.0 { "only " } else { "" },
            percent(sequential)
        );
        (Suite::Mapping, reason)
    } else {
        let reason = format!(
            "No single thing stands out ({} of the data comes one piece after the other, {} replaces older data, {} of \
             the writes are short and out of order), so all parts of the drive count together.",
            percent(sequential),
            percent(rewrites),
            percent(local + scattered)
        );
        (Suite::Overall, reason)
    };
    Verdict { name: Some(name), reason }
}
