//! The complete state of a simulation, to be saved and restored: exact, and only between simulations of one configuration and one
//! engine. The caller writes it with postcard, to any place.
//!
//! It is read by one type of reader. A reader behind a trait object (erased-serde) compiles each of some 30 methods for each type of the
//! state, needed or not, which was half of the functions of this crate.

use std::io::Read;

use postcard::de_flavors::io::io::IOReader;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use super::Simulation;

/// Reads a saved state.
pub type StateReader<'a> = postcard::Deserializer<'a, IOReader<'a, &'a mut dyn Read>>;

/// A part of a drive that can be copied, saved, and moved to another thread.
pub(super) trait Owned: Clone + Send + Serialize + DeserializeOwned + 'static {}

impl<T: Clone + Send + Serialize + DeserializeOwned + 'static> Owned for T {}

/// Parts of the state.
const PARTS: usize = 3;

impl Serialize for Simulation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_tuple(PARTS)?;
        parts.serialize_element(self.drive.saved())?;
        parts.serialize_element(&self.arbiter)?;
        parts.serialize_element(&self.windows)?;
        parts.end()
    }
}

impl Simulation {
    /// Replaces the state by one that was saved, of a simulation with the same configuration and options. An allocator and policies
    /// outside (see [`Simulation::set_allocator`], [`Simulation::set_policies`]) stay. After an error the simulation is in no state to go on.
    pub fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), postcard::Error> {
        self.drive.restore(from)?;
        self.arbiter = Deserialize::deserialize(&mut *from)?;
        let windows: Option<super::Windows> = Deserialize::deserialize(from)?;
        self.drive.attach(&self.external);
        match (&mut self.windows, windows) {
            (Some(windows), Some(saved)) => windows.restore(saved),
            (None, None) => {}
            _ => return Err(postcard::Error::custom("the state of another configuration")),
        }
        Ok(())
    }
}
