//! Options for opening a target, and what is shared with whoever uses it meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::safety::Identity;

/// I/O engine for real drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Through io_uring: as many outstanding requests as wanted.
    #[default]
    IoUring,
    /// One system call after the other: pread, pwrite.
    Sync,
}

/// A wish to stop, which several threads can see. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When a target's last call of `execute` began, for those who hear of its requests before it returns. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Began(Arc<AtomicU64>);

impl Began {
    /// The call begins.
    pub(crate) fn set(&self, now_ns: u64) {
        self.0.store(now_ns, Ordering::Relaxed);
    }

    /// ns on the target's clock.
    pub fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Options for opening a target.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// True if the target is going to be written (writes and TRIMs). A real drive is then refused if it is in use or
    /// holds data (see [`crate::safety`]); otherwise it is opened read-only.
    pub write: bool,
    /// The target's own name, typed once more by its owner: what is on it may be destroyed. A target in use is refused all the same.
    pub erase: Option<String>,
    /// The real drive that the name led to before ([`Target::identity`]): another one is refused.
    pub seen: Option<Identity>,
    /// True if this process wrote the data on the drive that was `seen`: that data is then no reason to refuse.
    pub ours: bool,
    /// Size of a file that is not there yet and is to be made, bytes.
    pub size_bytes: Option<u64>,
    /// I/O engine for real drives.
    pub engine: Engine,
    /// Most outstanding requests at the workload's times, where lateness would pile up more; closed loops have their own depth. 1 with
    /// [`Engine::Sync`].
    pub max_outstanding: u32,
    /// True if requests bypass the page cache (`O_DIRECT`), as they should where a drive is measured.
    pub direct: bool,
    /// Seed of what is written, and of a simulated drive's randomness.
    pub seed: u64,
    /// Ends [`Target::execute`] early by [`Error::Cancelled`], after outstanding requests are complete and their
    /// records delivered.
    pub stop: Stop,
    /// Set when each call of [`Target::execute`] begins: due times count from there.
    pub began: Began,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            write: false,
            erase: None,
            seen: None,
            ours: false,
            size_bytes: None,
            engine: Engine::default(),
            max_outstanding: 256,
            direct: true,
            seed: 1,
            stop: Stop::default(),
            began: Began::default(),
        }
    }
}
