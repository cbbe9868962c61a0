//! The contract of distributions of addresses.

/// A distribution of starts.
pub(super) trait Place {
    /// The next start, in units of the alignment from the start of the span, for a request of `sectors`.
    fn place(&mut self, sectors: u32) -> u64;
}
