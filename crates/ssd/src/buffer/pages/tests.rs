//! Writes that coalesce, pages that one flush takes, and use of the buffer's capacity.

use super::*;

const PAGES: PageShape = PageShape { flash_page_sectors: 8, pages_per_block: 64 };

fn page(lpn: u64, first: u32, end: u32, queue: u32, request: u64) -> Incoming {
    Incoming { lpn, first, end, queue, place: Place::default(), request, stream: 0, handle: 0, now_ns: 0 }
}

#[test]
fn coalesces_until_under_way_and_frees_its_place() {
    let mut buffer = WriteBuffer::new(&BufferConfig::default(), 2, PAGES, 2);
    let (first, _) = buffer.insert(&page(10, 0, 4, 0, 0)).expect("room");
    assert_eq!(buffer.join(&page(10, 4, 8, 0, 1)), Some(first));
    assert!(buffer.entry(first).mask.covers(0, 8));
    assert_eq!(buffer.ready().collect::<Vec<_>>(), [(0, first)]);
    buffer.start(0, true);
    assert_eq!(buffer.join(&page(10, 0, 1, 0, 2)), None);
    let (second, older) = buffer.insert(&page(10, 0, 8, 0, 2)).expect("room");
    assert_eq!(older, None, "what is in flight is on flash to all others");
    assert_eq!(buffer.ready().count(), 0, "one page a unit at a time");
    assert_eq!(buffer.insert(&page(11, 0, 8, 1, 3)), None, "full");
    assert_eq!(buffer.find(10).map(|(slot, _)| slot), Some(second));
    assert!(buffer.holds_older_than(1));
    buffer.finish(first);
    assert!(!buffer.holds_older_than(1));
    assert_eq!(buffer.ready().collect::<Vec<_>>(), [(0, second)]);
    assert!(buffer.forget(10).is_some());
    assert_eq!(buffer.used, 0);
}

#[test]
fn without_coalescing_a_page_waits_twice_and_is_forgotten_twice() {
    let config = BufferConfig { coalesce: false, ..BufferConfig::default() };
    let mut buffer = WriteBuffer::new(&config, 4, PAGES, 1);
    let (first, _) = buffer.insert(&page(10, 0, 4, 0, 0)).expect("room");
    assert_eq!(buffer.join(&page(10, 2, 6, 0, 1)), None);
    let (second, older) = buffer.insert(&page(10, 2, 6, 0, 1)).expect("room");
    assert_eq!(older, Some(first));
    assert!(buffer.entry(second).mask.covers(0, 6), "it has what the older one has");
    assert_eq!(buffer.forget(10).map(|(slot, _)| slot), Some(second));
    assert_eq!(buffer.forget(10).map(|(slot, _)| slot), Some(first));
    assert!(buffer.forget(10).is_none());
}

#[test]
fn bound_pages_take_room_one_by_one_and_leave_together() {
    let mut buffer = WriteBuffer::new(&BufferConfig::default(), 3, PAGES, 1);
    let (first, _) = buffer.insert(&page(0, 4, 8, 0, 0)).expect("room");
    assert_eq!(buffer.join(&page(0, 8, 12, 0, 0)), Some(first), "the next page of the same super page");
    assert_eq!(buffer.join(&page(0, 10, 16, 0, 1)), Some(first), "again, without more room");
    assert_eq!(buffer.used, 2);
    assert!(buffer.insert(&page(1, 0, 8, 0, 2)).is_some());
    assert_eq!(buffer.join(&page(0, 16, 24, 0, 3)), None, "full");
    buffer.start(0, true);
    buffer.finish(first);
    assert_eq!(buffer.used, 1);
}

#[test]
fn a_bound_page_that_an_older_entry_has_too_takes_room_again() {
    let config = BufferConfig { order: Order::InOrder, ..BufferConfig::default() };
    let mut buffer = WriteBuffer::new(&config, 4, PAGES, 1);
    let (first, _) = buffer.insert(&page(0, 0, 8, 0, 0)).expect("room");
    assert_eq!(buffer.join(&page(0, 8, 16, 0, 0)), Some(first));
    let (second, older) = buffer.insert(&page(0, 0, 8, 0, 1)).expect("room");
    assert_eq!(older, Some(first));
    assert_eq!(buffer.join(&page(0, 8, 16, 0, 1)), Some(second));
    assert_eq!(buffer.used, 4);
    assert!(buffer.insert(&page(1, 0, 8, 0, 2)).is_none(), "full");
}

