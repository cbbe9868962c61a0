//! Workload generators: requests out of a few numbers, the same on every machine.
//!
//! A spec is `kind:key=value,...`, such as `random:span=16GiB,size=4KiB,align=512,count=1000000,seed=1`. [`Kind`]
//! lists the kinds, [`KEYS`] every key with its unit and default; `docs/reference/workloads.md` explains them.
//!
//! Fixed for good, since results depend on it:
//! - Requests lie inside `[offset, offset + span)` and start at the offset plus a multiple of `align`. Except in
//!   `sequential`, starts are the same for all sizes of a list: those at which the largest fits.
//! - Addresses, operations, sizes and arrivals draw from sub-streams of their own (xoshiro256++, 2^128 numbers
//!   apart). So the addresses stay the same whatever the shares of reads and writes or the arrivals; flushes have no
//!   address and draw none.
//! - Integers are uniform to the last bit, logarithms and powers are `libm`'s.
//!
//! `filecopy` and `desktop` are made of other parts: [`volume`] says which. The kinds named after applications are
//! [`app`]'s.
//!
//! A new distribution is one file here, one arm in [`Kind`], and one in `Places` and `Addresses`.

mod app;
mod arrivals;
mod desktop;
mod draw;
mod filecopy;
mod hotcold;
mod keys;
mod mix;
mod place;
mod random;
mod scatter;
mod script;
mod sequential;
mod share;
mod spec;
mod store;
#[cfg(test)]
mod tests;
mod volume;
#[cfg(test)]
mod volume_tests;
mod zipf;

pub use app::App;
pub use keys::{KEYS, Key, Kind, Store};
pub use spec::Spec;

use crate::{Op, Request};
use arrivals::Clock;
use hotcold::{HotCold, hot_starts};
use mix::{Lengths, Ops};
use place::Place;
use random::Random;
use scatter::Scatter;
use script::Volume;
use sequential::Sequential;
use spec::{Layout, Places};
use volume::Place as Range;
use zipf::Zipf;

/// Where requests go: chosen once a batch, so that each kind has its own loop.
#[derive(Clone, Debug)]
enum Addresses {
    Random(Random),
    Sequential(Sequential),
    Zipf(Zipf),
    HotCold(HotCold),
    Volume(Box<Volume>),
    App(Box<app::Writer>),
    Store(Box<store::Writer>),
}

/// A stream of requests. Endless or bounded by the spec's count; cloning one forks the stream where it stands.
#[derive(Clone, Debug)]
pub struct Generator {
    addresses: Addresses,
    frame: Frame,
    /// Requests still to come; `None` without end.
    left: Option<u64>,
    /// Placement handle of all requests that have none of their own.
    stream: u8,
}

/// All of a request but its place.
#[derive(Clone, Debug)]
struct Frame {
    offset_sectors: u64,
    align_sectors: u64,
    clock: Clock,
    ops: Ops,
    lengths: Lengths,
}

impl Spec {
    /// The workload, from its first request.
    pub fn generator(&self) -> Generator {
        match self.places {
            Places::Volume(options) if options.written_sectors.is_some() => {
                self.with_end(None, options.written_sectors)
            }
            Places::App(_) => self.with_end(None, None),
            _ => self.with_end(Some(self.count), None),
        }
    }

    /// The same stream without end: for preconditioning, which stops when the drive is ready. If it is timed, its
    /// clock stops after 584 years.
    pub fn endless(&self) -> Generator {
        let mut generator = self.with_end(None, None);
        if let Addresses::App(writer) = &mut generator.addresses {
            writer.forever();
        }
        generator
    }

