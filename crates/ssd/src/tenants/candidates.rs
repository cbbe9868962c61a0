//! Allocations worth a try for a window: what `look-ahead` tries on copies of the drive.

use super::allocation::apportion;
use super::{Allocation, Features, Placement, Turns, isolated, shared, ssdkeeper};

/// Candidates with their names, the same for every window of a run; all channels for everybody is the first. `statics`:
/// also with pages placed by address.
pub(crate) fn candidates(features: &Features, channels: u32, statics: bool) -> Vec<(String, Allocation)> {
    let tenants = features.tenants.len();
    let mut all = vec![("all".to_owned(), Allocation::everything(tenants, channels))];
    if channels > 1 {
        all.push(("shared".into(), shared::allocate(tenants, channels)));
        all.push(("reads and writes".into(), ssdkeeper::two_groups(features, channels, 1)));
        all.push(("heaviest pairs".into(), ssdkeeper::more_groups(features, channels, 1, 4)));
        let heaviest = heaviest_writer(features);
        for count in 1..channels {
            all.push((format!("heaviest writer on {count}"), apart(tenants, heaviest, channels, count)));
        }
        if tenants > 1 && tenants as u32 <= channels {
            all.push(("isolated".into(), isolated::allocate(tenants, channels)));
            let weights: Vec<u64> = features.tenants.iter().map(|tenant| tenant.write_sectors).collect();
            all.push(("by sectors written".into(), own(&apportion(channels, &weights, 1))));
            let weights: Vec<u64> = features.tenants.iter().map(super::TenantFeatures::sectors).collect();
            all.push(("by sectors".into(), own(&apportion(channels, &weights, 1))));
        }
    }
    let shortest: Vec<_> = all
        .iter()
        .map(|(name, allocation)| {
            (
                format!("{name}, shortest first"),
                Allocation { turns: Some(Turns::Shortest), ..allocation.clone() },
            )
        })
        .collect();
    for (_, allocation) in &mut all {
        allocation.turns = Some(Turns::Arrival);
    }
    all.extend(shortest);
    if statics {
        let fixed: Vec<_> = all
            .iter()
            .map(|(name, allocation)| (format!("{name}, static"), with(allocation, Placement::Static)))
            .collect();
        all.extend(fixed);
    }
    all
}

/// A run of channels for each tenant.
fn own(counts: &[u32]) -> Allocation {
    let groups: Vec<u16> = (0..counts.len()).map(|tenant| tenant as u16).collect();
    Allocation::in_runs(counts, groups.clone(), groups)
}

/// The tenant that wrote most.
fn heaviest_writer(features: &Features) -> usize {
    let sectors = |tenant: &usize| features.tenants[*tenant].write_sectors;
    (0..features.tenants.len()).rev().max_by_key(sectors).unwrap_or(0)
}

/// One tenant on `count` channels, the others on the rest.
fn apart(tenants: usize, tenant: usize, channels: u32, count: u32) -> Allocation {
    let groups: Vec<u16> = (0..tenants).map(|other| u16::from(other != tenant)).collect();
    Allocation::in_runs(&[count, channels - count], groups.clone(), groups)
}

fn with(allocation: &Allocation, placement: Placement) -> Allocation {
    let mut allocation = allocation.clone();
    allocation.groups.iter_mut().for_each(|group| group.placement = Some(placement));
    allocation
}