/// The case of four channels, an 8-page buffer and requests on channels {1,2}, {0,1}, {0,3}, {2,3}, then a fifth.
#[test]
fn a_flush_takes_a_page_of_every_unit_but_in_order_not_ahead_of_an_older_request() {
    let filled = |order| {
        let mut buffer = WriteBuffer::new(&BufferConfig { order, ..BufferConfig::default() }, 8, PAGES, 4);
        for (request, channels) in (0u64..).zip([[1, 2], [0, 1], [0, 3], [2, 3]]) {
            for channel in channels {
                let lpn = request * 4 + u64::from(channel);
                assert!(buffer.insert(&page(lpn, 0, 8, channel, request)).is_some());
            }
        }
        assert!(buffer.insert(&page(17, 0, 8, 1, 4)).is_none(), "the fifth request finds it full");
        let mut set = Vec::new();
        buffer.flush_set(0..4, &mut set);
        let mut taken: Vec<_> =
            set.iter().map(|(queue, slot)| (*queue, buffer.entry(*slot).request)).collect();
        taken.sort_unstable();
        taken
    };
    assert_eq!(filled(Order::Any), [(0, 1), (1, 0), (2, 0), (3, 2)]);
    assert_eq!(filled(Order::InOrder), [(0, 1), (1, 0), (2, 0)], "channel 3 stays idle");
}

#[test]
fn a_page_of_flash_takes_units_of_one_queue_and_one_version_of_each() {
    let config = BufferConfig { coalesce: false, ..BufferConfig::default() };
    let mut buffer = WriteBuffer::new(&config, 9, PAGES, 2);
    let slots: Vec<u32> = [(0, 10), (0, 11), (1, 20), (0, 10), (1, 21)]
        .into_iter()
        .map(|(queue, lpn)| buffer.insert(&page(lpn, 0, 8, queue, 0)).expect("room").0)
        .collect();
    assert_eq!(buffer.ready_pages(4), [(0, slots[0])], "no page is whole: the queue with most");
    assert_eq!(buffer.ready_pages(3), [(0, slots[0])]);
    assert_eq!(buffer.ready_pages(2), [(0, slots[0]), (1, slots[2])]);
    buffer.start(0, true);
    assert_eq!(buffer.next_in_page(0, slots[0]), Some(slots[1]));
    buffer.start(0, true);
    assert_eq!(buffer.next_in_page(0, slots[0]), None, "the version before is in it");
    assert!(buffer.ready_pages(4).is_empty(), "something is in flight");
    buffer.finish(slots[0]);
    buffer.finish(slots[1]);
    assert_eq!(buffer.ready_pages(4), [(1, slots[2])]);
}

#[test]
fn a_page_that_finds_no_room_finds_none_before_another_one_leaves() {
    let mut buffer = WriteBuffer::new(&BufferConfig::default(), 2, PAGES, 2);
    let (first, _) = buffer.insert(&page(10, 0, 8, 0, 0)).expect("room");
    buffer.insert(&page(11, 0, 8, 1, 0)).expect("room");
    let late = page(12, 0, 8, 0, 1);
    let departures = buffer.departures();
    assert!(buffer.join(&late).is_none() && buffer.insert(&late).is_none());
    buffer.start(0, true);
    assert!(buffer.join(&late).is_none() && buffer.insert(&late).is_none());
    assert_eq!((buffer.departures(), buffer.all_waiting()), (departures, 1));
    buffer.finish(first);
    assert!(buffer.departures() > departures && buffer.insert(&late).is_some());
    // One that was forgotten has left, too; one that is being completed does not wait.
    let before = buffer.departures();
    buffer.take_out(1);
    assert_eq!(buffer.all_waiting(), 1);
    assert!(buffer.forget(11).is_some());
    assert_eq!((buffer.departures(), buffer.all_waiting()), (before + 1, 1));
}
