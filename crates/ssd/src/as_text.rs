//! Settings as a part of the state that is saved: as JSON in a text, because the form of saved drives has no tagged tables.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(settings: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::to_string(settings).map_err(S::Error::custom)?.serialize(serializer)
}

pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
