//! Settings of groups of open blocks that have no effect.

use super::NoEffect;
use crate::ftl::FtlConfig;
use crate::ftl::classifier::Classifier;
use crate::gc::GcConfig;
use crate::quantity::{Auto, Bound};

pub(super) const PLACEMENT: [NoEffect; 5] = [
    NoEffect {
        keys: "gc.frontiers, ftl.classifier",
        reason: "the classifier says how many blocks are open",
        applies: |config| {
            config.gc.frontiers != GcConfig::default().frontiers && config.ftl.classifier() != Classifier::One
        },
        clear: |config| config.gc.frontiers = GcConfig::default().frontiers,
    },
    NoEffect {
        keys: "ftl.groups, ftl.classifier",
        reason: "only stream, generations, frequency, interval and external have a number of groups that can be set",
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
