//! Arbitration as a pure function of the waiting tenants and of the charges.

use proptest::prelude::*;

use super::{Arbiter, Arbitration, Weights};
use crate::op::{Command, CommandKind, Link, NO_EFFECT, NOBODY, Purpose};
use crate::stats::FlashTime;

fn weights(text: &str) -> Weights {
    serde_json::from_value(text.into()).expect("weights")
}

fn charge(flash_time: &mut FlashTime, tenant: usize, program_ns: u64) {
    let (kind, purpose, opens) = (CommandKind::Program, Purpose::Host, 0);
    let (die, pages, read_ns, bus_ns, tag, awaited) = (0, 1, 0, 0, NOBODY, true);
    flash_time.serve(tenant as u16);
    flash_time.charge(&Command {
        die,
        kind,
        purpose,
        opens,
        pages,
        read_ns,
        bus_ns,
        program_ns,
        tag,
        effect: NO_EFFECT,
        link: Link::NONE,
        awaited,
    });
}

/// A host whose requests cost flash time when they are picked.
struct Host {
    arbiter: Arbiter,
    flash_time: FlashTime,
    costs: Vec<u64>,
}

impl Host {
    fn new(arbitration: Arbitration, text: &str, costs: &[u64]) -> Self {
        let arbiter = Arbiter::new(arbitration, &weights(text), 1);
        Self { arbiter, flash_time: FlashTime::default(), costs: costs.to_vec() }
    }

    fn set(&mut self, waiting: &[usize]) {
        for tenant in 0..self.costs.len() {
            self.arbiter.set_waiting(tenant, waiting.contains(&tenant), &self.flash_time);
        }
    }

    fn pick(&mut self) -> usize {
        let tenant = self.arbiter.pick(&self.flash_time).expect("somebody waits");
        charge(&mut self.flash_time, tenant, self.costs[tenant]);
        tenant
    }

    fn picks(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.pick()).collect()
    }
}

#[test]
fn round_robin_goes_around_and_leaves_out_who_has_nothing() {
    let mut host = Host::new(Arbitration::RoundRobin, "1", &[1, 1000, 1, 1]);
    assert_eq!(host.arbiter.pick(&host.flash_time), None);
    host.set(&[0, 1, 3]);
    assert_eq!(host.picks(4), [0, 1, 3, 0]);
    host.set(&[0, 2]);
    assert_eq!(host.picks(3), [2, 0, 2]);
    host.set(&[]);
    assert_eq!(host.arbiter.pick(&host.flash_time), None);
}

#[test]
fn a_burst_of_each_goes_before_the_next_ones_turn_and_no_more_than_wait() {
    let mut host = Host::new(Arbitration::RoundRobin, "1", &[1, 1, 1]);
    host.arbiter = Arbiter::new(Arbitration::RoundRobin, &weights("1"), 3);
    host.set(&[0, 1, 2]);
    assert_eq!(host.picks(8), [0, 0, 0, 1, 1, 1, 2, 2]);
    // The rest of a turn is lost by who has no more.
    host.set(&[0, 1]);
    assert_eq!(host.picks(4), [0, 0, 0, 1]);
    host.set(&[0, 1, 2]);
    assert_eq!(host.picks(6), [1, 1, 2, 2, 2, 0]);
    // A tenant that is alone goes on, burst after burst.
    host.set(&[0]);
    assert_eq!(host.picks(4), [0, 0, 0, 0]);
    host.set(&[0, 1]);
    assert_eq!(host.picks(4), [0, 1, 1, 1]);
}

#[test]
fn weighted_is_smooth_and_exact_in_each_round() {
    let mut host = Host::new(Arbitration::Weighted, "4,2,1", &[1, 1, 1]);
    host.set(&[0, 1, 2]);
    for round in 0..100 {
        let picks = host.picks(7);
        let count = |tenant| picks.iter().filter(|picked| **picked == tenant).count();
        assert_eq!([0, 1, 2].map(count), [4, 2, 1], "round {round}: {picks:?}");
        assert!(!picks.windows(4).any(|four| four.iter().all(|tenant| *tenant == 0)), "{picks:?}");
    }
}

#[test]
fn a_tenant_without_a_weight_has_one() {
    let mut host = Host::new(Arbitration::Weighted, "3", &[1, 1, 1]);
    host.set(&[0, 1, 2]);
    let picks = host.picks(50);
    assert_eq!([0, 1, 2].map(|tenant| picks.iter().filter(|t| **t == tenant).count()), [30, 10, 10]);
}

#[test]
fn fair_gives_flash_time_by_weight_within_a_request() {
    for (text, shares) in [("1", [1, 1]), ("1,3", [1, 3])] {
        let mut host = Host::new(Arbitration::Fair, text, &[16_000, 1_000]);
        host.set(&[0, 1]);
        for _ in 0..500 {
            host.pick();
            let [large, small] = [0, 1].map(|tenant| host.flash_time.of(tenant) / shares[tenant]);
            assert!(large.abs_diff(small) <= 16_000, "{large} {small}");
        }
    }
}

