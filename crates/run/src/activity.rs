//! Activity of each channel over time: the time of its dies by purpose, and its dirty pages, in bins of equal width.
//!
//! A bin is a whole number of ns wide. There are at most [`MAX_BINS`]: when a run outgrows them, neighbours are added up
//! and the width doubles, so memory depends neither on the length of the run nor on the slices in which it is recorded,
//! and a bin holds what it would have held had it been as wide from the start. Everything is counted in integers until
//! it is written.
//!
//! *Waiting* is die time without a command while a write waits for room in the write buffer: all die time of that
//! wait, less the commands within it. Both must be recorded completely before they are counted. Commands and waits are
//! therefore kept until the drive has settled the time they lie in.

mod bins;

use flashweir_ssd::{FullRecord, Geometry, Purpose, Recorded};
use flashweir_trace::quantity::parse_nanos;
use serde_json::{Value, json};

use crate::error::Error;
use bins::Bins;

/// Most bins of a result.
const MAX_BINS: u64 = 1000;

/// Series of a channel: die time by purpose, die time of commands while the buffer is full, and pages x ns.
const SERIES: usize = Purpose::COUNT + 2;
const BUSY_WHILE_FULL: usize = Purpose::COUNT;
const DIRTY: usize = Purpose::COUNT + 1;

/// The simulated time that is looked at, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    from_ns: u64,
    /// Excluded; `u64::MAX` is the end of the run.
    to_ns: u64,
}

impl Window {
    /// Parses a run's `activity`: nothing (null or false), all of the run (true or "all"), or FROM..TO.
    pub(crate) fn parse(asked: Option<&Value>) -> Result<Option<Self>, Error> {
        match asked {
            None | Some(Value::Null | Value::Bool(false)) => Ok(None),
            Some(Value::Bool(true)) => Ok(Some(Self { from_ns: 0, to_ns: u64::MAX })),
            Some(Value::String(text)) => Self::of_text(text).map(Some),
            Some(other) => Err(refused(&other.to_string(), "`all`, or a window such as 10ms..20ms")),
        }
    }

    fn of_text(text: &str) -> Result<Self, Error> {
        let bound = |bound: &str, left_out| {
            let bound = bound.trim();
            if bound.is_empty() { Some(left_out) } else { parse_nanos(bound) }
        };
        if text.trim() == "all" {
            return Ok(Self { from_ns: 0, to_ns: u64::MAX });
        }
        let bounds = text.split_once("..").map(|(from, to)| (bound(from, 0), bound(to, u64::MAX)));
        let Some((Some(from_ns), Some(to_ns))) = bounds else {
            let expected = "`all`, or a window of simulated time such as 10ms..20ms, 10ms.. or ..20ms";
            return Err(refused(text, expected));
        };
        if from_ns >= to_ns {
            return Err(refused(text, "a window that ends after it starts"));
        }
        Ok(Self { from_ns, to_ns })
    }

    /// The part of a span that lies in the window, from the window's start; empty if nothing does.
    fn clip(&self, start_ns: u64, end_ns: u64) -> (u64, u64) {
        let end = end_ns.min(self.to_ns).saturating_sub(self.from_ns);
        (start_ns.saturating_sub(self.from_ns).min(end), end)
    }
}

fn refused(what: &str, expected: &str) -> Error {
    Error::Setting { what: format!("activity {what}"), expected: format!("expected {expected}") }
}

/// A number of pages, and since when, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    pages: i64,
    since_ns: u64,
}

/// A command that may yet turn out to lie in a wait.
#[derive(Clone, Copy, Debug)]
struct Held {
    channel: usize,
    start_ns: u64,
    end_ns: u64,
}

/// Counts the activity of a run.
#[derive(Debug)]
pub(crate) struct Activity {
    window: Window,
    channels: usize,
    dies_per_channel: u32,
    bins: Bins,
    /// End of each die's last command, ns: up to there its time is counted.
    counted_ns: Vec<u64>,
    /// Dirty pages of each channel, then of the drive.
    dirty: Vec<Level>,
    /// Without a buffer nothing ever waits for it.
    has_buffer: bool,
    held: Vec<Held>,
    waits: Vec<FullRecord>,
    /// Commands and waits before this are done with, ns.
    settled_ns: u64,
    /// The latest end of a command or request, ns.
    end_ns: u64,
}

