//! Opening a target by its name.

use std::path::Path;

use crate::external::ExternalTarget;
use crate::real::RealTarget;
use crate::simulated::{SIMULATED, SimTarget};
use crate::{Error, OpenOptions, Target};

/// Prefix of the names of drives that are classes of Python.
pub const EXTERNAL: &str = "py:";

/// True for the name of a drive that has its own clock and holds nobody's data.
pub fn is_simulated(name: &str) -> bool {
    name.starts_with(SIMULATED) || name.starts_with(EXTERNAL)
}

/// Refuses a real target that is not there, or that its owner did not name once more. `doing` says what destroys what it holds.
pub(crate) fn named_again(name: &str, erase: Option<&str>, doing: &str) -> Result<(), Error> {
    let refuse = |detail: String| Err(Error::Target { path: name.into(), detail });
    if is_simulated(name) {
        return Ok(());
    }
    if erase.is_none() {
        return refuse(format!(
            "{doing} destroys all that a drive holds; expected --erase {name}, its name once more"
        ));
    }
    // No file is made: what would be found is the file system.
    if !Path::new(name).exists() {
        return refuse("there is no such device or file; expected one, or sim:PRESET".into());
    }
    Ok(())
}

/// Opens a target: `sim:PRESET[,KEY=VALUE...]`, `sim:FILE.toml[,KEY=VALUE...]`, `py:FILE.py:CLASS[,key=value...]`, or the path of a block device or file.
pub fn open(name: &str, options: &OpenOptions) -> Result<Box<dyn Target>, Error> {
    Ok(if name.starts_with(SIMULATED) {
        Box::new(SimTarget::open(name, options)?)
    } else if name.starts_with(EXTERNAL) {
        Box::new(ExternalTarget::open(name, options)?)
    } else {
        Box::new(RealTarget::open(Path::new(name), options)?)
    })
}
