//! Write buffers of random drives.

use super::Setting;

/// Policies for the next page to leave the buffer.
pub(crate) const REPLACEMENTS: [&str; 5] = ["fifo", "fifo", "lru", "block-lru", "fab"];

/// When pages leave the buffer before they must, and if it outlives a loss of power.
pub(super) const BUFFERS: [&[(&str, &str)]; 11] = [
    &[],
    &[],
    &[],
    &[("buffer.protected", "true")],
    &[("buffer.destage", "marks"), ("buffer.high_mark", "0.6"), ("buffer.low_mark", "0.2")],
    &[("buffer.destage", "eager"), ("buffer.protected", "true")],
    &[("buffer.destage", "idle"), ("buffer.idle_after", "60us")],
    &[("buffer.destage", "age"), ("buffer.max_age", "300us")],
    &[("buffer.backpressure", "rate"), ("buffer.admit_rate", "9MiB")],
    &[("buffer.backpressure", "fill"), ("buffer.destage", "eager"), ("buffer.fill_from", "0.2")],
    &[("buffer.backpressure", "free"), ("buffer.free_delay", "300us")],
];

/// Acknowledgement of a buffer from flash, or the order in which pages leave it.
pub(super) fn of_buffer(pages: u64, drawn: (bool, &str, &[(&'static str, &str)])) -> Vec<Setting> {
    let (ack_flash, replacement, more) = drawn;
    if pages == 0 {
        return Vec::new();
    }
    if ack_flash {
        return vec![("buffer.ack", "flash".into())];
    }
    let more = more.iter().map(|(key, value)| (*key, (*value).to_owned()));
    [("buffer.replacement", replacement.to_owned())].into_iter().chain(more).collect()
}
