//! A drive that is a function of the caller: a model in another language, which has its own clock. Requests go over in batches of
//! columns, and their times come back.
//!
//! This crate can't run a class of a file, so whoever can registers a [`Loader`] once, as the Python module does.

mod held;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::OnceLock;

use flashweir_trace::{LogRecord, Request};

use crate::target::{scaled, whole_blocks};
use crate::{Activity, Began, Error, OpenOptions, Stop, Target, Timing};
use held::Held;

/// Requests of one call of a model. A model at 100,000 requests a second answers in a sixth of a second, so that Ctrl-C is heard.
const BATCH: usize = 16_384;
/// Due time of a request that is issued as soon as there is room.
const AT_ONCE: i64 = -1;
/// Smallest block of addresses, bytes.
const SECTOR: u32 = flashweir_trace::SECTOR_BYTES as u32;

/// Requests, as columns of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// When each is due, ns on the model's clock; -1: as soon as fewer than its depth are outstanding.
    pub due_ns: Vec<i64>,
    /// 0 read, 1 write, 2 discard, 3 flush.
    pub op: Vec<u8>,
    /// First byte.
    pub offset: Vec<u64>,
    /// Bytes.
    pub length: Vec<u64>,
}

/// Times of the requests of a batch, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When each was issued, ns.
    pub issue_ns: Vec<i64>,
    /// When each completed, ns.
    pub complete_ns: Vec<i64>,
}

/// A model of a drive. Its errors are one line each. Time and state go on from call to call.
pub trait Model: Send {
    /// Its capacity, bytes.
    fn size_bytes(&self) -> u64;
    /// The smallest unit of addresses and lengths, bytes.
    fn block_bytes(&self) -> u64;
    /// True if it was made for this target, and has no other data.
    fn is_new(&self) -> bool;
    /// Requests that may be outstanding from the next batch on. Called before the first, and whenever it changes; nothing is
    /// outstanding then.
    fn set_depth(&mut self, depth: u32) -> Result<(), String>;
    /// Executes requests, and returns when.
    fn submit(&mut self, batch: &Batch) -> Result<Times, String>;
}

/// Makes models of names.
pub trait Loader: Send + Sync {
    /// The model that `py:...` names. An error says what was expected.
    fn load(&self, name: &str) -> Result<Box<dyn Model>, String>;
}

static LOADER: OnceLock<Box<dyn Loader>> = OnceLock::new();

/// Registers the loader of this process. A second one is ignored.
pub fn set_loader(loader: Box<dyn Loader>) {
    let _ = LOADER.set(loader);
}

/// A model as a target.
pub struct ExternalTarget {
    name: String,
    model: Box<dyn Model>,
    size_bytes: u64,
    block_bytes: u32,
    depth: Option<u32>,
    now_ns: u64,
    submitted: u64,
    under_way: u32,
    stop: Stop,
    began: Began,
    activity: Activity,
}

impl std::fmt::Debug for ExternalTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ExternalTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ExternalTarget {
    /// Makes the model that a name says.
    pub fn open(name: &str, options: &OpenOptions) -> Result<Self, Error> {
        let refuse = |expected: String| Error::Setting { what: name.into(), expected };
        let loader =
            LOADER.get().ok_or_else(|| refuse("a class of Python can only be asked from Python".into()))?;
        Self::with_model(name, loader.load(name).map_err(refuse)?, options)
    }

    /// As [`ExternalTarget::open`], of a model.
    pub fn with_model(name: &str, model: Box<dyn Model>, options: &OpenOptions) -> Result<Self, Error> {
        let refuse = |expected: String| Error::Setting { what: name.into(), expected };
        let (size, block) = (model.size_bytes(), model.block_bytes());
        let block_bytes =
            u32::try_from(block).ok().filter(|block| *block > 0 && block.is_multiple_of(SECTOR));
        let block_bytes = block_bytes
            .ok_or_else(|| refuse(format!("block_bytes {block}: expected a multiple of {SECTOR}")))?;
        if size < block {
            return Err(refuse(format!("size_bytes {size}: expected at least one block, {block}")));
        }
        Ok(Self {
            name: name.into(),
            model,
            size_bytes: size - size % block,
            block_bytes,
            depth: None,
            now_ns: 0,
            submitted: 0,
            under_way: options.max_outstanding,
            stop: options.stop.clone(),
            began: options.began.clone(),
            activity: Activity::default(),
        })
    }

    fn failed(&self, detail: String) -> Error {
        Error::Failed { path: PathBuf::from(&self.name), detail }
    }

    fn check_stop(&self) -> Result<(), Error> {
        if self.stop.is_asked() {
            let progress = format!("{} requests were executed", self.submitted);
            return Err(Error::Cancelled { doing: "executing requests".into(), progress });
        }
        Ok(())
    }

    fn set_depth(&mut self, depth: u32) -> Result<(), Error> {
        if self.depth != Some(depth) {
            self.model.set_depth(depth).map_err(|detail| self.failed(detail))?;
            self.depth = Some(depth);
        }
        Ok(())
    }

