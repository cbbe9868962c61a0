//! Decision trees of learned models, as their JSON files have them. Thresholds and sums only, so a decision takes microseconds and
//! is the same on every machine.

use serde::{Deserialize, Serialize};

/// A tree: node `i` asks whether input `feature[i]` is at most `threshold[i]`, and goes on at `left[i]` if so, else at
/// `right[i]`; a node whose `feature` is negative is a leaf, and `threshold[i]` its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    feature: Vec<i32>,
    threshold: Vec<f64>,
    left: Vec<u32>,
    right: Vec<u32>,
}

impl Tree {
    /// Checks that the tree reads only inputs below `inputs` and has all its nodes; the error says what is wrong.
    /// Children come after their parents, so following them ends.
    pub fn check(&self, inputs: usize) -> Result<(), String> {
        let nodes = self.feature.len();
        if nodes == 0 || [self.threshold.len(), self.left.len(), self.right.len()] != [nodes; 3] {
            return Err("expected as many thresholds and children as features, at least one".into());
        }
        for (node, feature) in self.feature.iter().enumerate() {
            let Ok(feature) = usize::try_from(*feature) else { continue };
            let children = [self.left[node], self.right[node]].map(|child| child as usize);
            if feature >= inputs || children.iter().any(|child| *child <= node || *child >= nodes) {
                return Err(format!("node {node} asks for no input, or its children do not come after it"));
            }
        }
        Ok(())
    }

    /// The leaf that these inputs come to. To be asked of a tree that was checked for as many.
    pub fn value(&self, inputs: &[f64]) -> f64 {
        let mut node = 0;
        while let Ok(feature) = usize::try_from(self.feature[node]) {
            let below = inputs[feature] <= self.threshold[node];
            node = if below { self.left[node] } else { self.right[node] } as usize;
        }
        self.threshold[node]
    }
}
