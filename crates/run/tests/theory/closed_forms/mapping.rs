//! Translation traffic of a page map on flash, of which an LRU cache holds a part (DFTL), under uniform requests.

/// Translation pages read and written for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) reads: f64,
    pub(crate) writes: f64,
}

/// Every entry is written back on its own. `hits`: share of the map that is cached, h; `writes`: share of requests, w.
///
/// A miss reads a translation page, and one more if the entry that makes room is dirty, which it then writes. Under LRU
/// each use of an entry is its last one with probability 1 - h, so it is clean if all its k + 1 uses were reads:
/// 1 - p_d = sum of (1-w) (h (1-w))^k (1-h) = (1-w)(1-h) / (1 - h (1-w)).
pub(crate) fn by_entry(hits: f64, writes: f64) -> Traffic {
    let dirty = 1.0 - (1.0 - writes) * (1.0 - hits) / (1.0 - hits * (1.0 - writes));
    Traffic { reads: (1.0 - hits) * (1.0 + dirty), writes: (1.0 - hits) * dirty }
}

/// With batch updates: all dirty entries of a translation page of `entries` entries are written with it.
///
/// After a translation page was written, none of its cached entries is dirty. One that is written then leaves the cache
/// dirty no earlier than the time t after which an unused entry leaves it: t = -U ln(1 - h) requests for a map of U
/// entries. From then on such departures come at the rate `entries` w (1 - h) / U (a use is a write, and the last one; what
/// becomes of entries that are read after a write counts for little, as the wait is short). So a page is written every
/// t + U / (entries w (1 - h)) requests, and there are U / entries of them.
pub(crate) fn by_page(hits: f64, writes: f64, entries: f64) -> Traffic {
    let written = 1.0 / (entries * -(-hits).ln_1p() + 1.0 / (writes * (1.0 - hits)));
    Traffic { reads: 1.0 - hits + written, writes: written }
}

#[test]
fn a_tenth_of_the_map_and_half_writes() {
    let traffic = by_entry(0.1, 0.5);
    super::assert_printed(traffic.reads, 1.3737, 4);
    super::assert_printed(traffic.writes, 0.4737, 4);
    // With one entry a page, or none cached, batches do nothing.
    let (one, none) = (by_page(1e-9, 0.5, 1.0), by_entry(1e-9, 0.5));
    assert!((one.writes - none.writes).abs() < 1e-6 && (one.reads - none.reads).abs() < 1e-6);
}
