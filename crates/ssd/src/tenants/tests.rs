//! Allocators against their definitions, over all numbers of channels and tenants that matter.

use std::collections::BTreeSet;

use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use super::allocation::apportion;
use super::candidates::{Candidate, candidates};
use super::{
    Allocation, ChannelsConfig, Collector, Features, Group, Placement, Placing, TenantFeatures,
    TenantsConfig, Turns, isolated, partially_isolated, shared, ssdkeeper,
};
use crate::quantity::Nanos;

/// Features of a window of these reads and writes of each tenant.
fn features(level: u64, tenants: &[(u64, u64)]) -> Features {
    let tenant = |(reads, writes): &(u64, u64)| TenantFeatures {
        reads: *reads,
        writes: *writes,
        read_sectors: 8 * reads,
        write_sectors: 16 * writes,
    };
    let tenants: Vec<_> = tenants.iter().map(tenant).collect();
    let sum = |of: fn(&TenantFeatures) -> u64| tenants.iter().map(of).sum();
    let (reads, writes) = (sum(|tenant| tenant.reads), sum(|tenant| tenant.writes));
    Features { requests: reads + writes, reads, writes, level, tenants, ..Features::default() }
}

fn config(channels: ChannelsConfig) -> TenantsConfig {
    TenantsConfig { channels, ..TenantsConfig::default() }
}

fn keeper() -> TenantsConfig {
    config(ChannelsConfig::Ssdkeeper(ssdkeeper::Config::default()))
}

/// The channels of each group.
fn sizes(allocation: &Allocation) -> Vec<usize> {
    allocation.groups.iter().map(|group| group.channels.len()).collect()
}

#[test]
fn shares_are_largest_remainders_with_at_least_so_many_each() {
    assert_eq!(apportion(8, &[1, 1], 1), [4, 4]);
    assert_eq!(apportion(8, &[999, 1], 1), [7, 1]);
    assert_eq!(apportion(8, &[1, 999], 1), [1, 7]);
    assert_eq!(apportion(8, &[5, 0], 0), [8, 0]);
    // Quotas 4.5, 2.25, 1.25 leave one for the largest remainder; 1.6 each leave three for the first.
    assert_eq!(apportion(8, &[18, 9, 5], 0), [5, 2, 1]);
    assert_eq!(apportion(8, &[7, 7, 7, 7, 7], 0), [2, 2, 2, 1, 1]);
    assert_eq!(apportion(8, &[0, 0, 0], 1), [3, 3, 2]);
    // Too few for one each.
    assert_eq!(apportion(3, &[1, 2, 3, 4], 1), [1, 1, 1, 0]);
    assert_eq!(apportion(8, &[u64::MAX, u64::MAX, 1], 1), [4, 3, 1]);
}

proptest! {
    #[test]
    fn shares_sum_to_all_and_are_near_their_quotas(
        total in 1..65u32,
        weights in prop::collection::vec(0..10_000u64, 1..21),
        least in 0..3u32,
    ) {
        let shares = apportion(total, &weights, least);
        prop_assert_eq!(shares.iter().sum::<u32>(), total);
        let enough = weights.len() as u32 * least <= total;
        prop_assert!(!enough || shares.iter().all(|share| *share >= least));
        let sum: u64 = weights.iter().sum();
        let quota = |weight: &u64| *weight as f64 * f64::from(total) / sum as f64;
        let binds = weights.iter().any(|weight| quota(weight) < f64::from(least));
        for (at, (share, weight)) in shares.iter().zip(&weights).enumerate() {
            if enough && sum > 0 && !binds {
                prop_assert!((f64::from(*share) - quota(weight)).abs() < 1.0, "{shares:?} {weights:?}");
            }
            // Of equals the first has more, by one at most; and who weighs more never has less.
            for (other, other_weight) in shares.iter().zip(&weights).skip(at + 1) {
                prop_assert!(weight != other_weight || (*other..=*other + 1).contains(share));
                prop_assert!(weight <= other_weight || share >= other || sum == 0 || !enough);
            }
        }
    }

    #[test]
    fn every_request_has_a_group_and_every_channel_one_group(
        channels in 2..65u32,
        tenants in prop::collection::vec((0..10_000u64, 0..10_000u64), 1..21),
        level in 1..21u64,
        least in 1..4u32,
        kind in 0..4u32,
        most in 2..9u32,
    ) {
        let found = features(level, &tenants);
        let count = tenants.len();
        let allocation = match kind {
            0 => shared::allocate(count, channels),
            1 => partially_isolated::allocate(&found, channels, least),
            2 if count as u32 <= channels => isolated::allocate(count, channels),
            2 => return Ok(()),
            _ => {
                let own = ssdkeeper::Config { most_groups: most, ..ssdkeeper::Config::default() };
                ssdkeeper::allocate(&own, &found, channels, least)
            }
        };
        prop_assert_eq!(allocation.check(count, channels), Ok(()));
        let all: Vec<u32> = allocation.groups.iter().flat_map(|group| group.channels.clone()).collect();
        prop_assert_eq!(all, (0..channels).collect::<Vec<_>>(), "disjoint, all of them, in order");
        prop_assert!(allocation.groups.len() as u32 <= most.max(20));
        let used: BTreeSet<_> = allocation.reads.iter().chain(&allocation.writes).collect();
        prop_assert_eq!(used.len(), allocation.groups.len(), "no group of nobody");
        prop_assert!(channels < 2 * least || kind % 2 == 0 || sizes(&allocation).iter().all(|size| *size >= least as usize));
        prop_assert!(allocation.write_channels() <= channels && allocation.read_channels() >= 1);
    }

    #[test]
    fn candidates_are_allocations_and_have_names_of_their_own(
        channels in 2..17u32,
        tenants in prop::collection::vec((0..100u64, 0..100u64), 1..9),
        statics in any::<bool>(),
    ) {
        let found = features(3, &tenants);
        let all = candidates(&found, channels, statics, Turns::Shortest);
        prop_assert_eq!(all[0].name.as_str(), "all");
        prop_assert_eq!(all[0].allocation.write_channels(), channels);
        for Candidate { name, allocation, .. } in &all {
            prop_assert_eq!(allocation.check(tenants.len(), channels), Ok(()), "{}", name);
            prop_assert_eq!(allocation.turns == Some(Turns::Shortest), name.contains("shortest"));
            let fixed = allocation.groups.iter().all(|group| group.placement == Some(Placement::Static));
            prop_assert_eq!(fixed, name.ends_with("static"));
        }
        let names: Vec<_> = all.iter().map(|candidate| candidate.name.clone()).collect();
        prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        // The same for every window: what a result lists can be compared over windows.
        let others = candidates(&features(1, &vec![(1, 1); tenants.len()]), channels, statics, Turns::Shortest);
        prop_assert_eq!(names, others.into_iter().map(|candidate| candidate.name).collect::<Vec<_>>());
    }
}

