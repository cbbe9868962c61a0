//! Allocators that answer nonsense stop the run with one line, and pages that must have been there.

use flashweir_ssd::tenants::{Allocation, Group};
use flashweir_ssd::{Allocator, RunError};
use flashweir_trace::Op;
use proptest::prelude::*;

use super::{Settings, allocator, check, config, drive, failed, finish, on, requests, restless, start};

fn groups(channels: &[&[u32]]) -> Vec<Group> {
    channels.iter().map(|channels| Group { channels: channels.to_vec(), placement: None }).collect()
}

#[test]
fn nonsense_is_named() {
    let base =
        Allocation { groups: groups(&[&[0], &[1, 2]]), reads: vec![0, 1], writes: vec![1, 1], turns: None };
    assert_eq!(base.check(2, 3), Ok(()));
    let cases = [
        (
            Allocation { reads: vec![0], ..base.clone() },
            "groups of 1 tenants' reads and 2 tenants' writes: expected 2 of each",
        ),
        (
            Allocation { writes: vec![0, 2], ..base.clone() },
            "group 2: expected one of the 2 groups, counted from 0",
        ),
        (
            Allocation { groups: groups(&[&[0], &[]]), ..base.clone() },
            "group 1 has no channel: expected at least one",
        ),
        (
            Allocation { groups: groups(&[&[3], &[0]]), ..base.clone() },
            "channel 3 in group 0: expected 0 to 2",
        ),
        (
            Allocation { groups: groups(&[&[0], &[1, 1]]), ..base.clone() },
            "group 1 names a channel twice: expected each once",
        ),
        (Allocation { groups: Vec::new(), ..base }, "group 0: expected one of the 0 groups, counted from 0"),
    ];
    for (allocation, message) in cases {
        assert_eq!(allocation.check(2, 3), Err(message.into()));
    }
}

fn silent() -> Allocator {
    Box::new(|features, channels| match features.window {
        0 => Ok(Allocation::everything(features.tenants.len(), channels)),
        _ => Err("no idea".into()),
    })
}

#[test]
fn an_allocator_that_fails_stops_the_run() {
    let own: Settings = vec![
        ("channels", "2".into()),
        ("capacity", "1MiB".into()),
        ("pages_per_block", "4".into()),
        ("op_ratio", "0.5".into()),
        ("alloc.kind", "dynamic".into()),
        ("tenants.channels", "external".into()),
        ("tenants.window_requests", "3".into()),
    ];
    let config = config(&[&own]).expect("a legal drive");
    let requests = on(&config, &[(0, 8, 50, 0, 0); 9]);
    let error = finish(start(&config, silent), &requests, 4096).map(|_| ()).expect_err("no idea");
    assert_eq!(error, RunError::Allocator { window: 1, detail: "no idea".into() });
    assert_eq!(error.to_string(), "allocator, window 1: no idea");
}

#[test]
fn pages_that_are_read_were_always_there() {
    check(60, &(drive(), allocator(), any::<bool>(), requests()), |(drive, own, plain, raw)| {
        let on_read: Settings = vec![("precondition", "on-read".into())];
        let own = if plain { Settings::new() } else { own };
        let Some(config) = config(&[&drive, &own, &on_read]) else { return Ok(()) };
        let mut requests = on(&config, &raw);
        let buffered = config.buffer.bytes.0 > 0;
        // A TRIM removes the content that was there.
        requests.retain(|request| request.op != Op::Trim);
        let served = finish(start(&config, restless), &requests, 4096);
        if matches!(served, Err(RunError::Stuck { .. } | RunError::NoRoom { .. })) {
            return Ok(());
        }
        let stats = served.map_err(failed)?.stats();
        prop_assert_eq!(stats.counters.unmapped_page_reads, 0);
        // Only what the host wrote is counted as written.
        let size = u64::from(flashweir_ssd::Geometry::new(&config).expect("checked").page_sectors);
        let pages = |op: Op| -> u64 {
            let of = requests.iter().filter(|request| request.op == op && request.sectors > 0);
            of.map(|request| (request.lba + u64::from(request.sectors)).div_ceil(size) - request.lba / size)
                .sum()
        };
        prop_assert_eq!(stats.counters.host_pages_written, pages(Op::Write));
        if !buffered {
            prop_assert_eq!(stats.counters.host.programs, pages(Op::Write));
            prop_assert_eq!(stats.counters.host.reads, pages(Op::Read) + stats.counters.rewrite_reads);
        }
        Ok(())
    });
}

#[test]
fn what_is_read_first_lies_where_a_full_drive_has_it() {
    let raw = prop::collection::vec((any::<u32>(), 1..24u32, 0..1u32, 0..300_000u64, 0..3u16), 1..100);
    check(40, &(drive(), allocator(), raw), |(drive, own, raw)| {
        let found = ["full", "on-read"].map(|state| {
            let state: Settings = vec![("precondition", state.into())];
            let config = config(&[&drive, &own, &state])?;
            Some(finish(start(&config, restless), &on(&config, &raw), 4096).map(|drive| drive.stats()))
        });
        let [Some(full), Some(on_read)] = found else { return Ok(()) };
        let (full, mut on_read) = (full.map_err(failed)?, on_read.map_err(failed)?);
        prop_assert!(on_read.counters.preexisting_pages > 0);
        on_read.counters.preexisting_pages = 0;
        prop_assert_eq!(super::digest_of(&on_read), super::digest_of(&full));
        Ok(())
    });
}
