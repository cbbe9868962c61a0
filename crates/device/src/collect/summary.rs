//! Summary of a collection: on the screen, as JSON, and in the metadata of the trace.

use std::time::{SystemTime, UNIX_EPOCH};

use flashweir_trace::format::Format;
use serde_json::{Value, json};

use super::drive::Drive;
use super::ended::Ended;
use super::finish::Tally;
use super::{Method, Spec};

/// An instant on both clocks: the kernel's events are on the monotonic one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    wall_ns: u64,
    monotonic_ns: u64,
}

impl Clock {
    /// Now.
    pub(super) fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let monotonic = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let seconds = u64::try_from(monotonic.tv_sec).unwrap_or_default();
        let below = u64::try_from(monotonic.tv_nsec).unwrap_or_default();
        Self {
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            monotonic_ns: seconds * 1_000_000_000 + below,
        }
    }

    /// ns since the start of 1970 at an instant of the monotonic clock.
    fn unix_ns(self, monotonic_ns: u64) -> u64 {
        (self.wall_ns + monotonic_ns).saturating_sub(self.monotonic_ns)
    }
}

/// Everything that is known but for what was in the trace.
pub(super) struct About<'a> {
    pub(super) spec: &'a Spec,
    pub(super) drive: &'a Drive,
    pub(super) format: Format,
    pub(super) method: Method,
    pub(super) reason: &'a str,
    pub(super) own_mount: bool,
    pub(super) ended_by: &'static str,
    pub(super) status: Option<String>,
    pub(super) collected_s: f64,
    pub(super) clock: Clock,
    pub(super) end: &'a Ended,
}

impl About<'_> {
    /// The summary: `lost_events` above zero says that the trace is not complete.
    pub(super) fn summary(&self, tally: &Tally) -> Value {
        let (drive, end) = (self.drive, self.end);
        let first = (tally.first_ns > 0).then(|| self.clock.unix_ns(tally.first_ns));
        let mut summary = json!({
            "device": drive.path,
            "disk": drive.disk,
            "output": self.spec.output,
            "format": self.format.name(),
            "method": self.method.name(),
            "method_because": self.reason,
            "ended_by": self.ended_by,
            "command_status": self.status,
            "collected_s": self.collected_s,
            "first_request_unix_ns": first,
            "sectors_count_from": if self.spec.relative { "partition" } else { "disk" },
            "first_sector": drive.start,
            "device_sectors": drive.sectors,
        });
        let counted = serde_json::to_value(tally).unwrap_or_default();
        if let (Some(all), Some(counted)) = (summary.as_object_mut(), counted.as_object()) {
            all.extend(counted.clone());
            all.insert("requeued".to_owned(), json!(end.requeued));
            let lost = self.lost(tally);
            all.insert("lost_events".to_owned(), json!(lost));
            all.insert("complete".to_owned(), json!(lost == 0 && end.failure.is_none()));
            all.insert("notes".to_owned(), json!(self.remarks()));
        }
        summary
    }

    /// Entries for the metadata of a Parquet file.
    pub(super) fn notes(&self, tally: &Tally) -> Vec<(String, String)> {
        vec![
            ("flashweir.lost_events".to_owned(), self.lost(tally).to_string()),
            ("flashweir.collect".to_owned(), self.summary(tally).to_string()),
        ]
    }

    /// Events that were lost. The kernel skips a program of bpftrace, and tells nobody, where an interrupt finds another one running:
    /// so whatever lacks its other half counts there.
    fn lost(&self, tally: &Tally) -> u64 {
        let silent = if self.method == Method::Bpftrace { tally.in_flight + tally.issued_before } else { 0 };
        self.end.lost + silent
    }

    /// Remarks for readers of the trace, in sentences.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.drive.has_requests {
            remarks.push(
                "this device has no queue of requests: times are when it was asked, not when a drive was"
                    .to_owned(),
            );
        }
        let folder = self.spec.output.parent().filter(|folder| !folder.as_os_str().is_empty());
        if self.drive.holds(folder.unwrap_or(std::path::Path::new("."))) {
            remarks.push(
                "the trace was written to this very drive: its writes are among the requests".to_owned(),
            );
        }
        if self.method == Method::Bpftrace {
            remarks.push(
                "the kernel skips some events for bpftrace without a word: requests without completion, and completions without request, count as lost".to_owned(),
            );
            remarks.push(
                "processes are those that handed requests to the drive, which may be workers of the kernel"
                    .to_owned(),
            );
        }
        if self.own_mount {
            remarks.push("tracefs was mounted for this collection only".to_owned());
        }
        if self.end.foreign > 0 {
            remarks.push(format!(
                "{} lines of other users of the kernel's trace were left out",
                self.end.foreign
            ));
        }
        if !self.end.unrestored.is_empty() {
            remarks.push(format!("settings that could not be restored: {}", self.end.unrestored.join(", ")));
        }
        remarks
    }
}
