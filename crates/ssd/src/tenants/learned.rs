//! A small model, learned from what `look-ahead` found: it predicts what each candidate costs in the next window from the
//! features of this one, and the cheapest is taken. Trees with thresholds, so a decision takes microseconds and is the same
//! on every machine. `just learn-allocator` makes the model, and says from which seed.

use std::sync::{Arc, OnceLock};

use flashweir_trace::trees::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, Kind, candidates, heaviest_writer};
use super::{Allocation, Features, Placement, Turns};

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// Inputs of a model for a window and a candidate, in this order.
pub const INPUTS: [&str; 16] = [
    "tenants",
    "channels",
    "log2_requests_per_s",
    "log2_sectors_per_s_and_channel",
    "write_share",
    "mean_read_sectors",
    "mean_write_sectors",
    "top_request_share",
    "top_written_share",
    "heaviest_mean_write_sectors",
    "others_mean_write_sectors",
    "others_read_share",
    "kind",
    "share_apart",
    "shortest_first",
    "static",
];

/// The inputs for a candidate after a window with these features.
pub(crate) fn inputs(features: &Features, channels: u32, candidate: &Candidate) -> [f64; INPUTS.len()] {
    let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let log2 = |number: f64| if number > 0.0 { libm::log2(number) } else { -64.0 };
    let tenants = &features.tenants;
    let sum = |of: fn(&super::TenantFeatures) -> u64| tenants.iter().map(of).sum::<u64>();
    let seconds = (features.end_ns - features.start_ns) as f64 / 1e9;
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let (read, written) = (sum(|tenant| tenant.read_sectors), sum(|tenant| tenant.write_sectors));
    let heaviest = tenants.get(heaviest_writer(features)).copied().unwrap_or_default();
    let top = tenants.iter().map(super::TenantFeatures::requests).max().unwrap_or(0);
    let moved = features.reads + features.writes;
    let others = (features.reads - heaviest.reads, features.writes - heaviest.writes);
    let fixed = candidate.allocation.groups.iter().any(|group| group.placement == Some(Placement::Static));
    [
        tenants.len() as f64,
        channels.into(),
        log2(per_second(features.requests as f64)),
        log2(per_second((read + written) as f64) / f64::from(channels)),
        ratio(features.writes, moved),
        ratio(read, features.reads),
        ratio(written, features.writes),
        ratio(top, moved),
        ratio(heaviest.write_sectors, written),
        ratio(heaviest.write_sectors, heaviest.writes),
        ratio(written - heaviest.write_sectors, others.1),
        ratio(others.0, others.0 + others.1),
        f64::from(candidate.kind as u8),
        f64::from(candidate.apart) / f64::from(channels),
        f64::from(u8::from(candidate.allocation.turns != Some(Turns::Arrival))),
        f64::from(u8::from(fixed)),
    ]
}

/// A learned model: the sum of its trees is the logarithm of a candidate's cost over that of the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Source of its training data, in words.
    about: String,
    /// Its inputs: those of this version.
    inputs: Vec<String>,
    /// The error of what it predicts: channels are only divided where that promises more.
    margin: f64,
    trees: Vec<Tree>,
}

