//! Names of files and generators as settings carry them: text, or bytes where a file's name is not UTF-8.

use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A file, or another text such as a generator. It is a `str` for messages, in which bytes that are not UTF-8 are
/// replaced; [`Place::path`] has them as they are.
///
/// In JSON it is a text, or `{"bytes": [...]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    text: String,
    /// The name, where `text` is not exact.
    exact: Option<PathBuf>,
}

impl Place {
    /// The file that it names.
    pub fn path(&self) -> &Path {
        self.exact.as_deref().unwrap_or(Path::new(&self.text))
    }
}

impl Deref for Place {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        Self { text, exact: None }
    }
}

impl From<&str> for Place {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Self {
        match path.into_os_string().into_string() {
            Ok(text) => text.into(),
            Err(exact) => Self { text: exact.to_string_lossy().into_owned(), exact: Some(exact.into()) },
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a text")]
        enum Given {
            Text(String),
            Bytes { bytes: Vec<u8> },
        }
        Ok(match Given::deserialize(deserializer)? {
            Given::Text(text) => text.into(),
            Given::Bytes { bytes } => PathBuf::from(OsString::from_vec(bytes)).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_utf_8_is_kept_byte_by_byte() {
        let read = |json: &str| serde_json::from_str::<Place>(json);
        assert_eq!(read("\"a.csv\"").unwrap(), "a.csv".into());
        let place = read("{\"bytes\": [97, 255, 46, 99]}").unwrap();
        assert_eq!(&*place, "a\u{fffd}.c");
        assert_eq!(place.path().as_os_str().as_encoded_bytes(), b"a\xff.c");
        assert_eq!(read("{\"bytes\": [97, 98]}").unwrap(), "ab".into());
        assert!(read("5").unwrap_err().to_string().starts_with("expected a text"));
    }
}
