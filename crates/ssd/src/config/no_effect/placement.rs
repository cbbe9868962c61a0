//! Settings of groups of open blocks that have no effect.

use super::{Config, NoEffect};
use crate::ftl::FtlConfig;
use crate::ftl::classifier::Classifier;
use crate::gc::{GcConfig, Shares, VictimsOf};
use crate::quantity::{Auto, Bound};

/// Pools of groups that may collect their own.
fn pools(config: &Config) -> u32 {
    let upkeep = config.upkeep();
    match upkeep.groups() {
        Some(counts) if upkeep.classifier != Classifier::AgeGroups => {
            upkeep.classifier.pools(counts, upkeep.isolated)
        }
        _ => 1,
    }
}

pub(super) const PLACEMENT: [NoEffect; 8] = [
    NoEffect {
        keys: "gc.frontiers, ftl.classifier",
        reason: "the classifier says how many blocks are open",
        applies: |config| {
            config.gc.frontiers != GcConfig::default().frontiers && config.ftl.classifier() != Classifier::One
        },
        clear: |config| config.gc.frontiers = GcConfig::default().frontiers,
    },
    NoEffect {
        keys: "gc.victims_of=group, ftl.classifier, ftl.groups, ftl.isolated, ftl.separate",
        reason: "ftl.classifier makes one group, as zones without ftl.separate=handles do, or is age-groups, which chooses its own victims",
        applies: |config| config.gc.victims_of == VictimsOf::Group && pools(config) == 1,
        clear: |config| config.gc.victims_of = VictimsOf::All,
    },
    NoEffect {
        keys: "gc.shares, gc.victims_of=all",
        reason: "victims are chosen among all blocks, so groups have no spare space of their own",
        applies: |config| config.gc.division().is_none() && config.gc.shares != Shares::default(),
        clear: |config| config.gc.shares = Shares::default(),
    },
    NoEffect {
        keys: "gc.shares, ftl.classifier, ftl.groups",
        reason: "there are more shares than groups: the rest is left out",
        applies: |config| config.gc.shares.given() > pools(config) as usize,
        clear: |config| config.gc.shares.truncate(pools(config) as usize),
    },
    NoEffect {
        keys: "ftl.groups, ftl.classifier",
        reason: "only stream, generations, frequency, interval, age-groups, learned and external have a number of groups that can be set",
        applies: |config| config.ftl.groups().is_some() && !config.ftl.classifier().has_groups(),
        clear: |config| {
            if let FtlConfig::Page(own) = &mut config.ftl {
                own.groups = Auto(None);
            }
        },
    },
    NoEffect {
        keys: "ftl.isolated=true, ftl.classifier",
        reason: "only stream has handles",
        applies: |config| config.ftl.is_isolated() && config.ftl.classifier() != Classifier::Stream,
        clear: |config| {
            if let FtlConfig::Page(own) = &mut config.ftl {
                own.isolated = false;
            }
        },
    },
    NoEffect {
        keys: "ftl.open_time, ftl.classifier",
        reason: "only stream has handles",
        applies: |config| config.ftl.open_time().is_some() && config.ftl.classifier() != Classifier::Stream,
        clear: |config| {
            if let FtlConfig::Page(own) = &mut config.ftl {
                own.open_time = Bound(None);
            }
        },
    },
    NoEffect {
        keys: "ftl.classifier_file, ftl.classifier",
        reason: "only external is a function of a file",
        applies: |config| {
            let names_file = matches!(&config.ftl, FtlConfig::Page(own) if !own.classifier_file.is_empty());
            names_file && config.ftl.classifier() != Classifier::External
        },
        clear: |config| {
            if let FtlConfig::Page(own) = &mut config.ftl {
                own.classifier_file.clear();
            }
        },
    },
];
