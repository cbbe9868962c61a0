//! The complete state of a simulation, to be saved and restored: exact, and only between simulations of one configuration and one
//! engine. What it is saved to is the caller's.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use super::{Drive, Simulation};

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
    pub fn restore<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_tuple(PARTS, Into(self))
    }
}

/// Takes a saved state.
struct Into<'a>(&'a mut Simulation);

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the state of a simulation")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        let short = |part: usize| A::Error::invalid_length(part, &"the state of a simulation");
        parts.next_element_seed(IntoDrive(self.0.drive.as_mut()))?.ok_or_else(|| short(0))?;
        self.0.arbiter = parts.next_element()?.ok_or_else(|| short(1))?;
        let windows: Option<super::Windows> = parts.next_element()?.ok_or_else(|| short(2))?;
        self.0.drive.attach(&self.0.external);
        match (&mut self.0.windows, windows) {
            (Some(windows), Some(saved)) => windows.restore(saved),
            (None, None) => {}
            _ => return Err(A::Error::custom("the state of another configuration")),
        }
        Ok(())
    }
}

struct IntoDrive<'a>(&'a mut dyn Drive);

impl<'de> DeserializeSeed<'de> for IntoDrive<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.restore(&mut <dyn erased_serde::Deserializer<'_>>::erase(from)).map_err(D::Error::custom)
    }
}
