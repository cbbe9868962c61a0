//! Plans of the writes of applications: phases, and in each of them strands with their shares of the bytes. The tables
//! are in `desktop.rs` and `server.rs`.

/// A named application.
#[derive(Debug)]
pub(super) struct Plan {
    /// Total written, millions of bytes.
    pub(super) written_mb: u64,
    /// The mean request, KiB, about: for estimates of their number.
    pub(super) mean_kib: u64,
    /// Sectors before the partition by default.
    pub(super) partition_sectors: u64,
    /// Share of the bytes that starts and ends on 4 KiB, thousandths; `None` leaves it to the partition's place.
    pub(super) aligned: Option<u64>,
    pub(super) phases: &'static [Phase],
}

/// A part of the time with its own mix.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    /// Share of the bytes written, thousandths; those of a plan sum to 1000.
    pub(super) share: u64,
    /// Shares of the phase's bytes, ten-thousandths: first writes in runs and elsewhere, rewrites in runs and elsewhere.
    pub(super) classes: [u64; 4],
    pub(super) strands: &'static [Strand],
}

/// Writes of one purpose.
#[derive(Debug)]
pub(super) struct Strand {
    pub(super) shape: Shape,
    /// Where it lies, thousandths of the nominal volume.
    pub(super) area: (u64, u64),
    /// Its weight among the strands of the phase, in each class.
    pub(super) weights: [u64; 4],
    /// Maximum number of consecutive requests.
    pub(super) burst: u64,
}

/// Placement of a strand's writes. Lengths are sectors; sizes come with weights.
#[derive(Debug)]
pub(super) enum Shape {
    /// Files of `low` to `low << octaves` sectors in requests of `unit`, with up to `gap` pages between; at `heads`
    /// places, or behind the tables of every group.
    Files { low: u64, octaves: u64, unit: u64, gap: u64, heads: u64, grouped: bool },
    /// Pages of a file that is always there, or of the tables of all groups.
    Pages {
        unit: u64,
        sizes: &'static [(u64, u64)],
        order: Order,
        spread: Spread,
        mixed: bool,
        grouped: bool,
    },
    /// Around and around.
    Log { sizes: &'static [(u64, u64)] },
    /// So many chunks open at a time, each filled by so many sources, block by block in pieces.
    Chunks { bytes: u64, open: u64, sources: u64, block: u64, pieces: &'static [(u64, u64)] },
}

/// In which order pages are written for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One behind the other: with popular first pages, hot and cold data stay apart.
    Apart,
    /// Anywhere in the file: hot pages lie between cold ones.
    Mixed,
}

/// Choice of pages to rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// All alike.
    Even,
    /// The n-th with a probability of about 1/n.
    Popular,
    /// Half of them so, half of them so.
    Mild,
}

const KIB: u64 = 2;

/// A strand, in KiB: what tables are written in.
pub(super) const fn strand(shape: Shape, area: (u64, u64), weights: [u64; 4], burst: u64) -> Strand {
    Strand { shape, area, weights, burst }
}

/// Files of `low` KiB to that times 2^`octaves` in requests of `unit` KiB, up to `gap` pages apart.
pub(super) const fn files(low: u64, octaves: u64, unit: u64, gap: u64) -> Shape {
    Shape::Files { low: low * KIB, octaves, unit: unit * KIB, gap, heads: 1, grouped: false }
}

/// Files that lie in any group of an ext file system, behind its tables.
pub(super) const fn files_in_groups(low: u64, octaves: u64, unit: u64) -> Shape {
    Shape::Files { low: low * KIB, octaves, unit: unit * KIB, gap: 2, heads: 1, grouped: true }
}

/// Pages of 4 KiB of one file.
pub(super) const fn pages(sizes: &'static [(u64, u64)], order: Order, spread: Spread) -> Shape {
    Shape::Pages { unit: 8, sizes, order, spread, mixed: false, grouped: false }
}
