//! A model in Rust as a target: its clock, its depth, its order, and its faults.

use flashweir_trace::Op;

use super::*;

/// Changes answers.
type Fault = fn(&mut Times);

/// Writes and reads take 10 us on one of two units, by block.
#[derive(Default)]
struct Plain {
    depth: usize,
    free_ns: [i64; 2],
    ends_ns: Vec<i64>,
    fault: Option<Fault>,
    calls: Vec<usize>,
}

impl Model for Plain {
    fn size_bytes(&self) -> u64 {
        (1 << 20) + 100
    }

    fn block_bytes(&self) -> u64 {
        4096
    }

    fn is_new(&self) -> bool {
        true
    }

    fn set_depth(&mut self, depth: u32) -> Result<(), String> {
        self.depth = depth as usize;
        Ok(())
    }

    fn submit(&mut self, batch: &Batch) -> Result<Times, String> {
        self.calls.push(batch.op.len());
        let mut times = Times::default();
        for (due_ns, offset) in batch.due_ns.iter().zip(&batch.offset) {
            self.ends_ns.sort_unstable();
            let room_ns = self.ends_ns.len().checked_sub(self.depth).map_or(0, |at| self.ends_ns[at]);
            let issue_ns = if *due_ns == AT_ONCE { room_ns } else { *due_ns };
            let free_ns = &mut self.free_ns[(offset / 4096 % 2) as usize];
            *free_ns = issue_ns.max(*free_ns) + 10_000;
            self.ends_ns.push(*free_ns);
            times.issue_ns.push(issue_ns);
            times.complete_ns.push(*free_ns);
        }
        if let Some(fault) = self.fault {
            fault(&mut times);
        }
        Ok(times)
    }
}

fn target(model: Plain) -> ExternalTarget {
    ExternalTarget::with_model("py:Plain", Box::new(model), &OpenOptions::default()).unwrap()
}

fn request(time_ns: u64, block: u64) -> Request {
    Request { time_ns, lba: block * 8, sectors: 8, stream: 0, op: Op::Write }
}

fn run(target: &mut ExternalTarget, blocks: &[u64], timing: Timing) -> Result<Vec<LogRecord>, Error> {
    let mut records = Vec::new();
    let mut requests = blocks.iter().enumerate().map(|(at, block)| Ok(request(at as u64 * 1_000, *block)));
    target.execute(&mut requests, timing, &mut |record| {
        records.push(record);
        Ok(())
    })?;
    Ok(records)
}

#[test]
fn a_closed_loop_has_its_depth_and_a_pause_counts() {
    let mut target = target(Plain::default());
    assert_eq!((target.size_bytes(), target.block_bytes(), target.is_new()), (1 << 20, 4096, true));
    run(&mut target, &[0, 1, 2, 3], Timing::Closed { depth: 1 }).unwrap();
    assert_eq!(target.now_ns(), 40_000);
    target.pause(5_000).unwrap();
    let records = run(&mut target, &[0, 1, 2, 3], Timing::Closed { depth: 2 }).unwrap();
    assert_eq!(target.now_ns(), 65_000);
    assert_eq!(records[0].issue_ns, Some(45_000));
    assert!(records.iter().all(|record| record.due_ns.is_none()));
    assert_eq!(target.activity().max_outstanding, 2);
    assert!(!target.is_new());
}

#[test]
fn due_times_are_absolute_and_records_come_as_they_complete() {
    let mut target = target(Plain::default());
    let records = run(&mut target, &[0, 2, 4, 1], Timing::Times { scale: 2.0 }).unwrap();
    let ends: Vec<_> = records.iter().map(|record| record.completion_ns.unwrap()).collect();
    assert_eq!(ends, [10_000, 16_000, 20_000, 30_000]);
    assert_eq!(records[1].due_ns, Some(6_000));
}

#[test]
fn batches_change_nothing() {
    let blocks: Vec<u64> = (0..40_000).map(|at| at * 7 % 256).collect();
    let mut target = target(Plain::default());
    let records = run(&mut target, &blocks, Timing::Closed { depth: 3 }).unwrap();
    assert_eq!(records.len(), blocks.len());
    assert!(records.is_sorted_by_key(|record| record.completion_ns));
    assert_eq!(target.now_ns(), 200_000_000);
}

#[test]
fn faults_name_the_request() {
    let cases: [(Fault, &str); 4] = [
        (
            |times| times.complete_ns[1] = 3,
            "request 2 (write of 4096 bytes at 4096): complete_ns 3 is before",
        ),
        (|times| times.issue_ns[0] = -1, "request 1 (write of 4096 bytes at 0): issue_ns -1 is before 0"),
        (|times| times.issue_ns.truncate(1), "issue_ns has 1 elements; expected 2, one a request"),
        (|times| times.complete_ns.push(1), "complete_ns has 3 elements; expected 2, one a request"),
    ];
    for (fault, part) in cases {
        let mut target = target(Plain { fault: Some(fault), ..Plain::default() });
        let error = run(&mut target, &[0, 1], Timing::Closed { depth: 1 }).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.kind(), crate::ErrorKind::Run);
    }
    let error = run(&mut target(Plain::default()), &[255, 256], Timing::Closed { depth: 1 }).unwrap_err();
    assert!(error.to_string().contains("lies beyond its 2048 sectors"), "{error}");
}
