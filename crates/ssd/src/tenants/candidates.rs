//! Allocations worth a try for a window: what `look-ahead` tries on copies of the drive, and `learned` tells apart.

use super::allocation::apportion;
use super::{Allocation, Features, Placement, TenantFeatures, Turns, isolated, shared, ssdkeeper};

/// Division of the channels by a candidate. The numbers are inputs of learned models: they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All channels for everybody.
    All = 0,
    /// Half of them to reads, half to writes.
    Shared = 1,
    /// In proportion to reads and writes.
    ByType = 2,
    /// In proportion to the heaviest pairs of tenant and type.
    HeaviestPairs = 3,
    /// The tenant that wrote most apart from the others.
    HeaviestWriter = 4,
    /// Evenly to tenants.
    Isolated = 5,
    /// To tenants in proportion to sectors written.
    BySectorsWritten = 6,
    /// To tenants in proportion to sectors.
    BySectors = 7,
}

/// An allocation to try.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Channels of the tenant that is apart, if one is.
    pub(crate) apart: u32,
    pub(crate) allocation: Allocation,
}

/// The candidates, the same in number and order for every window of a run; all channels for everybody, in the order of arrival,
/// is the first. `statics`: also with pages placed by address. `shortest`: the tenant that is next if not
/// in the order of arrival.
pub(crate) fn candidates(
    features: &Features,
    channels: u32,
    statics: bool,
    shortest: Turns,
) -> Vec<Candidate> {
    let mut all = Vec::new();
    for turns in [Turns::Arrival, shortest] {
        for placement in [Placement::Dynamic, Placement::Static].into_iter().take(1 + usize::from(statics)) {
            for mut candidate in divisions(features, channels) {
                candidate.allocation.turns = Some(turns);
                candidate.allocation.groups.iter_mut().for_each(|group| group.placement = Some(placement));
                if turns != Turns::Arrival {
                    candidate.name += ", shortest first";
                }
                if placement == Placement::Static {
                    candidate.name += ", static";
                }
                all.push(candidate);
            }
        }
    }
    all
}

/// Ways to divide the channels.
fn divisions(features: &Features, channels: u32) -> Vec<Candidate> {
    let tenants = features.tenants.len();
    let candidate =
        |kind, name: &str, allocation| Candidate { name: name.to_owned(), kind, apart: 0, allocation };
    let mut all = vec![candidate(Kind::All, "all", Allocation::everything(tenants, channels))];
    if channels == 1 {
        return all;
    }
    all.push(candidate(Kind::Shared, "shared", shared::allocate(tenants, channels)));
    let by_type = ssdkeeper::two_groups(features, channels, 1);
    all.push(candidate(Kind::ByType, "reads and writes", by_type));
    let pairs = ssdkeeper::more_groups(features, channels, 1, 4);
    all.push(candidate(Kind::HeaviestPairs, "heaviest pairs", pairs));
    if tenants > 1 {
        let heaviest = heaviest_writer(features);
        for apart in 1..channels {
            let allocation = one_apart(tenants, heaviest, channels, apart);
            let name = format!("heaviest writer on {apart}");
            all.push(Candidate { name, kind: Kind::HeaviestWriter, apart, allocation });
        }
    }
    if tenants > 1 && tenants as u32 <= channels {
        all.push(candidate(Kind::Isolated, "isolated", isolated::allocate(tenants, channels)));
        let by = |weight: fn(&TenantFeatures) -> u64| {
            let weights: Vec<u64> = features.tenants.iter().map(weight).collect();
            own(&apportion(channels, &weights, 1))
        };
        let written = by(|tenant| tenant.write_sectors);
        all.push(candidate(Kind::BySectorsWritten, "by sectors written", written));
        all.push(candidate(Kind::BySectors, "by sectors", by(TenantFeatures::sectors)));
    }
    all
}

/// A run of channels for each tenant.
fn own(counts: &[u32]) -> Allocation {
    let groups: Vec<u16> = (0..counts.len()).map(|tenant| tenant as u16).collect();
    Allocation::in_runs(counts, groups.clone(), groups)
}

/// The tenant that wrote most; of several the first.
pub(super) fn heaviest_writer(features: &Features) -> usize {
    let sectors = |tenant: &usize| features.tenants[*tenant].write_sectors;
    (0..features.tenants.len()).rev().max_by_key(sectors).unwrap_or(0)
}

/// One tenant on `count` channels, the others on the rest.
fn one_apart(tenants: usize, tenant: usize, channels: u32, count: u32) -> Allocation {
    let groups: Vec<u16> = (0..tenants).map(|other| u16::from(other != tenant)).collect();
    Allocation::in_runs(&[count, channels - count], groups.clone(), groups)
}
