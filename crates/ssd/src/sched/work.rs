//! Count of the commands that a choice looks at: in the tests, the work of a scheduler without a clock.

#[cfg(test)]
thread_local! {
    static LOOKED_AT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many commands, or pieces of lists of them, are looked at. Nothing happens outside of tests.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is nothing outside of tests")]
pub(super) fn look_at(count: usize) {
    #[cfg(test)]
    LOOKED_AT.with(|looked| looked.set(looked.get() + count as u64));
    #[cfg(not(test))]
    let _ = count;
}

/// Commands looked at so far in this thread.
#[cfg(test)]
pub(super) fn looked_at() -> u64 {
    LOOKED_AT.with(std::cell::Cell::get)
}
