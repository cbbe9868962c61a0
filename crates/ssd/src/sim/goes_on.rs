//! A simulation that goes on in another way than it began: a fork of it, or the same drive with another host.

use super::Simulation;
use crate::config::Config;

impl Simulation {
    /// After [`Simulation::finish`]: the drive goes on with the open arrivals of `config`, which differs in its host only and has the same
    /// time path, and keeps completions. Latencies so far are forgotten, what is done in the background begins anew.
    pub fn open_arrivals(&mut self, config: &Config) {
        self.arbiter = None;
        self.arbitrates_late = false;
        self.drive.open_arrivals(config);
        self.drive.attach(&self.external);
    }

    /// A second simulation in the same state. Maps are shared until one side writes them, so this is cheap.
    #[must_use]
    pub fn snapshot(&mut self) -> Self {
        let windows = self.windows.as_ref().map(|windows| Box::new(windows.fork()));
        let (arbiter, external) = (self.arbiter.clone(), self.external.clone());
        Self { drive: self.drive.snapshot(), windows, arbiter, external, ..*self }
    }
}
