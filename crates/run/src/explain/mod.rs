//! The slowest requests of a run: where their time went, which commands they waited for and whose, and examples with what their
//! die did meanwhile.
//!
//! A request is as late as the last of its commands, so the wait explained is that of this command for its die, and of the reads
//! of the map before it. A write that waits for room in the write buffer waits for the die whose program makes the room. Memory
//! is bounded by the requests explained, the requests outstanding and the commands of their time.

mod dies;
mod slowest;

use std::collections::BTreeMap;

use flashweir_ssd::{CommandRecord, Geometry, Purpose, Recorded, RequestRecord};
use flashweir_trace::Op;
use serde_json::{Map, Value, json};

use crate::error::Error;
use dies::{Dies, Work};
use slowest::{Picture, Slow, Slowest, Wait};

/// Requests whose tenant is remembered after they are done: pages of the write buffer are programmed later.
const REMEMBERED: usize = 1 << 20;

/// A percentile, such as `p99.9`.
#[derive(Clone, Debug)]
pub(crate) struct Percentile {
    name: String,
    /// Share of the requests that are explained.
    share: f64,
}

impl Percentile {
    /// Reads `p99.9`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::setting(
                format!("explain {text}"),
                "expected a percentile such as p99.9: from p0 to below p100",
            )
        };
        let digits =
            text.strip_prefix('p').filter(|digits| digits.starts_with(|sign: char| sign.is_ascii_digit()));
        let percent: f64 = digits.ok_or_else(wrong)?.parse().map_err(|_| wrong())?;
        if !(0.0..100.0).contains(&percent) {
            return Err(wrong());
        }
        Ok(Self { name: text.to_owned(), share: 1.0 - percent / 100.0 })
    }

    /// Of so many requests those that are explained: at least one. Rounding of the share itself counts for nothing.
    #[expect(clippy::cast_sign_loss, reason = "a negative number becomes 0, and then 1")]
    fn count(&self, of: u64) -> u64 {
        ((of as f64 * self.share - 1e-6).ceil() as u64).clamp(1, of.max(1))
    }
}

/// A request that is not done.
struct Outstanding {
    issue_ns: u64,
    commands: Vec<Wait>,
    /// When the write buffer had room for it, if it had to wait for that.
    room_ns: Option<u64>,
}

/// Explains the slowest requests of each operation.
pub(crate) struct Explain {
    percentile: Percentile,
    tenants: Vec<String>,
    dies_per_channel: u32,
    dies: Dies,
    outstanding: BTreeMap<u64, Outstanding>,
    streams: BTreeMap<u64, u16>,
    last_issue_ns: u64,
    slowest: [Slowest; Op::COUNT],
}

impl Explain {
    pub(crate) fn new(percentile: Percentile, tenants: Vec<String>, geometry: &Geometry) -> Self {
        Self {
            percentile,
            tenants,
            dies_per_channel: geometry.dies_per_channel(),
            dies: Dies::new(geometry.total_dies()),
            outstanding: BTreeMap::new(),
            streams: BTreeMap::new(),
            last_issue_ns: 0,
            slowest: Default::default(),
        }
    }

    /// Takes what was recorded.
    pub(crate) fn take(&mut self, recorded: &Recorded) {
        for issue in &recorded.issues {
            let (stream, issue_ns) = (issue.request.stream, issue.issue_ns);
            let outstanding = Outstanding { issue_ns, commands: Vec::new(), room_ns: None };
            self.outstanding.insert(issue.number, outstanding);
            self.last_issue_ns = self.last_issue_ns.max(issue_ns);
            if self.tenants.len() > 1 {
                self.streams.insert(issue.number, stream);
                if self.streams.len() > REMEMBERED {
                    self.streams.pop_first();
                }
            }
        }
        for hold in &recorded.holds {
            self.dies.add(
                hold.die,
                Work {
                    start_ns: hold.start_ns,
                    end_ns: hold.end_ns,
                    kind: hold.kind,
                    purpose: hold.purpose,
                    pages: hold.pages,
                    request: None,
                    stream: None,
                },
            );
        }
        for command in &recorded.commands {
            self.command(command);
        }
        for full in &recorded.full {
            if let Some(outstanding) = self.outstanding.get_mut(&full.request) {
                outstanding.room_ns = Some(full.end_ns);
            }
        }
        for record in &recorded.requests {
            if let Some(outstanding) = self.outstanding.remove(&record.number) {
                self.request(record, &outstanding);
            }
        }
        let oldest = self.outstanding.values().next().map_or(self.last_issue_ns, |oldest| oldest.issue_ns);
        self.dies.forget(oldest);
    }

