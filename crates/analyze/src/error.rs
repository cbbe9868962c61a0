//! Settings that make no sense.

/// A setting that makes no sense, and what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {found:?}: {expected}")]
pub struct SettingError {
    /// Name of the setting.
    pub what: String,
    /// Value that was given.
    pub found: String,
    /// Values that are accepted.
    pub expected: String,
}