#[test]
fn who_comes_back_gets_no_credit_for_the_time_away() {
    for (arbitration, unit) in [(Arbitration::Fair, 10), (Arbitration::Weighted, 1)] {
        let mut host = Host::new(arbitration, "1", &[unit, unit]);
        host.set(&[0]);
        host.picks(1000);
        // Tenant 1 was never there: from now on both get the same.
        host.set(&[0, 1]);
        let picks = host.picks(10);
        assert_eq!(picks.iter().filter(|tenant| **tenant == 0).count(), 5, "{arbitration:?}: {picks:?}");
        // Nor does it help to leave for a moment.
        host.set(&[1]);
        host.set(&[0, 1]);
        let picks = host.picks(10);
        assert_eq!(picks.iter().filter(|tenant| **tenant == 0).count(), 5, "{arbitration:?}: {picks:?}");
    }
}

#[test]
fn who_was_given_too_much_pays_when_it_comes_back() {
    let mut host = Host::new(Arbitration::Fair, "1", &[100, 1]);
    host.set(&[0, 1]);
    assert_eq!(host.picks(2), [0, 1]);
    host.set(&[1]);
    host.picks(9);
    host.set(&[0, 1]);
    // It had 100, the other one 10: 90 requests are owed.
    assert!(host.picks(90).iter().all(|tenant| *tenant == 1));
    assert!(host.picks(2).contains(&0));
}

#[test]
fn what_is_charged_late_is_counted() {
    let mut host = Host::new(Arbitration::Fair, "1", &[0, 10]);
    host.set(&[0, 1]);
    assert_eq!(host.pick(), 0);
    host.set(&[1]);
    host.pick();
    // A buffered write goes to flash when its tenant has nothing waiting.
    charge(&mut host.flash_time, 0, 35);
    host.set(&[0, 1]);
    host.costs[0] = 10;
    assert_eq!(host.picks(4), [1, 1, 1, 0]);
}

proptest! {
    #[test]
    fn backlogged_tenants_never_drift_apart(
        costs in prop::collection::vec(1..50_000u64, 1..6),
        own in prop::collection::vec(1..1000u32, 1..6),
    ) {
        let text = own.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let all: Vec<usize> = (0..costs.len()).collect();
        let weight = |tenant: usize| f64::from(own.get(tenant).copied().unwrap_or(1));
        let mut host = Host::new(Arbitration::Fair, &text, &costs);
        host.set(&all);
        for _ in 0..300 {
            host.pick();
            let shares: Vec<f64> = all.iter().map(|t| host.flash_time.of(*t) as f64 / weight(*t)).collect();
            let step = all.iter().map(|t| costs[*t] as f64 / weight(*t)).fold(0.0, f64::max);
            let (least, most) = shares.iter().fold((f64::MAX, 0.0), |(l, m), s| (s.min(l), s.max(m)));
            prop_assert!(most - least <= step * 1.000_001, "{shares:?} {step}");
        }
    }

    /// However tenants come and go, nobody who waits is passed by another one more often than its weight allows.
    #[test]
    fn who_waits_is_served_in_time(
        arbitration in prop::sample::select(vec![Arbitration::RoundRobin, Arbitration::Weighted, Arbitration::Fair]),
        steps in prop::collection::vec(any::<[bool; 3]>(), 1..200),
    ) {
        let mut host = Host::new(arbitration, "3,2,1", &[100, 10, 70]);
        let mut passed = [0; 4];
        for coming in steps {
            // Tenant 3 always waits.
            let mut waiting: Vec<usize> = (0..3).filter(|tenant| coming[*tenant]).collect();
            waiting.push(3);
            host.costs.resize(4, 50);
            host.set(&waiting);
            let picked = host.pick();
            passed[3] = if picked == 3 { 0 } else { passed[3] + 1 };
            // With fair, 50 ns against 3 x 100 + 2 x 10 x 10 + 70 ns' worth of others.
            prop_assert!(passed[3] <= 40, "{arbitration:?}");
        }
    }
}

#[test]
fn weights_are_read_back_as_they_were_written() {
    for text in ["1", "4,2,1", "1000", "1,1,7", "urgent,2", "1,urgent"] {
        assert_eq!(serde_json::to_value(weights(text)).expect("text"), text);
    }
    assert_eq!(weights("4"), serde_json::from_value(4.into()).expect("a number"));
    assert_eq!(weights(" 4, 2"), weights("4,2"));
    for wrong in ["", ",", "4,", "0", "4,0", "1001", "-1", "1.5", "a", "4;2"] {
        let error = serde_json::from_value::<Weights>(wrong.into()).expect_err(wrong).to_string();
        assert_eq!(
            error,
            "expected whole numbers from 1 to 1000 or urgent, one for each tenant, such as \"4,2,1\""
        );
    }
    let many = vec!["1"; 65_537].join(",");
    assert!(serde_json::from_value::<Weights>(many.into()).is_err());
}

#[test]
fn who_is_urgent_goes_before_all_others_and_shares_with_its_like() {
    let mut host = Host::new(Arbitration::Weighted, "2,urgent,1,urgent", &[1, 1, 1, 1]);
    host.set(&[0, 1, 2, 3]);
    assert_eq!(host.picks(4), [1, 3, 1, 3]);
    host.set(&[0, 2]);
    assert_eq!(host.picks(6).iter().filter(|tenant| **tenant == 0).count(), 4, "by weight, without them");
    host.set(&[0, 2, 3]);
    assert_eq!(host.picks(2), [3, 3]);
}