impl Model {
    /// Reads a model, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let model: Model = serde_json::from_str(text).map_err(|error| format!("no model: {error}"))?;
        if model.inputs != INPUTS {
            return Err("a model with other inputs than this version gives: train it again".into());
        }
        if !(model.margin >= 0.0 && model.margin.is_finite()) {
            return Err(format!("margin {}: expected at least 0", model.margin));
        }
        for (number, tree) in model.trees.iter().enumerate() {
            tree.check(INPUTS.len()).map_err(|wrong| format!("tree {number}: {wrong}"))?;
        }
        Ok(model)
    }

    /// The one that is shipped.
    pub(crate) fn shipped() -> Arc<Self> {
        static MODEL: OnceLock<Arc<Model>> = OnceLock::new();
        let parse = || Self::parse(include_str!("../../models/channels.json"));
        let model = MODEL.get_or_init(|| {
            Arc::new(parse().unwrap_or_else(|error| unreachable!("a test reads it: {error}")))
        });
        Arc::clone(model)
    }

    /// Prediction of the model.
    fn predict(&self, inputs: &[f64]) -> f64 {
        self.trees.iter().map(|tree| tree.value(inputs)).sum()
    }

    /// The cheapest candidate; of equals the first. Channels are divided, or pages placed by address, only if that is cheaper by more than
    /// the margin than all channels for everybody: where pages were put they stay, so what was wrong for a window costs later ones too.
    pub(crate) fn allocate(
        &self,
        features: &Features,
        channels: u32,
        statics: bool,
        shortest: Turns,
    ) -> Allocation {
        let mut best: Option<(f64, Allocation)> = None;
        for candidate in candidates(features, channels, statics, shortest) {
            let inputs = inputs(features, channels, &candidate);
            let divides = candidate.kind != Kind::All || inputs[INPUTS.len() - 1] > 0.0;
            let cost = self.predict(&inputs) + if divides { self.margin } else { 0.0 };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, candidate.allocation));
            }
        }
        best.map_or_else(|| Allocation::everything(features.tenants.len(), channels), |(_, best)| best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(trees: &str) -> Result<Model, String> {
        let inputs = serde_json::to_string(&INPUTS).expect("texts");
        Model::parse(&format!(
            "{{\"about\": \"a test\", \"inputs\": {inputs}, \"margin\": 0.05, \"trees\": [{trees}]}}"
        ))
    }

    #[test]
    fn the_shipped_model_is_one() {
        assert!(!Model::shipped().trees.is_empty());
    }

    #[test]
    fn a_model_picks_what_it_predicts_to_be_cheapest() {
        // Input 12 is the kind: isolated (5) is cheaper than everything else, then what is served shortest first (14).
        let tree = r#"{"feature": [12, -1, 12, -1, -1], "threshold": [4.5, 1.0, 5.5, 0.2, 1.0],
                       "left": [1, 0, 3, 0, 0], "right": [2, 0, 4, 0, 0]}"#;
        let turns = r#"{"feature": [14, -1, -1], "threshold": [0.5, 0.0, -0.1], "left": [1, 0, 0], "right": [2, 0, 0]}"#;
        let model = model(&format!("{tree}, {turns}")).expect("a model");
        let features = Features { requests: 10, reads: 4, writes: 6, ..Features::none(2) };
        let allocation = model.allocate(&features, 8, false, Turns::Shortest);
        assert_eq!(allocation.groups.len(), 2);
        assert_eq!(allocation.groups[0].channels, [0, 1, 2, 3]);
        assert_eq!(allocation.turns, Some(Turns::Shortest));
        // A promised gain is not worth more than the margin: nothing is divided, and the turns may change all the same.
        let wary = Model { margin: 0.9, ..model };
        let allocation = wary.allocate(&features, 8, false, Turns::ShortestFair);
        assert_eq!(allocation.groups.len(), 1);
        assert_eq!(allocation.turns, Some(Turns::ShortestFair));
    }

    #[test]
    fn what_is_no_model_is_said_in_a_line() {
        for (trees, expected) in [
            ("7", "no model: "),
            (r#"{"feature": [], "threshold": [], "left": [], "right": []}"#, "at least one"),
            (r#"{"feature": [0], "threshold": [0.0], "left": [0], "right": [0]}"#, "do not come after it"),
            (
                r#"{"feature": [16, -1], "threshold": [0.0, 1.0], "left": [1, 0], "right": [1, 0]}"#,
                "asks for no input",
            ),
        ] {
            let error = model(trees).expect_err(trees);
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
        assert!(
            Model::parse(r#"{"about": "", "inputs": ["x"], "margin": 0, "trees": []}"#)
                .expect_err("old")
                .contains("train it again")
        );
    }
}
