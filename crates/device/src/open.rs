//! Opening a target by its name.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::real::{Engine, RealTarget};
use crate::safety::Identity;
use crate::simulated::SimTarget;
use crate::{Error, Target};

/// What names of simulated drives begin with.
pub const SIMULATED: &str = "sim:";

/// A wish to stop, which several threads can see. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
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

/// How a target is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Whether it is going to be written (writes and TRIMs): a real drive is then refused if it is in use or holds data (see
    /// [`crate::safety`]), and opened read-only otherwise.
    pub write: bool,
    /// The target's own name, typed once more by its owner: what is on it may be destroyed. A target in use is refused all the same.
    pub erase: Option<String>,
    /// The real drive that the name led to before ([`Target::identity`]): another one is refused.
    pub seen: Option<Identity>,
    /// Whether this process has written what is on the drive that was `seen`: then that is no reason to refuse.
    pub ours: bool,
    /// Size of a file that is not there yet and is to be made, bytes.
    pub size_bytes: Option<u64>,
    /// How real drives are asked.
    pub engine: Engine,
    /// Most requests under way at the workload's times, where lateness would pile up more; closed loops have their own depth. 1 with
    /// [`Engine::Sync`].
    pub most_under_way: u32,
    /// Whether the page cache is passed by (`O_DIRECT`), as it should be where a drive is measured.
    pub direct: bool,
    /// Seed of what is written, and of a simulated drive's randomness.
    pub seed: u64,
    /// Ends [`Target::execute`] early, with what is under way complete and handed over, by [`Error::Cancelled`].
    pub stop: Stop,
    /// Is told when each call of [`Target::execute`] begins: due times count from there.
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
            most_under_way: 256,
            direct: true,
            seed: 1,
            stop: Stop::default(),
            began: Began::default(),
        }
    }
}

/// Opens a target: `sim:PRESET[,KEY=VALUE...]` or `sim:FILE.toml[,KEY=VALUE...]`, or the path of a block device or file.
pub fn open(name: &str, options: &OpenOptions) -> Result<Box<dyn Target>, Error> {
    Ok(match name.strip_prefix(SIMULATED) {
        Some(_) => Box::new(SimTarget::open(name, options)?),
        None => Box::new(RealTarget::open(Path::new(name), options)?),
    })
}
