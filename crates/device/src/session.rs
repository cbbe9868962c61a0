//! A session on a target: batches of requests in, their times out, for callers that decide by the answers what to ask next.

use flashweir_trace::{Op, Request, SECTOR_BYTES};
use serde::Deserialize;

use crate::external::{Batch, Times};
use crate::real::Engine;
use crate::{Error, OpenOptions, Stop, Target, Timing, named_again, open};

/// Why a zoned target is refused, and what can be measured of it.
const ZONED: &str = "it has zones, which are written in order, and these tests overwrite any address; expected a drive \
                     without. Its reads can be measured by `flashweir bench` or `replay`, commands to its zones by \
                     `flashweir simulate` with a table of them";
/// Most requests of one call: each is known by the number of its stream.
pub const MAX_BATCH: usize = 1 << 16;

/// Specification of a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// `sim:...`, `py:...`, or the path of a block device or file.
    pub target: String,
    /// The target's own name, typed once more: what is on it is destroyed. Real drives need it, whatever is on them.
    #[serde(default)]
    pub erase: Option<String>,
    /// Of what is written, and of a simulated drive.
    #[serde(default)]
    pub seed: u64,
    /// I/O engine for real drives.
    #[serde(default)]
    pub engine: Engine,
}

/// A target that is open to be written all over.
pub struct Session {
    target: Box<dyn Target>,
    stop: Stop,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("target", &self.target.name()).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a target. A real one must be named once more; a zoned one is refused, as callers overwrite any address.
    pub fn open(spec: &SessionSpec) -> Result<Self, Error> {
        named_again(&spec.target, spec.erase.as_deref(), "measuring")?;
        let stop = Stop::default();
        let options = OpenOptions {
            write: true,
            erase: spec.erase.clone(),
            seed: spec.seed,
            engine: spec.engine,
            stop: stop.clone(),
            ..OpenOptions::default()
        };
        let target = open(&spec.target, &options)?;
        if target.is_zoned() {
            return Err(Error::Target { path: spec.target.clone().into(), detail: ZONED.into() });
        }
        Ok(Self { target, stop })
    }

    /// Executes requests; times in their order, ns on the target's clock. Due times count from the beginning of the call: all are -1 (as
    /// soon as fewer than `depth` are outstanding), or none is. `go_on` is asked after each request.
    pub fn execute(
        &mut self,
        batch: &Batch,
        depth: u32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Times, Error> {
        let count = batch.op.len();
        if count > MAX_BATCH {
            let expected = format!("expected at most {MAX_BATCH} in one call");
            return Err(Error::Setting { what: format!("{count} requests"), expected });
        }
        let paced = batch.due_ns.first().is_some_and(|due_ns| *due_ns >= 0);
        let timing = if paced { Timing::Times { scale: 1.0 } } else { Timing::Closed { depth } };
        let mut times = Times { issue_ns: vec![0; count], complete_ns: vec![0; count] };
        let mut requests = (0..count).map(|at| request_of(batch, at));
        let stop = &self.stop;
        self.target.execute(&mut requests, timing, &mut |record| {
            let at = usize::from(record.request.stream);
            times.issue_ns[at] = signed(record.issue_ns);
            times.complete_ns[at] = signed(record.completion_ns);
            if !go_on() {
                stop.ask();
            }
            Ok(())
        })?;
        Ok(times)
    }

    /// The target.
    pub fn target(&mut self) -> &mut dyn Target {
        self.target.as_mut()
    }
}

fn request_of(batch: &Batch, at: usize) -> Result<Request, Error> {
    let refuse =
        |what: String, expected: &str| Error::Setting { what, expected: format!("expected {expected}") };
    let op = Op::ALL.get(usize::from(batch.op[at])).copied();
    let op = op.ok_or_else(|| refuse(format!("operation {}", batch.op[at]), "0 to 9"))?;
    let sectors = u32::try_from(batch.length[at] / SECTOR_BYTES);
    let sectors = sectors.map_err(|_| refuse(format!("length {}", batch.length[at]), "less than 2 TiB"))?;
    let (time_ns, stream) = (u64::try_from(batch.due_ns[at]).unwrap_or(0), at as u16);
    Ok(Request { time_ns, lba: batch.offset[at] / SECTOR_BYTES, sectors, stream, op, handle: 0 })
}

fn signed(time_ns: Option<u64>) -> i64 {
    time_ns.map_or(-1, |time_ns| i64::try_from(time_ns).unwrap_or(i64::MAX))
}