impl Activity {
    pub(crate) fn new(window: Window, geometry: &Geometry, has_buffer: bool) -> Self {
        let channels = geometry.channels as usize;
        Self {
            window,
            channels,
            dies_per_channel: geometry.dies_per_channel(),
            bins: Bins::new(channels * SERIES + 2, MAX_BINS),
            counted_ns: vec![0; geometry.total_dies() as usize],
            dirty: vec![Level::default(); channels + 1],
            has_buffer,
            held: Vec::new(),
            waits: Vec::new(),
            settled_ns: 0,
            end_ns: 0,
        }
    }

    /// The drive's series: time with a full buffer, then pages x ns of all channels.
    fn full(&self) -> usize {
        self.channels * SERIES
    }

    /// Counts what was recorded since the last call.
    pub(crate) fn take(&mut self, recorded: &Recorded) {
        let whole = recorded
            .commands
            .iter()
            .map(|command| (command.resumed_ns, command.die, command.end_ns, command.purpose));
        let before = recorded.holds.iter().map(|hold| (hold.start_ns, hold.die, hold.end_ns, hold.purpose));
        let mut held: Vec<_> = whole.chain(before).collect();
        held.sort_by_key(|(start_ns, die, ..)| (*start_ns, *die));
        for (start_ns, die, end_ns, purpose) in held {
            self.end_ns = self.end_ns.max(end_ns);
            // With cache program the next page comes in beside a program: that time is the program's. With cache read the next
            // page is sensed while one leaves: that time is the earlier read's.
            let counted = &mut self.counted_ns[die as usize];
            let start_ns = start_ns.max(*counted);
            *counted = end_ns;
            let channel = (die / self.dies_per_channel) as usize;
            self.add(channel * SERIES + purpose as usize, start_ns, end_ns, 1);
            if self.has_buffer {
                self.held.push(Held { channel, start_ns, end_ns });
            }
        }
        for dirty in &recorded.dirty_pages {
            let of_channel = dirty.channel.map(|channel| channel as usize);
            for level in of_channel.into_iter().chain([self.channels]) {
                self.count_dirty(level, dirty.time_ns);
                self.dirty[level].pages += i64::from(dirty.change);
            }
        }
        for request in &recorded.requests {
            self.end_ns = self.end_ns.max(request.completion_ns);
        }
        for wait in &recorded.full {
            self.add(self.full(), wait.start_ns, wait.end_ns, 1);
        }
        self.waits.extend(&recorded.full);
        self.settle(recorded.settled_ns);
    }

    /// The `activity` of the result.
    pub(crate) fn finish(mut self) -> Value {
        self.settle(u64::MAX);
        for level in 0..self.dirty.len() {
            self.count_dirty(level, self.end_ns);
        }
        let (_, length_ns) = self.window.clip(0, self.end_ns);
        self.bins.fit(length_ns);
        let width_ns = self.bins.width_ns();
        // The last bin ends with the run, or with the window.
        let lengths: Vec<u64> =
            (0..length_ns.div_ceil(width_ns)).map(|bin| width_ns.min(length_ns - bin * width_ns)).collect();
        let dirty_pages = |series: usize| -> Vec<f64> {
            let bins = lengths.iter().enumerate();
            bins.map(|(bin, length)| self.bins.get(series, bin) as f64 / *length as f64).collect()
        };
        let channels: Vec<Value> = (0..self.channels)
            .map(|channel| {
                let mut shares = self.shares(channel, &lengths);
                shares["dirty_pages"] = json!(dirty_pages(channel * SERIES + DIRTY));
                shares
            })
            .collect();
        json!({
            "from_s": self.window.from_ns as f64 / 1e9,
            "to_s": (self.window.from_ns + length_ns) as f64 / 1e9,
            "bin_s": width_ns as f64 / 1e9,
            "channels": channels,
            "dirty_pages": dirty_pages(self.full() + 1),
        })
    }