    /// Submits what was gathered; records go to `held`.
    fn submit(&mut self, gathered: &Gathered, start_ns: u64, held: &mut Held) -> Result<(), Error> {
        let (first, count) = (self.submitted + 1, gathered.requests.len());
        let times = self.model.submit(&gathered.batch).map_err(|detail| {
            self.failed(format!("requests {first} to {}: {detail}", self.submitted + count as u64))
        })?;
        for (column, name) in [(&times.issue_ns, "issue_ns"), (&times.complete_ns, "complete_ns")] {
            if column.len() != count {
                let found = column.len();
                return Err(
                    self.failed(format!("{name} has {found} elements; expected {count}, one a request"))
                );
            }
        }
        for (at, (request, due_ns)) in gathered.requests.iter().enumerate() {
            let number = self.submitted + 1 + at as u64;
            let issue_ns = self.check(
                number,
                request,
                "issue_ns",
                times.issue_ns[at],
                due_ns.unwrap_or(start_ns).max(start_ns),
            )?;
            let end_ns = self.check(number, request, "complete_ns", times.complete_ns[at], issue_ns)?;
            let due_ns = due_ns.filter(|_| gathered.timed);
            self.activity.count_late(due_ns, issue_ns, false);
            self.now_ns = self.now_ns.max(end_ns);
            let request = Request { time_ns: due_ns.unwrap_or(issue_ns), ..*request };
            let (issue_ns, completion_ns) = (Some(issue_ns), Some(end_ns));
            held.add(LogRecord { due_ns, issue_ns, completion_ns, ..LogRecord::bare(request) });
        }
        self.submitted += count as u64;
        self.activity.max_outstanding = self.activity.max_outstanding.max(held.max_outstanding());
        Ok(())
    }

    /// A time of a request, if it is not before another one.
    fn check(
        &self,
        number: u64,
        request: &Request,
        name: &str,
        time_ns: i64,
        least_ns: u64,
    ) -> Result<u64, Error> {
        let than = if name == "issue_ns" { "when it was due" } else { "when it was issued" };
        u64::try_from(time_ns).ok().filter(|time_ns| *time_ns >= least_ns).ok_or_else(|| {
            self.failed(format!(
                "request {number} ({} of {} bytes at {}): {name} {time_ns} is before {least_ns}, {than}; expected no earlier time",
                request.op.name(),
                request.bytes(),
                request.lba * flashweir_trace::SECTOR_BYTES
            ))
        })
    }

    fn run(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
        held: &mut Held,
    ) -> Result<(), Error> {
        let start_ns = self.now_ns;
        self.began.set(start_ns);
        let depth = if let Timing::Closed { depth } = timing { depth.max(1) } else { self.under_way };
        self.set_depth(depth)?;
        let mut gathered = Gathered { timed: matches!(timing, Timing::Times { .. }), ..Gathered::default() };
        let mut taken = 0;
        loop {
            self.check_stop()?;
            gathered.clear();
            while gathered.requests.len() < BATCH {
                let Some(request) = requests.next().transpose()? else { break };
                let due_ns = match timing {
                    // Earlier requests are complete, and time may have passed: the first ones are due now.
                    Timing::Closed { .. } => (taken < u64::from(depth)).then_some(start_ns),
                    Timing::Times { scale } => Some(scaled(start_ns, request.time_ns, scale)),
                };
                taken += 1;
                let placed = whole_blocks(&request, self.block_bytes, self.size_bytes);
                let (offset, length, widened) = placed.map_err(|detail| self.failed(detail))?;
                self.activity.widened += u64::from(widened);
                gathered.add(request, due_ns, (offset, length));
            }
            if gathered.requests.is_empty() {
                return Ok(());
            }
            self.submit(&gathered, start_ns, held)?;
            held.pass_on(sink)?;
        }
    }
}

/// Requests of the next batch.
#[derive(Debug, Default)]
struct Gathered {
    requests: Vec<(Request, Option<u64>)>,
    batch: Batch,
    /// True if due times are the workload's, and not of a closed loop.
    timed: bool,
}

impl Gathered {
    fn clear(&mut self) {
        self.requests.clear();
        self.batch = Batch::default();
    }

    fn add(&mut self, request: Request, due_ns: Option<u64>, (offset, length): (u64, u64)) {
        self.requests.push((request, due_ns));
        let due_ns = due_ns.map_or(AT_ONCE, |due_ns| i64::try_from(due_ns).unwrap_or(i64::MAX));
        self.batch.due_ns.push(due_ns);
        self.batch.op.push(request.op as u8);
        self.batch.offset.push(offset);
        self.batch.length.push(length);
    }
}

impl Target for ExternalTarget {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn is_new(&self) -> bool {
        self.submitted == 0 && self.model.is_new()
    }

    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut held = Held::default();
        let done = self.run(requests, timing, sink, &mut held);
        // Also after an error: what was executed is said.
        let ended = held.pass_all(sink);
        done.and(ended)
    }

    fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        self.now_ns = self.now_ns.saturating_add(time_ns);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
