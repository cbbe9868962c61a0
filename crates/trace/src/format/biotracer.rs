//! BIOTracer, of Android phones: start sector, size in sectors, size in bytes, flags, and four times in seconds:
//! made, taken from the queue, submitted to the hardware, finished. Bit 0 of the flags is 1 for a write.
//!
//! Rows stand in the order in which they left the queue; they are sorted by the time they were made, in a window of
//! 1024 rows. Known damage, repaired and counted:
//! * The clock is set during boot, from uptime to the date. A step of more than a day between rows is taken as such:
//!   the time goes on from the row before, and a request made on the old clock and dequeued on the new keeps its
//!   place on the old one. How long the step really took is not known and counts as nothing.
//! * The driver may pad a request by one sector; since the file system's pages are 8 sectors long, a size of 8n + 1
//!   sectors (n above zero) is read as 8n.

use super::line::{LineDecoder, Words};
use super::number::whole;
use super::sink::{Order, Raw, Sink};
use crate::{FieldError, Op, SECTOR_BYTES};

/// A step of the clock beyond this is the clock being set.
const CLOCK_SET_NS: u64 = 86_400 * 1_000_000_000;

/// Sectors in a page of the phone's file system.
const PAGE_SECTORS: u64 = 8;

/// Decoder of the log.
#[derive(Debug, Default)]
pub(crate) struct Biotracer {
    /// The latest time at which a row left the queue, on the clock as set then, ns.
    latest_dequeue: Option<u64>,
    /// Time subtracted from the clock to undo the times it was set, now and before the last setting.
    shift_ns: u64,
    earlier_shift_ns: u64,
}

impl LineDecoder for Biotracer {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut words = Words::new(line);
        let lba = words.whole("start sector")?;
        let mut sectors = words.whole("size in sectors")?;
        let bytes = words.next("size in bytes")?;
        if sectors.checked_mul(SECTOR_BYTES) != Some(whole("size in bytes", bytes)?) {
            return Err(FieldError::new("size in bytes", bytes, "the size in sectors times 512"));
        }
        let flags = words.whole("flags")?;
        let made_ns = words.decimal("time made", 9)?;
        let dequeued_ns = words.decimal("time dequeued", 9)?;
        let submitted_ns = words.decimal("time submitted", 9)?;
        let finished_ns = words.decimal("time finished", 9)?;
        words.end("8 fields")?;

        let before_ns = self.latest_dequeue.unwrap_or(dequeued_ns);
        self.latest_dequeue = Some(before_ns.max(dequeued_ns));
        if dequeued_ns.saturating_sub(before_ns) > CLOCK_SET_NS {
            self.earlier_shift_ns = self.shift_ns;
            self.shift_ns += dequeued_ns - before_ns;
            sink.repaired("clock was set");
        }
        let made_on_old_clock = dequeued_ns.saturating_sub(made_ns) > CLOCK_SET_NS;
        let made_shift_ns = if made_on_old_clock {
            sink.repaired("request made before the clock was set");
            self.earlier_shift_ns
        } else {
            self.shift_ns
        };
        if sectors > PAGE_SECTORS && sectors % PAGE_SECTORS == 1 {
            sectors -= 1;
            sink.repaired("size padded by a sector");
        }
        let op = if flags & 1 == 1 { Op::Write } else { Op::Read };
        let set = |time_ns: u64| Some(time_ns.saturating_sub(self.shift_ns));
        sink.push(Raw {
            issue_ns: set(submitted_ns),
            completion_ns: set(finished_ns),
            ..Raw::sectors(made_ns.saturating_sub(made_shift_ns), op, lba, sectors)
        })
    }

    fn order(&self) -> Order {
        Order::Window(1024)
    }

    fn assumptions(&self) -> Vec<String> {
        vec![
            "a request arrives when it was made; rows are sorted by that in a window of 1024".to_owned(),
            "a step of the clock by more than a day is the clock being set, and takes no time".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err, decode_log};
    use super::*;

    #[test]
    fn the_clock_may_be_set_and_requests_straddle_it() {
        let text = "0\t\t8\t\t4096\t\t4\t\t1.5\t\t1.6\t\t1.7\t\t1.8\n\
            8\t\t17\t\t8704\t\t1\t\t1.7\t\t1398396748.1\t\t1398396748.2\t\t1398396748.3\n\
            16\t\t8\t\t4096\t\t0\t\t1398396748.2\t\t1398396748.3\t\t1398396748.4\t\t1398396748.5\n";
        let log = decode_log(Box::new(Biotracer::default()), text);
        let times: Vec<u64> = log.iter().map(|record| record.request.time_ns / 1_000_000).collect();
        assert_eq!(times, [0, 200, 200]);
        assert_eq!(log[1].completion_ns, Some(300_000_000));
        assert_eq!((log[1].request.op, log[1].request.sectors), (Op::Write, 16));
        let (_, report) = decode(Box::new(Biotracer::default()), text);
        assert_eq!(report.repaired_count(), 3);
    }

    #[test]
    fn rows_are_sorted_by_the_time_they_were_made() {
        let text = "0 8 4096 4 2.0 3.0 3.1 3.2\n8 8 4096 4 1.0 3.1 3.2 3.3\n";
        let (requests, report) = decode(Box::new(Biotracer::default()), text);
        assert_eq!((requests[0].lba, report.reordered, report.clamped_times), (8, 1, 0));
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        let error = decode_err(Box::new(Biotracer::default()), "0 8 4095 4 2.0 3.0 3.1 3.2\n");
        assert!(
            error.contains("size in bytes: found \"4095\", expected the size in sectors times 512"),
            "{error}"
        );
    }
}
