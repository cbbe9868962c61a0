//! Stage 1 as a function of a queue, and the rounds of stage 2.

use super::insertion::{Item, List};
use super::intensity::Intensity;
use super::order::Turns;
use super::*;
use crate::sched::tests::read;

/// A command of 30 ns that came at `arrived_ns`.
fn item_of(number: u64, tenant: u16, low: bool, arrived_ns: u64) -> Item {
    let mut queued = read(number as u32);
    (queued.number, queued.tenant, queued.arrived_ns) = (number, tenant, arrived_ns);
    let mut item = super::item(&queued);
    item.low = low;
    item
}

fn at(now_ns: u64) -> Arrival {
    Arrival { now_ns, ahead_ns: 0, running: None }
}

/// Numbers of the queue after these commands came, in order: flow, low intensity, and time.
fn order(commands: &[(u16, bool, u64)], min_fairness: f64) -> Vec<u64> {
    let mut list = List::default();
    for (number, (tenant, low, now_ns)) in (1..).zip(commands) {
        list.insert_fairly(item_of(number, *tenant, *low, *now_ns), at(*now_ns), min_fairness);
    }
    list.iter().map(|item| item.number).collect()
}

#[test]
fn flows_of_low_intensity_stand_before_the_others() {
    let commands = [(0, false, 0), (0, false, 0), (1, true, 0), (0, false, 0), (1, true, 0)];
    assert_eq!(order(&commands, 0.0), [3, 5, 1, 2, 4]);
    // A flow keeps its order: its command stays behind one of before it had low intensity.
    assert_eq!(order(&[(0, false, 0), (1, false, 0), (1, true, 0)], 0.0), [1, 2, 3]);
}

#[test]
fn a_command_moves_to_where_slowdowns_are_most_alike() {
    // Flow 0 has three of which the last has slowdown 1; the only one of flow 1 would have slowdown 4 behind them. In the second
    // place it has 2, and theirs are 1, 1.5 and 1.33; before all it has 1 and they have 2, 1.5 and 1.33.
    assert_eq!(order(&[(0, false, 0), (0, false, 0), (0, false, 0), (1, false, 0)], 0.0), [1, 4, 2, 3]);
    // Commands of the flow itself are not passed.
    assert_eq!(order(&[(0, false, 0), (1, false, 0), (0, false, 0), (1, false, 0)], 0.0)[3], 4);
}

#[test]
fn the_most_slowed_flow_of_high_intensity_goes_before_all_others_of_it() {
    let long: Vec<_> = (0..3).map(|_| (0, false, 0)).collect();
    let with = |more: &[(u16, bool, u64)], min| order(&[&long[..], more].concat(), min);
    assert_eq!(with(&[(1, false, 0)], 0.6), [4, 1, 2, 3]);
    // None passes the one that was moved.
    assert_eq!(with(&[(1, false, 0), (2, false, 0)], 0.6)[0], 4);
    // With it its flow is not the most slowed one any more: the next one goes to where slowdowns are most alike.
    assert_eq!(with(&[(1, false, 0), (1, true, 0)], 0.6), [4, 1, 2, 5, 3]);
}

#[test]
fn intensity_is_that_of_the_interval_before() {
    let own = Config { interval: Nanos(1000), low_read_rate: Bytes(4_000_000_000), ..Config::default() };
    // 4000 bytes in an interval, over two dies: two pages of 1000 bytes.
    let thresholds = thresholds(&own, Shape { dies: 2, page_bytes: 1000 });
    let mut intensity = Intensity::default();
    let mut low = |flow, now_ns| intensity.is_low_after((flow, READS), 1, now_ns, &thresholds);
    assert!(!low(0, 0) && !low(0, 999), "nothing is known in the first interval");
    assert!(!low(0, 1000), "it had two");
    assert!(low(1, 1000), "it had none");
    assert!(low(0, 2000), "it had one");
    assert!(low(0, 9000), "intervals without any lie between");
}

#[test]
fn turns_of_levels_are_spread() {
    let mut turns = Turns::default();
    let mut took = || {
        let first = turns.levels().next().expect("there are levels");
        turns.took(first);
        first
    };
    let round: Vec<_> = (0..15).map(|_| took()).collect();
    assert_eq!(round, [3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3]);
    assert_eq!(took(), 3);
    // Turns of levels that have no command are skipped.
    turns.took(0);
    assert_eq!(turns.levels().collect::<Vec<_>>(), [3, 2, 1, 0]);
    turns.took(2);
    assert_eq!(turns.levels().collect::<Vec<_>>(), [3, 1, 2, 0]);
}