    /// The workload up to so many requests, or so many sectors written.
    fn with_end(&self, left: Option<u64>, written_sectors: Option<u64>) -> Generator {
        let (starts, seed) = (self.starts(), self.seed);
        let scatter = |layout| (layout == Layout::Scattered).then(|| Scatter::new(starts, seed));
        let addresses = match self.places {
            Places::Random => Addresses::Random(Random::new(starts, seed)),
            Places::Sequential => {
                Addresses::Sequential(Sequential::new(self.span_sectors, self.align_sectors))
            }
            Places::Zipf { theta, layout } => {
                Addresses::Zipf(Zipf::new(starts, theta, scatter(layout), seed))
            }
            Places::HotCold { hot_share, hot_writes, layout } => {
                let hot = hot_starts(starts, hot_share);
                Addresses::HotCold(HotCold::new(starts, hot, hot_writes, scatter(layout), seed))
            }
            Places::Volume(options) => {
                let range = Range { lba: self.offset_sectors, sectors: self.span_sectors };
                let clock = Clock::new(self.arrivals, seed);
                Addresses::Volume(Box::new(Volume::new(&options, range, seed, clock, written_sectors)))
            }
            Places::App(options) => {
                let range = Range { lba: self.offset_sectors, sectors: self.span_sectors };
                let clock = Clock::new(self.arrivals, seed);
                Addresses::App(Box::new(app::Writer::new(options, range, seed, clock)))
            }
            Places::Store(options) => {
                let range = Range { lba: self.offset_sectors, sectors: self.span_sectors };
                let clock = Clock::new(self.arrivals, seed);
                let writer = store::Writer::new(options, range, seed, clock, self.mix, self.stream);
                Addresses::Store(Box::new(writer))
            }
        };
        let frame = Frame {
            offset_sectors: self.offset_sectors,
            align_sectors: self.align_sectors,
            clock: Clock::new(self.arrivals, seed),
            ops: Ops::new(self.mix, seed),
            lengths: Lengths::new(&self.sizes, seed),
        };
        Generator { addresses, frame, left, stream: self.stream }
    }
}

impl Generator {
    /// Appends the next requests to `out`, at most `limit`. False once the last request has been appended: there is
    /// no more to read.
    pub fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> bool {
        let start = out.len();
        let more = self.read_unmarked(out, limit);
        if self.stream > 0 && !matches!(self.addresses, Addresses::Store(_)) {
            out[start..].iter_mut().for_each(|request| request.handle = self.stream);
        }
        more
    }

    fn read_unmarked(&mut self, out: &mut Vec<Request>, limit: usize) -> bool {
        let count = self.left.map_or(limit, |left| usize::try_from(left).unwrap_or(usize::MAX).min(limit));
        match &mut self.addresses {
            Addresses::Random(places) => self.frame.fill(places, out, count),
            Addresses::Sequential(places) => self.frame.fill(places, out, count),
            Addresses::Zipf(places) => self.frame.fill(places, out, count),
            Addresses::HotCold(places) => self.frame.fill(places, out, count),
            Addresses::Store(writer) => writer.fill(out, count),
            Addresses::Volume(volume) => {
                if !volume.fill(out, count) {
                    self.left = Some(0);
                    return false;
                }
            }
            Addresses::App(writer) => {
                if !writer.fill(out, count) {
                    self.left = Some(0);
                    return false;
                }
            }
        }
        self.left = self.left.map(|left| left - count as u64);
        self.left != Some(0)
    }
}

impl Frame {
    fn fill<P: Place>(&mut self, places: &mut P, out: &mut Vec<Request>, count: usize) {
        out.extend((0..count).map(|_| self.request(places)));
    }

    #[inline]
    fn request<P: Place>(&mut self, places: &mut P) -> Request {
        let time_ns = self.clock.next_ns();
        let op = self.ops.next();
        if op == Op::Flush {
            return Request { time_ns, lba: 0, sectors: 0, stream: 0, op, handle: 0 };
        }
        let sectors = self.lengths.next();
        let lba = self.offset_sectors + places.place(sectors) * self.align_sectors;
        Request { time_ns, lba, sectors, stream: 0, op, handle: 0 }
    }
}
