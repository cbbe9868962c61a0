//! Decision of an allocator: groups of tenants' reads and writes, each with its channels.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Features;

/// Placement of the pages of all groups, where the allocator leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Placing {
    /// Dynamic.
    Dynamic,
    /// Static for groups that mostly read, dynamic for the others (SSD-keeper, hybrid page allocator).
    Hybrid,
    /// Static, also where the allocator says otherwise.
    Address,
}

/// Placement of a page on the channels of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first plane in turn that is idle and has room.
    Dynamic,
    /// A fixed function of its address.
    Static,
}

/// Page that goes first among those that wait for a channel, when one becomes idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// The one that has waited longest.
    #[default]
    Arrival,
    /// One of the request with the fewest pages that wait: short requests are not held up by long ones.
    Shortest,
    /// The same, but tenants that are overtaken too much (`tenants.max_late_share`) go first until that is made good.
    ShortestFair,
}

/// Channels that some reads and writes share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// The channels, each once.
    pub channels: Vec<u32>,
    /// Placement of pages; `None`: as `alloc.kind` does.
    pub placement: Option<Placement>,
}

/// Channels of each tenant's reads and writes. Pages are read where they lie, so the groups of reads place nothing;
/// with `alloc.kind=hybrid` they count in the test for a group that mostly reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Allocation {
    /// The groups.
    pub groups: Vec<Group>,
    /// The group of each tenant's reads.
    pub reads: Vec<u16>,
    /// The group of each tenant's writes.
    pub writes: Vec<u16>,
    /// Page that goes first among those that wait for a channel; `None`: as `tenants.turns` says.
    pub turns: Option<Turns>,
}

impl Allocation {
    /// All channels for everybody.
    pub fn everything(tenants: usize, channels: u32) -> Self {
        let group = Group { channels: (0..channels).collect(), placement: None };
        Self { groups: vec![group], reads: vec![0; tenants], writes: vec![0; tenants], turns: None }
    }

    /// Runs of channels, one after the other: so many for each group.
    pub(crate) fn in_runs(counts: &[u32], reads: Vec<u16>, writes: Vec<u16>) -> Self {
        let mut first = 0;
        let groups = counts
            .iter()
            .map(|count| {
                let channels = (first..first + count).collect();
                first += count;
                Group { channels, placement: None }
            })
            .collect();
        Self { groups, reads, writes, turns: None }
    }

    /// Refuses an allocation that does not fit a run of so many tenants on so many channels. The error says what is
    /// wrong.
    pub fn check(&self, tenants: usize, channels: u32) -> Result<(), String> {
        if self.reads.len() != tenants || self.writes.len() != tenants {
            let (reads, writes) = (self.reads.len(), self.writes.len());
            return Err(format!(
                "groups of {reads} tenants' reads and {writes} tenants' writes: expected {tenants} of each"
            ));
        }
        if let Some(group) =
            self.reads.iter().chain(&self.writes).find(|group| usize::from(**group) >= self.groups.len())
        {
            return Err(format!(
                "group {group}: expected one of the {} groups, counted from 0",
                self.groups.len()
            ));
        }
        for (number, group) in self.groups.iter().enumerate() {
            if group.channels.is_empty() {
                return Err(format!("group {number} has no channel: expected at least one"));
            }
            if let Some(channel) = group.channels.iter().find(|channel| **channel >= channels) {
                return Err(format!("channel {channel} in group {number}: expected 0 to {}", channels - 1));
            }
            let distinct: BTreeSet<_> = group.channels.iter().collect();
            if distinct.len() < group.channels.len() {
                return Err(format!("group {number} names a channel twice: expected each once"));
            }
        }
        Ok(())
    }

    /// Number of different channels of these groups.
    fn distinct(&self, groups: &[u16]) -> u32 {
        let of = |group: &u16| self.groups[usize::from(*group)].channels.iter();
        groups.iter().flat_map(of).collect::<BTreeSet<_>>().len() as u32
    }

    /// Channels that take somebody's writes.
    pub fn write_channels(&self) -> u32 {
        self.distinct(&self.writes)
    }

    /// Channels that somebody's reads were given.
    pub fn read_channels(&self) -> u32 {
        self.distinct(&self.reads)
    }

    /// Settles what the allocator left open: turns as configured, and how pages are placed. By address they are, whatever it says.
    pub(crate) fn settle(&mut self, features: &Features, placing: Placing, turns: Turns) {
        self.turns.get_or_insert(turns);
        let mut counts = vec![(0, 0); self.groups.len()];
        for (stream, tenant) in features.tenants.iter().enumerate() {
            counts[usize::from(self.reads[stream])].0 += tenant.reads;
            counts[usize::from(self.writes[stream])].1 += tenant.writes;
        }
        for (group, (reads, writes)) in self.groups.iter_mut().zip(counts) {
            let is_static = match placing {
                Placing::Dynamic => false,
                Placing::Hybrid => reads > writes,
                Placing::Address => {
                    group.placement = None;
                    true
                }
            };
            let placement = if is_static { Placement::Static } else { Placement::Dynamic };
            group.placement.get_or_insert(placement);
        }
    }
}

/// `total` things over shares in proportion to `weights`, at least `least` each, by largest remainders; of equal
/// remainders the first. With too few things for that, everyone gets what an even split gives, the first ones more.
pub(crate) fn apportion(total: u32, weights: &[u64], least: u32) -> Vec<u32> {
    let count = weights.len() as u32;
    if u64::from(count) * u64::from(least) > u64::from(total) {
        return (0..count).map(|at| total / count + u32::from(at < total % count)).collect();
    }
    let sum: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    if sum == 0 {
        return apportion(total, &vec![1; weights.len()], least);
    }
    let quota = |weight: u64| i128::from(weight) * i128::from(total);
    let mut shares: Vec<u32> = weights
        .iter()
        .map(|weight| u32::try_from(quota(*weight) / sum).unwrap_or(total).max(least))
        .collect();
    // Shares that were raised to the least take from those that have most over their quota; what is left goes to those
    // that lack most. Both one by one: there are few channels.
    let lack = |share: u32, weight: u64| quota(weight) - i128::from(share) * sum;
    loop {
        let given: u32 = shares.iter().sum();
        let lacks = shares.iter().zip(weights).map(|(share, weight)| lack(*share, *weight)).enumerate();
        match given.cmp(&total) {
            std::cmp::Ordering::Equal => return shares,
            std::cmp::Ordering::Less => {
                if let Some((at, _)) = lacks.max_by_key(|(at, lack)| (*lack, std::cmp::Reverse(*at))) {
                    shares[at] += 1;
                }
            }
            std::cmp::Ordering::Greater => {
                let over = lacks.filter(|(at, _)| shares[*at] > least);
                if let Some((at, _)) = over.min_by_key(|(at, lack)| (*lack, std::cmp::Reverse(*at))) {
                    shares[at] -= 1;
                }
            }
        }
    }
}
