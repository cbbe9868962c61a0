//! Cache operations of a die: the array works on one page while another one is on its way.

use serde::{Deserialize, Serialize};

use crate::op::{Command, CommandKind, Purpose};

/// Cache operations that the dies have.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cache {
    /// The next page is loaded while the last one is programmed.
    pub(crate) program: bool,
    /// The next page is sensed while the last one leaves.
    pub(crate) read: bool,
}

impl Cache {
    /// True if the command senses its page while the one before is on its way, or lets the next one do so: reads of the host, and
    /// of these none waits for what another one brings.
    #[inline]
    pub(crate) fn reads(self, command: &Command) -> bool {
        self.read && command.kind == CommandKind::Read && command.purpose == Purpose::Host
    }
}
