//! SSD-keeper's allocator. Few requests, or one tenant with nearly all of them: two groups, reads and
//! writes. Else four: reads and writes of the heaviest tenants. Channels in proportion to requests, by largest remainders.
//!
//! The paper describes two workloads; with more, the heaviest pairs of tenant and type are groups, and every other pair
//! joins the lightest group of its type (of any type, if its own has none).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocation::apportion;
use super::{Allocation, Features};

/// Where two groups become more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Highest level with two groups.
    pub two_groups_up_to: u32,
    /// Share of the requests from which on a tenant dominates: then two groups, whatever the level.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub dominant_share: f64,
    /// Groups where they are more than two.
    #[schemars(range(min = 2, max = 65_535))]
    pub most_groups: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { two_groups_up_to: 10, dominant_share: 0.9, most_groups: 4 }
    }
}

/// With fewer channels than two groups need everybody has all of them.
pub(super) fn allocate(config: &Config, features: &Features, channels: u32, least: u32) -> Allocation {
    let tenants = features.tenants.len();
    if channels < 2 * least {
        return Allocation::everything(tenants, channels);
    }
    let few = features.level <= u64::from(config.two_groups_up_to);
    if few || features.dominant(config.dominant_share).is_some() {
        return two_groups(features, channels, least);
    }
    more_groups(features, channels, least, config.most_groups)
}

/// One for reads and one for writes.
pub(super) fn two_groups(features: &Features, channels: u32, least: u32) -> Allocation {
    let tenants = features.tenants.len();
    let counts = apportion(channels, &[features.reads, features.writes], least);
    Allocation::in_runs(&counts, vec![0; tenants], vec![1; tenants])
}

/// A group for each of the heaviest pairs of tenant and type.
pub(super) fn more_groups(features: &Features, channels: u32, least: u32, most: u32) -> Allocation {
    let most = (channels / least).min(most) as usize;
    // Pairs in the paper's order: tenant 1 reads, tenant 1 writes, tenant 2 reads, ...
    let pairs = features.tenants.iter().flat_map(|tenant| [tenant.reads, tenant.writes]);
    let mut heaviest: Vec<(usize, u64)> = pairs.enumerate().collect();
    heaviest.sort_by_key(|(pair, requests)| (std::cmp::Reverse(*requests), *pair));
    let (own, others) = heaviest.split_at(most.min(heaviest.len()));
    let mut own = own.to_vec();
    own.sort_unstable();
    let mut weights: Vec<u64> = own.iter().map(|(_, requests)| *requests).collect();
    let mut group_of = vec![0u16; heaviest.len()];
    for (group, (pair, _)) in own.iter().enumerate() {
        group_of[*pair] = group as u16;
    }
    for (pair, requests) in others {
        let alike = |group: &usize| own[*group].0 % 2 == pair % 2;
        let all = || 0..own.len();
        let lightest = all().filter(alike).min_by_key(|group| weights[*group]);
        let group = lightest.or_else(|| all().min_by_key(|group| weights[*group])).unwrap_or(0);
        group_of[*pair] = group as u16;
        weights[group] += requests;
    }
    let of_type = |kind: usize| group_of.iter().skip(kind).step_by(2).copied().collect();
    Allocation::in_runs(&apportion(channels, &weights, least), of_type(0), of_type(1))
}
