//! Invariants of the records of dies: holders and their times, pauses, and numbers of waiting commands.

use std::collections::BTreeMap;

use flashweir_ssd::{Recorded, Stats};

/// Panics unless what commands held their dies for is the time of these dies, pauses lie within their commands, parts make
/// up the time of commands, and the queues are those of the commands.
pub(crate) fn check(stats: &Stats, recorded: &Recorded) {
    let mut held: Vec<_> =
        recorded.commands.iter().map(|command| (command.die, command.resumed_ns, command.end_ns)).collect();
    held.extend(recorded.holds.iter().map(|hold| (hold.die, hold.start_ns, hold.end_ns)));
    held.sort_unstable();
    for (die, time) in (0..).zip(&stats.dies) {
        let (mut until_ns, mut total_ns) = (0, 0);
        for (_, start, end) in held.iter().filter(|held| held.0 == die) {
            total_ns += end - until_ns.max(*start);
            until_ns = *end;
        }
        assert_eq!(total_ns, time.total(), "die {die}");
    }
    let mut pauses = recorded.pauses.clone();
    for command in &recorded.commands {
        let span = command.end_ns - command.arrived_ns;
        assert_eq!(command.parts.total(), span, "{command:?}");
        let times = [command.arrived_ns, command.start_ns, command.resumed_ns, command.end_ns];
        assert!(times.is_sorted(), "{command:?}");
        let within = pauses.extract_if(.., |pause| {
            command.pauses > 0
                && pause.die == command.die
                && (command.start_ns..=command.end_ns).contains(&pause.start_ns)
                && pause.end_ns <= command.end_ns
        });
        assert_eq!(within.count(), command.pauses as usize, "{command:?}");
    }
    assert!(pauses.is_empty(), "{pauses:?}");
    let expected = queues(
        recorded
            .commands
            .iter()
            .flat_map(|command| [(command.arrived_ns, command.die, 1), (command.start_ns, command.die, -1)]),
    );
    let found = changes(recorded);
    let mut waiting = BTreeMap::<u32, i32>::new();
    for ((_, die), change) in &found {
        let waiting = waiting.entry(*die).or_default();
        *waiting += change;
        assert!(*waiting >= 0);
    }
    assert!(waiting.values().all(|waiting| *waiting == 0), "{waiting:?}");
    // A command that is recalled to its queue is recorded with its last start only.
    if stats.sched.is_none_or(|sched| sched.recalls == 0) {
        assert_eq!(found, expected);
    }
}

/// Changes of queues, an instant at once.
pub(crate) fn changes(recorded: &Recorded) -> BTreeMap<(u64, u32), i32> {
    queues(recorded.queues.iter().map(|queue| (queue.time_ns, queue.die, queue.change)))
}

fn queues(changes: impl Iterator<Item = (u64, u32, i32)>) -> BTreeMap<(u64, u32), i32> {
    let mut queues = BTreeMap::<_, i32>::new();
    for (time_ns, die, change) in changes {
        *queues.entry((time_ns, die)).or_default() += change;
    }
    queues.retain(|_, change| *change != 0);
    queues
}
