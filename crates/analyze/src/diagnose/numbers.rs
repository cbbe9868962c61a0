//! Named numbers of a log, as the detectors take them.

/// Names and values, in a fixed order.
#[derive(Debug, Default)]
pub(super) struct Features {
    pub(super) names: Vec<String>,
    pub(super) values: Vec<f64>,
}

impl Features {
    pub(super) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.names.push(name.into());
        self.values.push(if value.is_finite() { value } else { 0.0 });
    }
}