    /// Shares of a channel's die time in bins of these lengths.
    fn shares(&self, channel: usize, lengths: &[u64]) -> Value {
        let dies = u128::from(self.dies_per_channel);
        let mut shares = [const { Vec::new() }; Purpose::COUNT + 2];
        for (bin, length) in lengths.iter().enumerate() {
            let of = |series| self.bins.get(channel * SERIES + series, bin);
            let all = u128::from(*length) * dies;
            let busy = [Purpose::Host, Purpose::Gc, Purpose::Mapping].map(|purpose| of(purpose as usize));
            let waiting = self.bins.get(self.full(), bin) * dies - of(BUSY_WHILE_FULL);
            let idle = all - busy.iter().sum::<u128>() - waiting;
            for (share, ns) in shares.iter_mut().zip(busy.into_iter().chain([waiting, idle])) {
                share.push(ns as f64 / all as f64);
            }
        }
        let [host, gc, mapping, waiting, idle] = shares;
        json!({"host": host, "gc": gc, "mapping": mapping, "waiting": waiting, "idle": idle})
    }

    /// Adds `each` for every ns of a span within the window.
    fn add(&mut self, series: usize, start_ns: u64, end_ns: u64, each: u64) {
        let (start, end) = self.window.clip(start_ns, end_ns);
        self.bins.add(series, start, end, each);
    }

    /// Counts the dirty pages of a level up to now.
    fn count_dirty(&mut self, level: usize, now_ns: u64) {
        let Level { pages, since_ns } = self.dirty[level];
        self.dirty[level].since_ns = now_ns;
        let series = if level == self.channels { self.full() + 1 } else { level * SERIES + DIRTY };
        self.add(series, since_ns, now_ns, u64::try_from(pages).unwrap_or(0));
    }

    /// Everything before `settled_ns` is recorded: finds what commands did while the buffer was full.
    fn settle(&mut self, settled_ns: u64) {
        let (held, waits) = (std::mem::take(&mut self.held), std::mem::take(&mut self.waits));
        for command in &held {
            let from = command.start_ns.max(self.settled_ns);
            let to = command.end_ns.min(settled_ns);
            let first = waits.partition_point(|wait| wait.end_ns <= from);
            for wait in waits[first..].iter().take_while(|wait| wait.start_ns < to) {
                let series = command.channel * SERIES + BUSY_WHILE_FULL;
                self.add(series, wait.start_ns.max(from), wait.end_ns.min(to), 1);
            }
        }
        self.held = held.into_iter().filter(|command| command.end_ns > settled_ns).collect();
        self.waits = waits.into_iter().filter(|wait| wait.end_ns > settled_ns).collect();
        self.settled_ns = settled_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_two_times_of_which_either_may_be_left_out() {
        let window = |text: &str| Window::parse(Some(&text.into())).map(|window| window.expect("on"));
        let of = |text| window(text).map(|window| (window.from_ns, window.to_ns)).expect("a window");
        assert_eq!(of("10ms..20ms"), (10_000_000, 20_000_000));
        assert_eq!(of("1.5us .. 2s"), (1500, 2_000_000_000));
        assert_eq!(of("..700"), (0, 700));
        assert_eq!(of("1us.."), (1000, u64::MAX));
        assert_eq!(of("all"), (0, u64::MAX));
        assert_eq!(Window::parse(Some(&true.into())).expect("a flag"), window("all").ok());
        for off in [None, Some(&Value::Null), Some(&false.into())] {
            assert_eq!(Window::parse(off).expect("off"), None);
        }
        for bad in ["", "x", "10ms", "1ms..x", "-1ms..1ms", "1ms..1ms..2ms", "1...2", "everything"] {
            let error = window(bad).expect_err(bad).to_string();
            let expected = "`all`, or a window of simulated time such as 10ms..20ms, 10ms.. or ..20ms";
            assert_eq!(error, format!("activity {bad}: expected {expected}"));
        }
        for empty in ["2ms..1ms", "1ms..1000us", "..0"] {
            let error = window(empty).expect_err(empty).to_string();
            assert_eq!(error, format!("activity {empty}: expected a window that ends after it starts"));
        }
        let error = Window::parse(Some(&5.into())).expect_err("a number").to_string();
        assert_eq!(error, "activity 5: expected `all`, or a window such as 10ms..20ms");
    }

    #[test]
    fn what_lies_outside_a_window_is_cut_off() {
        let window = Window { from_ns: 10, to_ns: 20 };
        let spans = [(0, 5), (5, 15), (12, 15), (15, 99), (20, 30), (0, 99)];
        let cut = [(0, 0), (0, 5), (2, 5), (5, 10), (10, 10), (0, 10)];
        assert_eq!(spans.map(|(start, end)| window.clip(start, end)), cut);
    }
}