#[test]
fn shared_is_half_and_half_and_isolated_even() {
    assert_eq!(sizes(&shared::allocate(3, 8)), [4, 4]);
    assert_eq!(sizes(&shared::allocate(3, 5)), [2, 3], "writes get the odd one");
    assert_eq!(shared::allocate(2, 1), Allocation::everything(2, 1));
    assert_eq!(sizes(&isolated::allocate(4, 8)), [2, 2, 2, 2]);
    let odd = isolated::allocate(3, 8);
    assert_eq!(sizes(&odd), [3, 3, 2]);
    assert_eq!((odd.reads, odd.writes), (vec![0, 1, 2], vec![0, 1, 2]));
}

#[test]
fn partially_isolated_gives_nearly_all_to_the_type_that_there_is_more_of() {
    let of = |tenants: &[(u64, u64)]| sizes(&partially_isolated::allocate(&features(1, tenants), 8, 1));
    assert_eq!(of(&[(10, 3), (0, 6)]), [7, 1]);
    assert_eq!(of(&[(10, 3), (0, 8)]), [1, 7]);
    assert_eq!(of(&[(5, 5)]), [1, 7], "as many of both: writes");
    assert_eq!(sizes(&partially_isolated::allocate(&features(1, &[(9, 1)]), 8, 3)), [5, 3]);
}

#[test]
fn two_groups_up_to_level_ten_and_more_from_eleven_on() {
    // Neither dominates.
    let both = [(300, 100), (100, 300)];
    let at = |level| keeper().allocate(&features(level, &both), 8);
    for level in 1..=10 {
        assert_eq!(sizes(&at(level)), [4, 4], "level {level}");
        assert_eq!((at(level).reads, at(level).writes), (vec![0, 0], vec![1, 1]));
    }
    for level in 11..=20 {
        // The paper's order: reads of the first, its writes, reads of the second, its writes.
        assert_eq!(sizes(&at(level)), [3, 1, 1, 3], "level {level}");
        assert_eq!((at(level).reads, at(level).writes), (vec![0, 2], vec![1, 3]));
    }
    assert_eq!(keeper().allocate(&Features::none(2), 8), Allocation::everything(2, 8));
}

#[test]
fn a_tenant_of_nine_tenths_dominates() {
    for (first, groups) in [(8999, 4), (9000, 2), (9001, 2)] {
        let rest = 10_000 - first;
        let found = features(20, &[(first / 2, first - first / 2), (rest / 2, rest - rest / 2)]);
        assert_eq!(sizes(&keeper().allocate(&found, 8)).len(), groups, "{first}");
        assert_eq!(found.dominant(0.9).is_some(), groups == 2);
    }
    for all in 1..2000u64 {
        let tenth = features(20, &[(all * 9, 0), (0, all)]);
        assert_eq!(tenth.dominant(0.9), Some(0), "exactly 90% of {}", all * 10);
        assert_eq!(features(20, &[(all * 9 - 1, 0), (0, all + 1)]).dominant(0.9), None);
    }
    assert_eq!(features(20, &[(0, 0), (0, 0)]).dominant(0.0), None);
}

