//! One system call after the other: the next request is made when the one before it is done, and late if that was late.

use flashweir_trace::{LogRecord, Op, Request};
use rustix::io::Errno;

use super::buffers::{Buffer, MAX_BYTES};
use super::device::discard;
use super::{RealTarget, record};
use crate::target::scaled;
use crate::{Error, Timing};

pub(super) fn execute(
    target: &mut RealTarget,
    requests: &mut dyn Iterator<Item = Result<Request, Error>>,
    timing: Timing,
    sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    let clock = target.clock;
    let start_ns = target.begin();
    let mut buffer = None;
    let mut last_ns = 0;
    for request in requests {
        let request = request?;
        target.check_stop()?;
        let (offset, length) = target.place(&request)?;
        let due_ns = match timing {
            Timing::Closed { .. } => None,
            Timing::Times { scale } => Some(scaled(start_ns, request.time_ns, scale)),
        };
        if request.op == Op::Write {
            target.content.prepare(&mut buffer, (length as usize).min(MAX_BYTES));
        }
        while let Some(due_ns) = due_ns
            && clock.now_ns() < due_ns
        {
            target.check_stop()?;
            clock.sleep_towards(due_ns);
        }
        let issue_ns = clock.now_ns();
        target.activity.max_outstanding = 1;
        let had_room = due_ns.is_some_and(|due_ns| last_ns <= due_ns);
        target.activity.count_late(due_ns, issue_ns, had_room);
        let done = perform(target, &request, offset, length, &mut buffer);
        let completion_ns = clock.now_ns();
        last_ns = completion_ns;
        done.map_err(|error| target.device.failed(request.op.name(), offset, length, error))?;
        target.executed += 1;
        sink(record(&request, due_ns, issue_ns, completion_ns))?;
    }
    Ok(())
}

fn perform(
    target: &mut RealTarget,
    request: &Request,
    offset: u64,
    length: u64,
    buffer: &mut Option<Buffer>,
) -> Result<(), Errno> {
    let file = &target.device.file;
    match request.op {
        Op::Flush => return rustix::fs::fdatasync(file),
        Op::Trim if length > 0 => return discard(file, target.device.kind, offset, length),
        Op::Trim => return Ok(()),
        Op::Read | Op::Write => {}
        _ => return Err(Errno::INVAL),
    }
    let mut done = 0;
    while done < length {
        let bytes = (length - done).min(MAX_BYTES as u64) as usize;
        let moved = if request.op == Op::Write {
            let Some(buffer) = buffer else { return Err(Errno::INVAL) };
            rustix::io::pwrite(file, &buffer.bytes_mut()[..bytes], offset + done)
        } else {
            rustix::io::pread(file, &mut target.content.reads_mut()[..bytes], offset + done)
        };
        match moved {
            Ok(0) => return Err(Errno::IO),
            Ok(moved) => done += moved as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
