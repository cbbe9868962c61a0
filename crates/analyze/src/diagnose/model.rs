//! The detectors: for each symptom a small sum of decision trees over the features, learned from simulated drives of which it is known
//! what is wrong with them (docs/concepts/diagnosis.md says from which, and how well it does on others). The same on every machine.

use std::sync::OnceLock;

use serde::Deserialize;

use flashweir_trace::trees::Tree;

/// A symptom (Yang 2009, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symptom {
    /// Addresses are mapped so that space is not used well.
    Mapping,
    /// Space is collected too early, or in the wrong places.
    Collection,
    /// The write buffer does not take in what it should.
    Buffer,
}

/// All of them, in the order of the models.
pub(super) const SYMPTOMS: [Symptom; 3] = [Symptom::Mapping, Symptom::Collection, Symptom::Buffer];

/// The trees of all symptoms.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    /// Data from which it was learned, in words.
    pub(super) about: String,
    /// Names of its inputs, which are features.
    inputs: Vec<String>,
    /// The trees of each symptom: their sum is the logarithm of the odds.
    symptoms: Vec<Vec<Tree>>,
}

impl Model {
    /// Reads a model, or says what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        let model: Self = serde_json::from_str(text).map_err(|error| format!("no model: {error}"))?;
        if model.symptoms.len() != SYMPTOMS.len() {
            return Err(format!("expected the trees of {} symptoms", SYMPTOMS.len()));
        }
        for tree in model.symptoms.iter().flatten() {
            tree.check(model.inputs.len())?;
        }
        Ok(model)
    }

    /// The one that is shipped.
    pub(super) fn shipped() -> &'static Self {
        static MODEL: OnceLock<Model> = OnceLock::new();
        MODEL.get_or_init(|| {
            Self::parse(include_str!("../../models/symptoms.json"))
                .unwrap_or_else(|error| unreachable!("a test reads it: {error}"))
        })
    }

    /// Probability of each symptom. A feature that this version does not have counts as 0.
    pub(super) fn probabilities(&self, names: &[String], values: &[f64]) -> [f64; 3] {
        let inputs: Vec<f64> = self
            .inputs
            .iter()
            .map(|input| names.iter().position(|name| name == input).map_or(0.0, |at| values[at]))
            .collect();
        let mut found = [0.0; 3];
        for (probability, trees) in found.iter_mut().zip(&self.symptoms) {
            let odds: f64 = trees.iter().map(|tree| tree.value(&inputs)).sum();
            *probability = 1.0 / (1.0 + libm::exp(-odds));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::Log;
    use super::super::numbers::Features;
    use super::super::usual::Usual;
    use super::*;
    use flashweir_trace::{LogRecord, Op, Request};

    #[test]
    fn the_shipped_model_asks_for_features_that_there_are() {
        let mut log = Log::default();
        let request = Request { time_ns: 0, lba: 0, sectors: 8, stream: 0, op: Op::Write, handle: 0 };
        log.push(&LogRecord { completion_ns: Some(1), ..LogRecord::bare(request) });
        let features = Features::of(&log, &Usual::of(&log));
        for input in &Model::shipped().inputs {
            assert!(features.names.contains(input), "{input}");
        }
    }

    #[test]
    fn what_is_no_model_is_said_in_a_line() {
        let tree = |feature: i32| {
            format!(r#"{{"feature": [{feature}], "threshold": [1.0], "left": [0], "right": [0]}}"#)
        };
        let model = |trees: &str| format!(r#"{{"about": "", "inputs": ["a"], "symptoms": {trees}}}"#);
        for (text, expected) in [
            ("7".to_owned(), "no model"),
            (model("[]"), "3 symptoms"),
            (model(&format!("[[{}], [], []]", tree(0))), "do not come after it"),
            (model(&format!("[[{}], [], []]", tree(1))), "asks for no input"),
        ] {
            let error = Model::parse(&text).expect_err(&text);
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
