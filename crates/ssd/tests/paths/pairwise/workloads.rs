//! Workloads of the covering array, small ones of two tenants.

use flashweir_ssd::{Config, Geometry};
use flashweir_trace::generate::Spec;
use flashweir_trace::{Op, Request, SECTOR_BYTES};

use super::array::Draw;
use super::start;

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

    /// So many requests for a drive; commands to zones, where it takes them and has enough of them.
    pub(super) fn requests(self, config: &Config, count: u64, seed: u64) -> Vec<Request> {
        if config.takes_zone_commands()
            && let Some(requests) = self.to_zones(config, count, seed)
        {
            return requests;
        }
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

    /// Commands to zones of a drive; none of a drive with few zones, and none that write nothing.
    fn to_zones(self, config: &Config, count: u64, seed: u64) -> Option<Vec<Request>> {
        let simulation = start(config, false);
        let layout = *simulation.zones()?.layout();
        if layout.zones < 4 {
            return None;
        }
        let page = u64::from(simulation.geometry().page_sectors) * SECTOR_BYTES;
        let [span, zone] = [layout.size * u64::from(layout.zones), layout.size].map(|pages| pages * page);
        let own = match self {
            Self::Sequential => "open=1,append=0".to_owned(),
            Self::Uniform => "open=2,write=0.7,finish_at=0.6".to_owned(),
            Self::Skewed => {
                let window = layout.zrwa.map_or(0, |zrwa| zrwa.size * page);
                format!("open=2,write=0.8,finish_at=0.7,window={window}")
            }
            Self::Unwritten => return None,
            Self::Tenants => "open=2,append=1".to_owned(),
        };
        let spec = format!("zones:span={span},zone={zone},request={page},count={count},seed={seed},{own}");
        let mut requests = Vec::new();
        let mut generator = Spec::parse(&spec).expect("a spec of zones").generator();
        while generator.read(&mut requests, 100) {}
        let (mut draw, mut time_ns) = (Draw(seed), 0);
        for (number, request) in (0_u16..).zip(&mut requests) {
            time_ns += draw.below(3) * draw.below(300_000);
            (request.time_ns, request.stream) = (time_ns, number / 8 % 2);
            if request.op == Op::Read && number % 3 == 0 {
                // As a table says it: to all zones.
                let op = [Op::Close, Op::Open, Op::Finish, Op::Reset][draw.below(4) as usize];
                (request.op, request.lba, request.sectors) = (op, 0, (span / SECTOR_BYTES) as u32);
            }
        }
        Some(requests)
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
