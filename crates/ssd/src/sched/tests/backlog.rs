//! The work of a choice does not grow with the number of commands that wait, by count of the commands that are looked at.

use super::*;

/// Pages of a block.
const BLOCK: u32 = 64;

/// Requests of a drive that writes its pages one after the other: reads of older pages and of those that wait, writes, copies of
/// collections and erases. One erase goes with a block of pages.
struct Requests<D> {
    draw: D,
    next: u32,
    reach: u32,
}

impl<D: FnMut(u64) -> u64> Requests<D> {
    fn next(&mut self) -> Queued {
        let draw = &mut self.draw;
        if draw(2) == 0 {
            return read(self.next - 1 - draw(u64::from(self.reach)) as u32);
        }
        self.next += 1;
        let old = self.next - self.reach;
        match self.next % BLOCK {
            0 => {
                let mut pages = Pages::default();
                pages.add_run(0, old - BLOCK, old - 1);
                queued(CommandKind::Erase, pages, 0)
            }
            page if page % 8 == 1 => moves(old + draw(u64::from(BLOCK)) as u32, self.next),
            _ => write(self.next),
        }
    }
}

/// Commands looked at for each of those that come and go: first so many come, then one comes and one goes, then all go.
fn work_of(config: &SchedPolicy, waiting: u32) -> f64 {
    let config = SchedConfig { policy: config.clone(), ..SchedConfig::default() };
    let shape = Shape { dies: 1, page_bytes: 4096 };
    let scheduler = Scheduler::new(&config, shape);
    // Half of the reads are of pages that wait to be written.
    let reach = waiting.max(BLOCK * 4);
    let mut requests = Requests { draw: draws(7), next: 4 * reach, reach };
    let (mut queue, mut count) = (Queue::default(), 0_u64);
    let before = work::looked_at();
    let come = |queue: &mut Queue, requests: &mut Requests<_>| {
        let mut command = requests.next();
        let place = scheduler.place(queue, &mut command, 0, 0);
        queue.insert(place, command);
        scheduler.settle(queue, Some(place));
    };
    let go = |queue: &mut Queue, step: u64| {
        let place = scheduler.pick(queue, step % 3 > 0, 0);
        assert!(queue.remove(place).is_some(), "one of those waiting goes");
        scheduler.settle(queue, None);
    };
    for _ in 0..waiting {
        come(&mut queue, &mut requests);
        count += 1;
    }
    for step in 0..2 * waiting {
        come(&mut queue, &mut requests);
        go(&mut queue, step.into());
        count += 1;
    }
    while !queue.is_empty() {
        let left = queue.len() as u64;
        go(&mut queue, left);
    }
    (work::looked_at() - before) as f64 / count as f64
}

#[test]
fn the_work_of_a_request_does_not_grow_with_what_waits() {
    let policies = [
        SchedPolicy::ReadPriority(read_priority::Config {}),
        SchedPolicy::OutOfOrder(out_of_order::Config { window: 1024 }),
    ];
    for policy in policies {
        let work = [1_000, 10_000, 100_000].map(|waiting| work_of(&policy, waiting));
        // Two searches by halves have so many steps more; whatever is looked through would have thousands.
        let steps = 2.0 * f64::log2(100.0);
        assert!(work[0] > 1.0, "{policy:?}: {work:?}");
        assert!(work[2] < work[0] + steps, "{policy:?}: {work:?} commands looked at a request");
    }
}
