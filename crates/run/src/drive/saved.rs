//! Saving a drive and loading it.

use std::path::Path;

use flashweir_ssd::Config;
use flashweir_ssd::config::layers::to_value;

use super::Drive;
use super::file::{Header, Loading, Saving};
use crate::error::Error;
use crate::external::Decide;

impl Drive {
    /// Writes the drive's complete state to a file, outstanding requests and completions that were not polled included. The file appears
    /// once it is on the disk, in place of one of that name; after a crash there is one of the two.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        self.check_goes_on()?;
        let mut saving = Saving::begin(path, &Header::new(to_value(&self.config), self.options.clone()))?;
        saving.put(&self.state)?;
        saving.put(&self.simulation)?;
        saving.finish()
    }

    /// True if a file is one that a drive was saved to, by how it begins.
    pub fn is_saved(path: &Path) -> bool {
        super::file::is_saved(path)
    }

    /// A drive that was saved, exactly as it was. `allocator`: for `tenants.channels=external`, as that of the saved drive was.
    ///
    /// Refused are files that are no drive, that are cut short or damaged, and those of another engine, whose state may mean something else.
    pub fn load(path: &Path, allocator: Option<Decide>) -> Result<Self, Error> {
        Self::loaded(path, allocator, false)
    }

    /// As [`Drive::load`], and adds up the time of each die by kind of work from now on if `die_use` is set.
    pub fn loaded(path: &Path, allocator: Option<Decide>, die_use: bool) -> Result<Self, Error> {
        let mut loading = Loading::open(path)?;
        let Header { config, mut options, .. } = loading.header.clone();
        options.die_use = die_use;
        let config: Config =
            serde_json::from_value(config).map_err(|error| loading.wrong(error.to_string()))?;
        // The model is part of the state.
        let mut drive = Self::new(config, options, allocator, None)?;
        drive.state = loading.take()?;
        loading.with(|from| drive.simulation.restore(from))?;
        loading.finish()?;
        Ok(drive)
    }
}
