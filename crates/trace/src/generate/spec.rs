//! Specs of workloads: values read and checked against each other, and printed back completely.

mod read;

use std::fmt::Write as _;

use super::{
    app,
    arrivals::Arrivals,
    hotcold::hot_starts,
    keys::{self, Kind, Pairs, bad_value},
    mix::{Mix, Size},
    share::Share,
    store,
    volume::Options,
};
use crate::{SECTOR_BYTES, TraceError, quantity};
use read::{NUMBER, positive, print_sizes, read_arrivals, read_mix, read_places, read_sizes, sectors};

/// Where popular starts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Spread over the span by a seeded permutation.
    Scattered,
    /// At the start of the span, the most popular first.
    Together,
}

/// A kind with its own parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Places {
    Random,
    Sequential,
    Zipf {
        theta: f64,
        layout: Layout,
    },
    HotCold {
        hot_share: Share,
        hot_writes: Share,
        layout: Layout,
    },
    /// Where a file system puts them; sizes and operations are its own too.
    Volume(Options),
    /// Where an application puts them; it ends by itself.
    App(app::Options),
    /// Where a storage engine puts them.
    Store(store::Options),
}

/// A workload to generate: a parsed and checked spec. [`super`] describes the language.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub(super) kind: Kind,
    pub(super) places: Places,
    pub(super) span_sectors: u64,
    pub(super) offset_sectors: u64,
    pub(super) align_sectors: u64,
    pub(super) sizes: Vec<Size>,
    pub(super) count: u64,
    pub(super) mix: Mix,
    pub(super) arrivals: Arrivals,
    pub(super) stream: u8,
    pub(super) seed: u64,
}

