//! Cuts of a drive that goes on: what it shows after a cut is what flash holds. A second cut right after it changes nothing, and what
//! is written and flushed after it is there after the next one, over all else as the cut left it.

use std::collections::BTreeSet;

use flashweir_run::{Drive, DriveOptions, HostChanges, Outcome, PowerCuts};
use flashweir_ssd::Geometry;
use flashweir_trace::{Op, Request};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::drives::{Case, cases, config, managed};

/// Requests between two pairs of cuts.
const SLICE: usize = 60;

/// A drive, and the version of each sector: versions stand for the bytes that a host wrote.
struct Host {
    drive: Drive,
    page_sectors: u32,
    /// By sector: as the drive shows it.
    newest: Vec<u64>,
    /// By sector: as the last cut left it.
    base: Vec<u64>,
    /// Versions since the last cut.
    since: BTreeSet<u64>,
}

impl Host {
    fn new(drive: Drive) -> Self {
        let Geometry { page_sectors, logical_pages, .. } = *drive.geometry();
        let none = vec![0; logical_pages as usize * page_sectors as usize];
        Self { drive, page_sectors, newest: none.clone(), base: none, since: BTreeSet::new() }
    }

    /// Takes what the drive took of the host. Returns the number of changes.
    fn note(&mut self) -> usize {
        let mut changes = HostChanges::default();
        self.drive.host_changes(&mut changes);
        for entry in &changes.entries {
            let first = entry.lpn as usize * self.page_sectors as usize;
            let sectors = first + entry.sectors.start as usize..first + entry.sectors.end as usize;
            self.newest[sectors].fill(entry.version);
            self.since.insert(entry.version);
        }
        changes.entries.len()
    }

    /// Cuts the power: each sector goes back to the version that is found.
    fn cut(&mut self) -> Result<Outcome, flashweir_run::Error> {
        self.note();
        let sectors = self.page_sectors as usize;
        for (at, base) in self.base.iter_mut().enumerate() {
            let found = self.drive.version_on_flash((at / sectors) as u64, (at % sectors) as u32);
            // Older content has no version here.
            *base = if self.since.contains(&found) { found } else { *base };
        }
        self.since.clear();
        self.newest.clone_from(&self.base);
        Ok(self.drive.cut_power()?.outcome)
    }

    fn submit(&mut self, request: Request) -> Result<(), flashweir_run::Error> {
        let time_ns = request.time_ns.max(self.drive.now_ns());
        self.drive.advance_to(time_ns)?;
        self.drive.submit(&[Request { time_ns, ..request }])?;
        self.note();
        self.drive.poll(&mut Vec::new());
        Ok(())
    }

    /// Lets all requests complete, then flushes: a flush promises what was acknowledged before it.
    fn flush(&mut self) -> Result<(), flashweir_run::Error> {
        self.drive.drain_while(&mut || true)?;
        self.submit(Request { time_ns: 0, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 })?;
        self.drive.drain_while(&mut || true).map(drop)
    }
}

/// Cuts the power after every slice of requests, twice. Returns the sectors that went back.
fn cut_twice(host: &mut Host, requests: &[Request], draws: &[u32]) -> Result<usize, TestCaseError> {
    let failed = |error: flashweir_run::Error| TestCaseError::fail(error.to_string());
    let mut restored = 0;
    for (slice, draw) in requests.chunks(SLICE).zip(draws.iter().cycle()) {
        slice.iter().try_for_each(|request| host.submit(*request)).map_err(failed)?;
        let present_ns = host.drive.now_ns() + u64::from(draw % 400_000);
        host.drive.advance_to(present_ns).map_err(failed)?;
        host.note();
        let before = host.newest.clone();
        host.cut().map_err(failed)?;
        let shown = host.newest.clone();
        restored += before.iter().zip(&shown).filter(|(before, shown)| before != shown).count();
        match draw % 3 {
            0 => {}
            1 => host.flush().map_err(failed)?,
            // Work in the background goes on.
            _ => host.drive.advance_to(host.drive.now_ns() + 3_000_000).map_err(failed)?,
        }
        prop_assert_eq!(host.note(), 0, "the host wrote nothing");
        let outcome = host.cut().map_err(failed)?;
        prop_assert!(host.newest == shown, "a second cut changed what the drive showed");
        let none = Outcome { time_ns: outcome.time_ns, is_prefix: true, ..Outcome::default() };
        prop_assert_eq!(outcome, none);
        // The next slice is half flushed.
        let (flushed, rest) = slice.split_at(slice.len() / 2);
        flushed.iter().try_for_each(|request| host.submit(*request)).map_err(failed)?;
        host.flush().map_err(failed)?;
        host.note();
        let shown = host.newest.clone();
        let outcome = host.cut().map_err(failed)?;
        prop_assert_eq!(outcome.flushed_sectors_lost, 0);
        prop_assert!(host.newest == shown, "a cut changed what was flushed");
        rest.iter().try_for_each(|request| host.submit(*request)).map_err(failed)?;
    }
    Ok(restored)
}

fn check(strategy: impl Strategy<Value = Case>, settings: &ProptestConfig) {
    let (ran, restored) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let all = (strategy, prop::collection::vec(0..1_000_000u32, 6));
    TestRunner::new(settings.clone())
        .run(&all, |((mut settings, requests), draws)| {
            // Of a protected buffer all is kept: nothing goes back.
            settings.retain(|(key, _)| *key != "buffer.protected");
            let Some(config) = config(&settings, "auto") else { return Ok(()) };
            let geometry = Geometry::new(&config).expect("a checked configuration");
            if PowerCuts::check(&config, &geometry).is_err() {
                return Ok(());
            }
            let names = || vec!["one".to_owned(), "other".to_owned()];
            let options = DriveOptions {
                seed: Some(5),
                verify: true,
                journal: true,
                tenants: names(),
                ..DriveOptions::default()
            };
            let Ok(mut drive) = Drive::with_config(config, &options, &mut |_| true) else { return Ok(()) };
            drive.follow_power().map_err(|error| TestCaseError::fail(error.to_string()))?;
            ran.set(ran.get() + 1);
            let went_back = cut_twice(&mut Host::new(drive), &requests, &draws)?;
            restored.set(restored.get() + went_back);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.get() * 3 > settings.cases, "too many of the random drives are refused");
    assert!(restored.get() > 1000, "cuts lose what was not flushed");
}

#[test]
fn a_second_cut_right_after_a_cut_changes_nothing() {
    let (strategy, settings) = cases();
    check(strategy, &settings);
}

#[test]
fn a_second_cut_changes_nothing_where_channels_are_managed() {
    let (strategy, settings) = managed::managed_cases();
    check(strategy, &settings);
}
