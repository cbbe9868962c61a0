//! Wait of a command for its die in the timeline: its length, its causes, and the commands that it passed.

use flashweir_ssd::{CommandKind, CommandRecord, Parts, Purpose};

/// Where the time went that a command waited before it got its die.
pub(super) fn before_start(command: &CommandRecord) -> Parts {
    let Parts { wait_bus, bus, flash, .. } = command.parts;
    let mut parts = Parts { wait_bus: 0, bus: 0, flash: 0, ..command.parts };
    // The wait of a command after it has got its die, without that for the bus, is booked with reads if the command was
    // paused. Otherwise it is booked with the program behind which its page stood in the register.
    let after = (command.end_ns - command.start_ns).saturating_sub(wait_bus + bus + flash);
    let booked = if command.pauses > 0 { &mut parts.wait_read } else { &mut parts.wait_write };
    *booked = booked.saturating_sub(after);
    parts
}

/// The name of the wait: who waits, and what the die did for most of that time.
pub(super) fn name(command: &CommandRecord) -> String {
    let Parts { mapping, wait_read, wait_write, wait_erase, wait_gc, .. } = before_start(command);
    let causes = [
        (wait_erase, "erase"),
        (wait_gc, "gc"),
        (wait_write, "write"),
        (wait_read, "read"),
        (mapping, "mapping"),
    ];
    let longest = causes.into_iter().rev().max_by_key(|(ns, _)| *ns);
    let who = match (command.purpose, command.kind) {
        (Purpose::Mapping, _) => "mapping",
        (_, CommandKind::Read) => "read",
        _ => "write",
    };
    format!("{who} waits for {}", longest.map_or("die", |(_, cause)| cause))
}

/// Facts for the details panel; what is 0 is left out.
pub(super) fn args(command: &CommandRecord) -> Vec<(&'static str, u64)> {
    let Parts { mapping, wait_read, wait_write, wait_erase, wait_gc, wait_bus, .. } = command.parts;
    let mut args = vec![("pages", u64::from(command.pages)), ("bus_ns", command.bus_ns)];
    let more = [
        ("waited_ns", command.start_ns - command.arrived_ns),
        ("wait_read_ns", wait_read),
        ("wait_write_ns", wait_write),
        ("wait_erase_ns", wait_erase),
        ("wait_gc_ns", wait_gc),
        ("wait_mapping_ns", mapping),
        ("wait_bus_ns", wait_bus),
        ("passed", command.passed.into()),
        ("pauses", command.pauses.into()),
    ];
    args.extend(more.into_iter().filter(|(_, value)| *value > 0));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_named_after_what_it_was_for_most_of_the_time() {
        let mut command = CommandRecord {
            die: 0,
            kind: CommandKind::Read,
            purpose: Purpose::Host,
            pages: 1,
            start_ns: 100,
            end_ns: 160,
            bus_ns: 10,
            request: Some(3),
            opens: 0,
            arrived_ns: 20,
            resumed_ns: 100,
            passed: 2,
            pauses: 0,
            effect: u32::MAX,
            parts: Parts {
                wait_erase: 50,
                wait_write: 30,
                wait_bus: 20,
                bus: 10,
                flash: 30,
                ..Parts::default()
            },
        };
        assert_eq!(name(&command), "read waits for erase");
        assert_eq!(before_start(&command).total(), 80);
        let expected = [
            ("pages", 1),
            ("bus_ns", 10),
            ("waited_ns", 80),
            ("wait_write_ns", 30),
            ("wait_erase_ns", 50),
            ("wait_bus_ns", 20),
            ("passed", 2),
        ];
        assert_eq!(args(&command), expected);
        // Of a program, what it stood back for reads does not count as a wait for its die.
        command.kind = CommandKind::Program;
        command.pauses = 1;
        command.parts.wait_read = 500;
        command.end_ns += 500;
        assert_eq!(name(&command), "write waits for erase");
        assert_eq!(before_start(&command).wait_read, 0);
        command.purpose = Purpose::Mapping;
        assert_eq!(name(&command), "mapping waits for erase");
    }
}
