//! Promises of a drive about data that it has acknowledged.

/// Promises of the drive about writes that it has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// They are on flash: there is no write buffer, or none that acknowledges.
    OnFlash,
    /// They are lost with the power until they were flushed.
    Volatile,
    /// Capacitors write the buffer to flash when power fails: a flush has nothing to do.
    Protected,
    /// They are lost with the power, and flushes are answered without effect.
    FlushIgnored,
}
