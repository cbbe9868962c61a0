//! Policies outside the engine: gives a simulation the functions that its configuration names.
//!
//! This crate can't run a function of a file, so whoever can registers a [`Loader`] once, as the Python module does.

use std::sync::OnceLock;

use flashweir_ssd::external::{Ask, Buffered, Destage, Files, Idle, Policies, Steps, Units, Victims, Writes};
use flashweir_ssd::{Config, Options, Simulation};

use crate::error::Error;

/// An allocator that is called once a window. It maps the features of the window, a JSON object, to an allocation, or
/// to the reason that there is none. docs/guide/allocators.md has both forms.
pub type Decide = Box<dyn FnMut(&str) -> Result<String, String> + Send>;

/// Makes functions of what a configuration names. `file` is `FILE.py:FUNCTION`, or empty: the function that the caller gave
/// for this slot. An error says what was expected.
pub trait Loader: Send + Sync {
    /// For `gc.victim`.
    fn victim(&self, file: &str) -> Result<Ask<Victims, Option<u32>>, String>;
    /// For `gc.planner`.
    fn planner(&self, file: &str) -> Result<Ask<Units, Vec<u32>>, String>;
    /// For `background.kind`.
    fn background(&self, file: &str) -> Result<Ask<Idle, Steps>, String>;
    /// For `buffer.destage`.
    fn destage(&self, file: &str) -> Result<Ask<Buffered, Destage>, String>;
    /// For `ftl.classifier`.
    fn classifier(&self, file: &str) -> Result<Ask<Writes, Vec<u32>>, String>;
    /// For `tenants.channels`: from the features of a window to an allocation, both as JSON.
    fn channels(&self, file: &str) -> Result<Decide, String>;
}

static LOADER: OnceLock<Box<dyn Loader>> = OnceLock::new();

/// Registers the loader of this process. A second one is ignored.
pub fn set_loader(loader: Box<dyn Loader>) {
    let _ = LOADER.set(loader);
}

/// A new drive, with the functions that its configuration names.
pub(crate) fn simulation(config: &Config, options: Options) -> Result<Simulation, Error> {
    let mut simulation = Simulation::new(config, options)?;
    // The allocator of channels is attached with the names of the tenants: `crate::allocator`.
    let Files { victim, planner, background, destage, classifier, channels: _ } = config.external();
    simulation.set_policies(Policies {
        victim: victim.map(|file| load("gc.victim", |loader| loader.victim(file))).transpose()?,
        planner: planner.map(|file| load("gc.planner", |loader| loader.planner(file))).transpose()?,
        background: background
            .map(|file| load("background.kind", |loader| loader.background(file)))
            .transpose()?,
        destage: destage.map(|file| load("buffer.destage", |loader| loader.destage(file))).transpose()?,
        classifier: classifier
            .map(|file| load("ftl.classifier", |loader| loader.classifier(file)))
            .transpose()?,
    });
    Ok(simulation)
}

/// The allocator of channels that a configuration names.
pub(crate) fn channels(file: &str) -> Result<Decide, Error> {
    if file.is_empty() && LOADER.get().is_none() {
        let expected = "expected an allocator: name one in tenants.channels_file, or give one with the drive";
        return Err(Error::setting("tenants.channels=external", expected));
    }
    load("tenants.channels", |loader| loader.channels(file))
}

fn load<T>(slot: &str, load: impl FnOnce(&dyn Loader) -> Result<T, String>) -> Result<T, Error> {
    let loader = LOADER.get().ok_or("functions in Python can only be asked from Python".to_owned());
    loader
        .and_then(|loader| load(loader.as_ref()))
        .map_err(|detail| Error::setting(format!("{slot}=external"), &detail))
}