    fn command(&mut self, command: &CommandRecord) {
        let CommandRecord {
            die,
            kind,
            purpose,
            pages,
            request,
            arrived_ns,
            start_ns,
            resumed_ns,
            end_ns,
            ..
        } = *command;
        let stream = request.and_then(|number| self.streams.get(&number)).copied();
        self.dies.add(die, Work { start_ns: resumed_ns, end_ns, kind, purpose, pages, request, stream });
        if let Some(outstanding) = request.and_then(|number| self.outstanding.get_mut(&number)) {
            outstanding.commands.push(Wait {
                die,
                for_map: purpose == Purpose::Mapping,
                arrived_ns,
                start_ns,
                end_ns,
            });
        }
    }

    /// A request is done: it is kept if it is one of the slowest.
    fn request(&mut self, record: &RequestRecord, outstanding: &Outstanding) {
        let latency_ns = record.completion_ns - outstanding.issue_ns;
        let op = record.request.op as usize;
        if !self.slowest[op].counts(latency_ns) {
            return;
        }
        let waits = if record.parts.buffer > latency_ns / 2 {
            self.wait_for_room(record, outstanding).into_iter().collect()
        } else {
            slowest::decisive(&outstanding.commands)
        };
        let slowest = &mut self.slowest[op];
        let mut blockers = BTreeMap::new();
        for wait in &waits {
            for (work, ns) in self.dies.within(wait.die, wait.arrived_ns, wait.start_ns) {
                *blockers.entry(work.blocker(record.number)).or_insert(0) += ns;
            }
        }
        let slow = Slow { record: *record, blockers: blockers.into_iter().collect() };
        let cause = slow.cause();
        if let Some(wait) = waits.last()
            && slowest.is_example(cause, latency_ns)
        {
            let works = self.dies.within(wait.die, outstanding.issue_ns, record.completion_ns);
            let mut works: Vec<Work> = works.take(slowest::MAX_WORKS).map(|(work, _)| *work).collect();
            works.reverse();
            slowest.picture(cause, latency_ns, Picture { record: *record, die: wait.die, works });
        }
        slowest.keep(latency_ns, slow);
    }

    /// The wait of a request for the write buffer: for the die of its last program if it ended with that, else for the die that made
    /// the room.
    fn wait_for_room(&self, record: &RequestRecord, outstanding: &Outstanding) -> Option<Wait> {
        let last = outstanding.commands.iter().find(|command| command.end_ns == record.completion_ns);
        let room_ns = outstanding.room_ns.unwrap_or(record.completion_ns);
        let (die, start_ns) = match last {
            Some(last) => (last.die, last.start_ns),
            None => (self.dies.last_program(room_ns)?, room_ns),
        };
        let arrived_ns = outstanding.issue_ns;
        Some(Wait { die, for_map: false, arrived_ns, start_ns, end_ns: start_ns })
    }

    /// The explanation at the end of the run, as JSON.
    pub(crate) fn finish(self) -> Value {
        let mut explanation = Map::new();
        explanation.insert("percentile".into(), json!(self.percentile.name));
        let names = slowest::Names { tenants: &self.tenants, dies_per_channel: self.dies_per_channel };
        for op in Op::ALL {
            let slowest = &self.slowest[op as usize];
            if slowest.count() > 0 {
                explanation.insert(
                    op.name().into(),
                    slowest.explain(self.percentile.count(slowest.count()), &names),
                );
            }
        }
        Value::Object(explanation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_read_and_counted() {
        for (text, of, count) in
            [("p99.9", 20_000, 20), ("p99", 150, 2), ("p0", 7, 7), ("p99.9", 3, 1), ("p50", 10, 5)]
        {
            assert_eq!(Percentile::parse(text).unwrap().count(of), count, "{text} of {of}");
        }
        for bad in ["", "99.9", "p", "p100", "p-1", "pNaN", "p99.9%", "pinf", "P99"] {
            let error = Percentile::parse(bad).unwrap_err().to_string();
            assert!(error.contains("expected a percentile such as p99.9"), "{bad}: {error}");
        }
    }
}
