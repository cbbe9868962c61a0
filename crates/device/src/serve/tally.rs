//! Counts of a live drive that its statistics lack: those that a health log has.

use flashweir_trace::Op;

/// Counts since the drive is served.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Requests that entered, by operation.
    pub(super) requests: [u64; Op::COUNT],
    /// Their sectors.
    pub(super) sectors: [u64; Op::COUNT],
    /// Flushes that clients asked for and were answered.
    pub(super) flushes: u64,
    /// Writes that begin or end within a page.
    pub(super) unaligned: u64,
    /// Reads that failed.
    pub(super) media_errors: u64,
    /// Requests that failed.
    pub(super) errors: u64,
    /// Cuts of the power.
    pub(super) power_cuts: u64,
    /// Sectors of a page.
    pub(super) page_sectors: u64,
    /// Time with a request outstanding, ns.
    busy_ns: u64,
    /// Since when there is one.
    busy_since_ns: Option<u64>,
}

impl Tally {
    /// A request enters. `first`: the present, if no other one was outstanding.
    pub(super) fn enters(&mut self, op: Op, lba: u64, sectors: u32, first: Option<u64>) {
        self.requests[op as usize] += 1;
        self.sectors[op as usize] += u64::from(sectors);
        let page = self.page_sectors.max(1);
        let aligned = lba.is_multiple_of(page) && u64::from(sectors).is_multiple_of(page);
        self.unaligned += u64::from(op == Op::Write && !aligned);
        self.busy_since_ns = self.busy_since_ns.or(first);
    }

    /// A request was answered. `last`: its end, if none is outstanding now.
    pub(super) fn completes(&mut self, last: Option<u64>) {
        if let (Some(end_ns), Some(since_ns)) = (last, self.busy_since_ns) {
            self.busy_ns += end_ns.saturating_sub(since_ns);
            self.busy_since_ns = None;
        }
    }

    /// Power failed.
    pub(super) fn power_lost(&mut self, now_ns: u64) {
        self.completes(Some(now_ns));
        self.power_cuts += 1;
    }

    /// Time with a request outstanding until the present, ns.
    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns + self.busy_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }
}
