//! Reads first, not pre-emptive (Cobham 1954): the oldest read that the host waits for (of its page, or of the map's that says
//! where that is) and whose page no earlier command has yet to write; without one, the oldest command.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Queued;
use crate::nand::CommandKind;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn pick(queue: &VecDeque<Queued>) -> usize {
    let is_read = |queued: &Queued| queued.command.kind == CommandKind::Read && queued.command.awaited;
    queue
        .iter()
        .enumerate()
        .filter(|(_, queued)| is_read(queued))
        .find(|(place, read)| {
            let writes = |before: &Queued| before.command.kind != CommandKind::Read;
            !queue.range(..*place).any(|before| writes(before) && before.pages.overlaps(&read.pages))
        })
        .map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{Command, NOBODY, Purpose};
    use crate::sched::Pages;

    fn queued(kind: CommandKind, ppn: u32) -> Queued {
        let mut pages = Pages::default();
        pages.add(0, ppn);
        let command = Command {
            die: 0,
            kind,
            purpose: Purpose::Host,
            opens: 0,
            pages: 1,
            read_ns: 0,
            bus_ns: 0,
            program_ns: 0,
            tag: NOBODY,
            awaited: true,
        };
        Queued { command, pages, then: None, waits: None, request: 0 }
    }

    #[test]
    fn a_read_passes_writes_but_not_one_to_its_page() {
        let queue: VecDeque<_> = [
            (CommandKind::Program, 1),
            (CommandKind::Program, 2),
            (CommandKind::Read, 2),
            (CommandKind::Read, 9),
        ]
        .map(|(kind, ppn)| queued(kind, ppn))
        .into();
        assert_eq!(pick(&queue), 3);
        let queue: VecDeque<_> =
            [(CommandKind::Program, 1), (CommandKind::Read, 1)].map(|(kind, ppn)| queued(kind, ppn)).into();
        assert_eq!(pick(&queue), 0);
    }
}
