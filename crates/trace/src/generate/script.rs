//! Workloads of a file system (`volume`) as streams of requests: each system with its script.

use super::{
    arrivals::Clock,
    desktop::Desktop,
    filecopy::FileCopy,
    volume::{Ext3, Fat, Ntfs, Options, Place, Queue, System},
};
use crate::{Op, Request};

/// A workload of a file system, as a stream of requests.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    script: Scripts,
    queue: Queue,
    clock: Clock,
    /// Sectors that may still be written; `None` without end.
    left_sectors: Option<u64>,
}

/// The scripts on their file systems.
#[derive(Clone, Debug)]
enum Scripts {
    CopyFat(FileCopy<Fat>),
    CopyNtfs(FileCopy<Ntfs>),
    Windows(Desktop<Ntfs>),
    Ubuntu(Desktop<Ext3>),
}

impl Volume {
    /// The workload of `options` on a drive's range, from its first request. Ends after `written_sectors`.
    pub(super) fn new(
        options: &Options,
        range: Place,
        seed: u64,
        clock: Clock,
        written_sectors: Option<u64>,
    ) -> Self {
        let place = options.place(range);
        let script = match options.system {
            System::Fat => Scripts::CopyFat(FileCopy::new(Fat::new(place), options, seed)),
            System::Ntfs => Scripts::CopyNtfs(FileCopy::new(Ntfs::new(place), options, seed)),
            System::Windows => Scripts::Windows(Desktop::windows(place, options, seed)),
            System::Ubuntu => Scripts::Ubuntu(Desktop::ubuntu(place, options, seed)),
        };
        Self {
            script,
            queue: Queue::new(options.system.limit_sectors()),
            clock,
            left_sectors: written_sectors,
        }
    }

    /// Appends the next requests, at most `count`. False if there are no more.
    pub(super) fn fill(&mut self, out: &mut Vec<Request>, count: usize) -> bool {
        for _ in 0..count {
            let Some(request) = self.next() else { return false };
            out.push(request);
        }
        self.left_sectors != Some(0)
    }

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.left_sectors == Some(0) {
            return None;
        }
        let (lba, mut sectors) = loop {
            match self.queue.take() {
                Some(write) => break write,
                None => self.script.step(&mut self.queue),
            }
        };
        if let Some(left) = &mut self.left_sectors {
            // The last request is cut, so that the volume is exact.
            sectors = u64::from(sectors).min(*left) as u32;
            *left -= u64::from(sectors);
        }
        Some(Request { time_ns: self.clock.next_ns(), lba, sectors, stream: 0, op: Op::Write, handle: 0 })
    }
}

impl Scripts {
    /// Does the next thing; it may write nothing, but not for ever.
    fn step(&mut self, out: &mut Queue) {
        match self {
            Scripts::CopyFat(script) => script.step(out),
            Scripts::CopyNtfs(script) => script.step(out),
            Scripts::Windows(script) => script.step(out),
            Scripts::Ubuntu(script) => script.step(out),
        }
    }
}