impl Spec {
    /// Reads a spec such as `zipf:span=16GiB,theta=0.9,seed=7`.
    ///
    /// # Errors
    /// [`TraceError::Spec`] names the key, the value and what would be right.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let pairs = Pairs::parse(text)?;
        let places = read_places(&pairs)?;
        let span = match places {
            Places::App(options) => options.default_span_sectors() * SECTOR_BYTES,
            _ => 16 << 30,
        };
        let span_sectors = sectors(&pairs, "span", span)?;
        let offset_sectors = sectors(&pairs, "offset", 0)?;
        let (sizes, written) = match places {
            Places::Volume(options) => (
                vec![Size { sectors: options.system.limit_sectors(), share: Share::ONE }],
                options.expected_requests(),
            ),
            Places::App(options) => (
                vec![Size { sectors: app::Options::LONGEST_SECTORS, share: Share::ONE }],
                Some(options.expected_requests()),
            ),
            Places::Store(options) => {
                (vec![Size { sectors: options.longest_sectors(), share: Share::ONE }], None)
            }
            _ => (read_sizes(pairs.get("size").unwrap_or("4KiB"))?, None),
        };
        let smallest = sizes.iter().map(|size| u64::from(size.sectors)).min().unwrap_or(1);
        let align = if pairs.kind == Kind::Sequential { 1 } else { smallest };
        let align_sectors = sectors(&pairs, "align", align * SECTOR_BYTES)?;
        // Elsewhere `flush_every` counts records of a log.
        let has_mix = !matches!(places, Places::Store(_)) || store::Options::mixes_reads(pairs.kind);
        let spec = Spec {
            kind: pairs.kind,
            places,
            span_sectors,
            offset_sectors,
            align_sectors,
            sizes,
            count: pairs.read("count", written.unwrap_or(1_000_000), NUMBER, positive)?,
            mix: if has_mix { read_mix(&pairs)? } else { Mix::WRITES },
            arrivals: read_arrivals(&pairs)?,
            stream: pairs
                .read("stream", 0, "expected a whole number from 0 to 255", |text| text.parse().ok())?,
            seed: pairs.read("seed", 1, "expected a whole number below 2^64", |text| text.parse().ok())?,
        };
        spec.check()?;
        Ok(spec)
    }

    /// True if a text is meant as a spec rather than as the name of a file: a kind alone, or `word:key=...`.
    pub fn is_spec(text: &str) -> bool {
        keys::is_spec(text)
    }

    /// The spec with every key that has a value, in a fixed order. Parses back to itself.
    pub fn canonical(&self) -> String {
        let bytes = |sectors: u64| quantity::format_bytes(sectors * SECTOR_BYTES);
        let (span, offset) = (bytes(self.span_sectors), bytes(self.offset_sectors));
        let mut text = format!("{}:span={span},offset={offset}", self.kind.name());
        let mut put = |key: &str, value: &dyn std::fmt::Display| {
            // Writing to a string can't fail.
            let _ = write!(text, ",{key}={value}");
        };
        if let Places::Volume(options) = self.places {
            options.print(self.kind).iter().for_each(|(key, value)| put(key, value));
            match options.written_sectors {
                Some(written) => put("written", &bytes(written)),
                None => put("count", &self.count),
            }
        } else if let Places::App(options) = self.places {
            options.print().iter().for_each(|(key, value)| put(key, value));
        } else if let Places::Store(options) = self.places {
            put("count", &self.count);
            if store::Options::mixes_reads(self.kind) {
                put("write", &self.mix.write);
            }
            options.print().iter().for_each(|(key, value)| put(key, value));
        } else {
            put("size", &print_sizes(&self.sizes));
            put("align", &bytes(self.align_sectors));
            put("count", &self.count);
            put("write", &self.mix.write);
            put("trim", &self.mix.trim);
            match self.mix.flush_every {
                0 => put("flush", &self.mix.flush),
                every => put("flush_every", &every),
            }
        }
        match self.arrivals {
            Arrivals::Closed => {}
            Arrivals::Poisson { rate } => put("rate", &rate),
            Arrivals::Periodic { period_ns, burst } => {
                put("period", &quantity::format_nanos(period_ns));
                put("burst", &burst);
            }
            Arrivals::Mixed { period_ns, burst, burst_period_ns } => {
                put("period", &quantity::format_nanos(period_ns));
                put("burst", &burst);
                put("burst_period", &quantity::format_nanos(burst_period_ns));
            }
        }
        match self.places {
            Places::Random | Places::Sequential | Places::Volume(_) | Places::App(_) | Places::Store(_) => {}
            Places::Zipf { theta, layout } => {
                put("theta", &theta);
                put("layout", &layout.name());
            }
            Places::HotCold { hot_share, hot_writes, layout } => {
                put("hot_share", &hot_share);
                put("hot_writes", &hot_writes);
                put("layout", &layout.name());
            }
        }
        if self.stream > 0 {
            put("stream", &self.stream);
        }
        put("seed", &self.seed);
        text
    }

    /// The same workload from another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Requests in the workload, flushes included. About so many, where the spec says what is to be written instead.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest request, sectors.
    pub fn largest_sectors(&self) -> u32 {
        self.sizes.iter().map(|size| size.sectors).max().unwrap_or(1)
    }

    /// Where the address range starts, bytes.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_sectors * SECTOR_BYTES
    }

    /// Where the address range ends, bytes: one past the last that a request may touch.
    pub fn span_end_bytes(&self) -> u64 {
        (self.offset_sectors + self.span_sectors) * SECTOR_BYTES
    }

    /// True if requests carry times; if not, all are 0 and the pace is the reader's.
    pub fn is_timed(&self) -> bool {
        self.arrivals != Arrivals::Closed
    }

    /// Places a request may start at, such that every size fits at each.
    pub(super) fn starts(&self) -> u64 {
        let largest = u64::from(self.largest_sectors());
        (self.span_sectors - largest) / self.align_sectors + 1
    }

    fn check(&self) -> Result<(), TraceError> {
        let bytes = |sectors: u64| quantity::format_bytes(sectors * SECTOR_BYTES);
        if self.span_sectors == 0 {
            return Err(bad_value("span", "0B", "expected at least one sector, 512B"));
        }
        if self.align_sectors == 0 {
            return Err(bad_value("align", "0B", "expected at least one sector, 512B"));
        }
        // Sectors of 512 bytes in 64 bits: the sum can't overflow, its bytes can.
        if self.offset_sectors + self.span_sectors > u64::MAX / SECTOR_BYTES {
            let expected =
                format!("with a span of {} the range ends beyond 2^64 bytes", bytes(self.span_sectors));
            return Err(bad_value("offset", &bytes(self.offset_sectors), expected));
        }
        if let Some(size) = self.sizes.iter().find(|size| u64::from(size.sectors) > self.span_sectors) {
            let expected = format!("larger than the span, {}", bytes(self.span_sectors));
            return Err(bad_value("size", &bytes(size.sectors.into()), expected));
        }
        if let Places::Volume(options) = self.places {
            options.check(self.span_sectors)?;
        }
        if let Places::App(options) = self.places {
            options.check(self.span_sectors)?;
        }
        if let Places::Store(options) = self.places {
            options.check(self.span_sectors)?;
            if u32::from(self.stream) + u32::from(options.handles()) > 256 {
                let expected = format!(
                    "expected at most {}: requests have handles from there on",
                    256 - u32::from(options.handles())
                );
                return Err(bad_value("stream", &self.stream.to_string(), expected));
            }
        }
        if let Places::HotCold { hot_share, .. } = self.places {
            let (starts, hot) = (self.starts(), hot_starts(self.starts(), hot_share));
            if hot == 0 || hot == starts {
                let expected =
                    format!("makes {hot} of {starts} starts hot; at least one must be hot and one cold");
                return Err(bad_value("hot_share", &hot_share.to_string(), expected));
            }
        }
        if self.arrivals.last_ns(self.count) > u128::from(u64::MAX) {
            let expected = "the last of so many requests would arrive after 2^64 ns (584 years); \
                            expected fewer, or a faster arrival";
            return Err(bad_value("count", &self.count.to_string(), expected));
        }
        Ok(())
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.canonical())
    }
}

impl std::str::FromStr for Spec {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        Spec::parse(text)
    }
}

impl Layout {
    const fn name(self) -> &'static str {
        match self {
            Layout::Scattered => "scattered",
            Layout::Together => "together",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Layout::Scattered, Layout::Together].into_iter().find(|layout| layout.name() == text)
    }
}