#[test]
fn two_groups_of_eight_channels_are_at_most_seven_to_one() {
    for (reads, writes, expected) in [(1000, 1, [7, 1]), (1, 1000, [1, 7]), (1000, 0, [7, 1]), (0, 9, [1, 7])]
    {
        assert_eq!(sizes(&keeper().allocate(&features(1, &[(reads, writes), (0, 0)]), 8)), expected);
    }
    let least = TenantsConfig { min_channels: 3, ..keeper() };
    assert_eq!(sizes(&least.allocate(&features(1, &[(1000, 1)]), 8)), [5, 3]);
    assert_eq!(least.allocate(&features(1, &[(1000, 1)]), 5), Allocation::everything(1, 5));
}

#[test]
fn of_more_tenants_the_heaviest_pairs_have_groups_and_the_others_join_those_of_their_type() {
    let tenants = [(400, 10), (20, 300), (200, 5), (3, 100)];
    let found = keeper().allocate(&features(20, &tenants), 8);
    // Own groups: reads of 0, writes of 1, reads of 2, writes of 3, in that order. Other reads go to the lighter reads.
    assert_eq!(found.reads, [0, 2, 2, 2]);
    assert_eq!(found.writes, [3, 1, 3, 3]);
    assert_eq!(
        sizes(&found),
        apportion(8, &[400, 300, 223, 115], 1).iter().map(|n| *n as usize).collect::<Vec<_>>()
    );
    // None of its type has a group: the lightest of all takes it.
    let reads = keeper().allocate(&features(20, &[(50, 1), (40, 0), (30, 0), (20, 0)]), 8);
    assert_eq!(reads.writes, [3, 3, 3, 3]);
    // Two channels are enough for two groups.
    assert_eq!(sizes(&keeper().allocate(&features(20, &tenants), 2)).len(), 2);
}

#[test]
fn groups_that_mostly_read_are_static_under_hybrid_allocation_only() {
    let found = features(1, &[(10, 5), (1, 9)]);
    let settled = |placing| {
        let mut allocation = isolated::allocate(2, 8);
        allocation.settle(&found, placing, Turns::Shortest);
        assert_eq!(allocation.turns, Some(Turns::Shortest));
        allocation.groups.iter().map(|group| group.placement).collect::<Vec<_>>()
    };
    assert_eq!(settled(Placing::Hybrid), [Some(Placement::Static), Some(Placement::Dynamic)]);
    assert_eq!(settled(Placing::Dynamic), [Some(Placement::Dynamic), Some(Placement::Dynamic)]);
    // The allocator's own choice stays.
    let group = Group { channels: vec![0], placement: Some(Placement::Dynamic) };
    let own = Allocation {
        groups: vec![group],
        reads: vec![0; 2],
        writes: vec![0; 2],
        turns: Some(Turns::Arrival),
    };
    let mut allocation = own.clone();
    allocation.settle(&features(1, &[(9, 0), (9, 0)]), Placing::Hybrid, Turns::Shortest);
    assert_eq!(allocation, own);
    // Under striped allocation the address says where all pages go.
    allocation.settle(&found, Placing::Address, Turns::Shortest);
    assert_eq!(allocation.groups[0].placement, Some(Placement::Static));
    // As many reads as writes are not mostly reads.
    let mut even = Allocation::everything(1, 2);
    even.settle(&features(1, &[(5, 5)]), Placing::Hybrid, Turns::Arrival);
    assert_eq!(even.groups[0].placement, Some(Placement::Dynamic));
}

#[test]
fn channels_of_overlapping_groups_are_counted_once() {
    let group = |channels: &[u32]| Group { channels: channels.to_vec(), placement: None };
    let groups = vec![group(&[0, 1, 2]), group(&[2, 3]), group(&[5])];
    let allocation = Allocation { groups, reads: vec![0, 2], writes: vec![0, 1], turns: None };
    assert_eq!((allocation.write_channels(), allocation.read_channels()), (4, 4));
}

#[test]
fn collectors_count_windows_levels_and_times() {
    let config = TenantsConfig {
        window_requests: 3,
        window_time: Nanos(100),
        level_requests: 2,
        ..TenantsConfig::default()
    };
    let mut collector = Collector::new(&config, 2);
    let one = |op, stream| Request { time_ns: 0, lba: 0, sectors: 4, stream, op, handle: 0 };
    assert!(collector.is_empty() && !collector.ends_before(1 << 60));
    collector.add(&one(Op::Read, 1), 50);
    assert!(!collector.ends_before(149) && collector.ends_before(150));
    assert!(!collector.ends_before(0), "times that go back end nothing");
    collector.add(&one(Op::Flush, 0), 40);
    collector.add(&one(Op::Write, 0), 60);
    assert!(collector.is_full());
    let found = collector.close();
    assert_eq!((found.window, found.start_ns, found.end_ns), (0, 50, 60));
    assert_eq!((found.requests, found.reads, found.writes, found.level), (3, 1, 1, 2));
    let own = TenantFeatures { writes: 1, write_sectors: 4, ..TenantFeatures::default() };
    assert_eq!(found.tenants[0], own);
    assert!(collector.is_empty() && !collector.is_full());
    collector.add(&one(Op::Read, 0), 70);
    assert_eq!(collector.close().window, 1);
}
