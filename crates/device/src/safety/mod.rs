//! Permission to write a real drive. A target is opened once, exclusively if it is a block device, and looked at through that
//! descriptor: who uses it, and what it holds.
//!
//! - A target in use (mounts, swap, volumes, arrays, loop devices, pools, exclusive openers) is refused, whatever its owner types.
//! - A target that holds data, or that can't be looked at, is refused unless its owner types its name once more.
//! - Things that are neither block devices nor files of a drive are refused.
//!
//! `look` opens, `content` reads, `signatures` names what was read, `in_use` asks the kernel for users. Nothing here writes.

mod content;
mod in_use;
mod look;
mod signatures;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

pub(crate) use look::{Access, NO_DIRECT, Place, identity_of, unmake};
pub use look::{glance, survey};
pub use signatures::signatures;

/// Kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A block device: a disk, a partition, a loop device.
    Block,
    /// A regular file.
    File,
    /// A file that does not exist yet.
    Missing,
}

/// Identity of a target, for wherever its name is used again: a name may lead to another file or drive by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// A block device.
    Block {
        /// Its device number.
        device: u64,
        /// The kernel's count of media behind that number: a loop device on another file is another drive. `None` on old kernels.
        sequence: Option<u64>,
    },
    /// A regular file.
    File {
        /// Device number of its file system.
        device: u64,
        /// Its inode.
        inode: u64,
        /// When it was created, ns since 1970: inodes are used again. `None` where the file system does not say.
        born_ns: Option<u64>,
    },
}

/// Weight of a reason not to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The target holds data. Nothing in the way of who has written it, or types its name.
    Content,
    /// It could not be looked at. Nothing in the way of who types its name.
    Unknown,
    /// It is in use. Final.
    Use,
}

/// A reason not to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The end of a sentence about the target: "is mounted at /mnt".
    pub what: String,
    /// Its weight.
    pub weight: Weight,
}

impl Finding {
    fn new(weight: Weight, what: impl Into<String>) -> Self {
        Self { what: what.into(), weight }
    }
}

/// True if a target has zones that are written in order.
pub(crate) fn is_zoned(identity: Identity) -> bool {
    matches!(identity, Identity::Block { device, .. } if in_use::is_zoned(device))
}

/// A target that was looked at.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Its name as given.
    pub path: PathBuf,
    /// Its name behind all links.
    pub resolved: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// Its size, bytes; of a block device, that of its whole blocks.
    pub size_bytes: u64,
    /// Its identity; `None` if it does not exist yet.
    pub identity: Option<Identity>,
    /// True if it takes TRIMs, as far as the system knows.
    pub discards: bool,
    /// Reasons not to write it.
    pub findings: Vec<Finding>,
}

impl Survey {
    /// Refuses another name than the target's own.
    pub(crate) fn check_name(&self, erase: Option<&str>) -> Result<(), Error> {
        let Some(name) = erase else { return Ok(()) };
        let named = Path::new(name);
        // The name behind all links counts as long as it still leads to the target.
        let same = || named == self.resolved && look::identity_of_name(named) == self.identity;
        if named == self.path || same() {
            return Ok(());
        }
        let expected = self.path.display();
        self.refuse(format!("--erase {name} is not the name of this target; expected --erase {expected}"))
    }

    /// Refuses to write if the target is in use, if the owner typed another name, or if there is any other reason and the owner typed none.
    pub fn permit(&self, erase: Option<&str>) -> Result<(), Error> {
        self.check_name(erase)?;
        let of = |weight: Weight| -> Vec<&str> {
            let found = self.findings.iter().filter(|finding| finding.weight == weight);
            found.map(|finding| finding.what.as_str()).collect()
        };
        let uses = of(Weight::Use);
        if !uses.is_empty() {
            return self.refuse(format!(
                "it {}; expected a target that is not in use: --erase does not override this",
                uses.join(", and ")
            ));
        }
        let (content, unknown) = (of(Weight::Content), of(Weight::Unknown));
        let path = self.path.display();
        match (content.is_empty(), unknown.is_empty()) {
            _ if erase.is_some() => Ok(()),
            (true, true) => Ok(()),
            (false, _) => self.refuse(format!(
                "it {}; expected a target with nothing on it, or --erase {path} to destroy what it holds",
                [content, unknown].concat().join(", and ")
            )),
            (true, false) => self.refuse(format!(
                "it {}; expected --erase {path} to write it all the same",
                unknown.join(", and ")
            )),
        }
    }

    fn refuse(&self, detail: String) -> Result<(), Error> {
        Err(Error::Target { path: self.path.clone(), detail })
    }
}
