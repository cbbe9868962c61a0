//! Answers to requests that are complete, or that the drive failed.

use std::collections::VecDeque;
use std::time::Instant;

use flashweir_run::Completion;
use flashweir_ssd::Failure;
use flashweir_trace::{Op, Request};

use super::{Core, Pending};
use crate::Error;
use crate::serve::cuts::Trigger;
use crate::serve::nbd::{error, error_of};
use crate::serve::reply::Reply;

impl Core {
    /// Answers requests that are complete. What is written through is flushed first.
    pub(super) fn answer(&mut self) -> Result<(), Error> {
        self.note_changes();
        while let Some(done) = self.drive.next_completion() {
            if let Some(what_if) = &mut self.what_if {
                what_if.completed(&done);
            }
            let Completion { number, end_ns, failure, .. } = done;
            let Some(pending) = self.outstanding.remove(&number) else { continue };
            let failed = self.cuts.as_mut().and_then(|cuts| cuts.failure(number));
            if failure.is_none() && failed.is_none() && matches!(done.op, Op::Write | Op::Trim) {
                self.faults.rewritten(done.lba, done.sectors);
            }
            if let (Some(stream), None, None) = (pending.fua, &failed, failure) {
                let time_ns = self.drive.now_ns();
                let flush = Request { time_ns, lba: 0, sectors: 0, stream, op: Op::Flush, handle: 0 };
                self.submit(flush, 0, Pending { fua: None, ..pending })?;
                continue;
            }
            let Pending { reply, arrived_ns, unreadable, is_flush, .. } = pending;
            if done.op == Op::Flush {
                self.flush_arrivals()?;
            }
            let unreadable = unreadable || failure == Some(Failure::Unreadable);
            let status = match (failure, failed) {
                _ if unreadable => Some(error::IO),
                (Some(Failure::ReadOnly), _) => Some(error::NOT_PERMITTED),
                (Some(_), _) => Some(error::IO),
                (None, failed) => failed.map(|failed| error_of(&failed)),
            };
            self.tally.media_errors += u64::from(unreadable);
            self.tally.errors += u64::from(status.is_some());
            if let Some(status) = status {
                reply.fail(status);
                self.handed_over((arrived_ns, end_ns), Instant::now());
            } else {
                self.replies.push((reply, (arrived_ns, end_ns)));
            }
            self.tally.completes(self.outstanding.is_empty().then_some(end_ns));
            if is_flush {
                self.tally.flushes += 1;
                self.hand_over();
                self.flushed()?;
            }
        }
        self.hand_over();
        Ok(())
    }

    /// Hands replies that are due to their clients.
    fn hand_over(&mut self) {
        let replies = std::mem::take(&mut self.replies);
        let (replies, mut times): (Vec<Reply>, VecDeque<_>) = replies.into_iter().unzip();
        Reply::send_all(replies, |count| {
            let now = Instant::now();
            times.drain(..count).for_each(|times| self.handed_over(times, now));
        });
    }

    /// A reply was handed over at `now`.
    fn handed_over(&mut self, (arrived_ns, end_ns): (u64, u64), now: Instant) {
        if self.clock.is_paced() && !self.clock.is_paused() {
            let late = now.saturating_duration_since(self.clock.due(end_ns));
            self.lateness.add(late, self.clock.wall(end_ns.saturating_sub(arrived_ns)));
        }
    }

    /// A flush of a client was answered.
    pub(super) fn flushed(&mut self) -> Result<(), Error> {
        let Some(cuts) = &mut self.cuts else { return Ok(()) };
        if let Some(Trigger::AfterFlushes(left)) = &mut cuts.trigger {
            *left -= 1;
            if *left == 0 {
                self.cut_power()?;
            }
        }
        Ok(())
    }
}
