//! Workloads of the covering array, small ones of two tenants.

use flashweir_ssd::{Config, Geometry};
use flashweir_trace::{Op, Request};

use super::array::Draw;

/// Kinds of workloads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Workload {
    /// Writes from the first sector on, again and again, with a read of what was written before.
    Sequential,
    /// Reads and writes anywhere, close together.
    Uniform,
    /// Most of them in an eighth of the drive, with TRIM and flushes.
    Skewed,
    /// Reads of what was never written, then writes there.
    Unwritten,
    /// One tenant writes in bursts, the other reads.
    Tenants,
}

impl Workload {
    pub(super) const ALL: [Self; 5] =
        [Self::Sequential, Self::Uniform, Self::Skewed, Self::Unwritten, Self::Tenants];

    /// So many requests for a drive.
    pub(super) fn requests(self, config: &Config, count: u64, seed: u64) -> Vec<Request> {
        let sectors = Geometry::new(config).expect("a checked configuration").capacity_sectors();
        let mut draw = Draw(seed);
        let mut time_ns = 0;
        let one = |number: u64| {
            let (op, lba, length, stream, gap) = self.one(number, sectors, &mut draw);
            time_ns += gap;
            let (lba, sectors) =
                if op == Op::Flush { (0, 0) } else { (lba, length.min(sectors - lba) as u32) };
            Request { time_ns, lba, sectors, stream, op, handle: (lba / 8 % 5) as u8 }
        };
        (0..count).map(one).collect()
    }

    fn one(self, number: u64, sectors: u64, draw: &mut Draw) -> (Op, u64, u64, u16, u64) {
        let anywhere = draw.below(sectors);
        let length = 1 + draw.below(9);
        let gap = draw.below(3) * draw.below(300_000);
        match self {
            Self::Sequential if number % 4 == 3 => (Op::Read, (number / 4 * 16) % sectors, 16, 0, gap),
            Self::Sequential => (Op::Write, (number * 16) % sectors, 16, 0, gap),
            Self::Uniform if draw.below(3) == 0 => (Op::Read, anywhere, length, 0, gap),
            Self::Uniform => (Op::Write, anywhere, length, 0, gap / 4),
            Self::Skewed => {
                let op = match draw.below(20) {
                    0 => Op::Flush,
                    1 | 2 => Op::Trim,
                    3..=7 => Op::Read,
                    _ => Op::Write,
                };
                let lba = if draw.below(8) == 0 { anywhere } else { anywhere / 8 };
                (op, lba, length, draw.below(2) as u16, gap)
            }
            Self::Unwritten if number % 3 == 2 => (Op::Write, anywhere, length, 0, gap),
            Self::Unwritten => (Op::Read, anywhere, 2 * length, 0, gap),
            Self::Tenants if (number / 8).is_multiple_of(2) => (Op::Write, anywhere / 2, 2 * length, 0, 1000),
            Self::Tenants => (Op::Read, anywhere, length, 1, gap),
        }
    }
}
