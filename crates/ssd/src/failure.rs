//! Failures of requests that the host hears of.

use serde::{Deserialize, Serialize};

use crate::zones::Status;

/// Status code type of errors of the medium (NVMe base specification, figure "Status Code – Status Code Type Values").
const OF_MEDIUM: u16 = 2 << 8;
/// Status code type of errors of one command.
const OF_COMMAND: u16 = 1 << 8;

/// Why the drive failed a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// A page of flash that it needs could not be read, and not be rebuilt.
    #[error("unrecovered read error (281h)")]
    Unreadable,
    /// The drive takes no more writes.
    #[error("namespace is write protected (20h)")]
    ReadOnly,
    /// It breaks a rule of zones.
    #[error(transparent)]
    Zone(Status),
}

impl Failure {
    /// Its NVMe status: the code in the low byte, its type above.
    pub fn status(self) -> u16 {
        match self {
            Self::Unreadable => OF_MEDIUM | 0x81,
            Self::ReadOnly => 0x20,
            Self::Zone(status @ (Status::InvalidField | Status::LbaOutOfRange)) => status.code().into(),
            Self::Zone(status) => OF_COMMAND | u16::from(status.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_the_specification() {
        let status = |failure: Failure| failure.status();
        assert_eq!([Failure::Unreadable, Failure::ReadOnly].map(status), [0x281, 0x20]);
        let zones =
            [Status::InvalidField, Status::LbaOutOfRange, Status::ZoneFull, Status::InvalidTransition];
        assert_eq!(zones.map(Failure::Zone).map(status), [0x02, 0x80, 0x1b9, 0x1bf]);
    }
}
