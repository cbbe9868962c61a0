//! Small statistics that never divide by nothing.

/// The value below which `share` of sorted values lie; 0 of none.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at.min(sorted.len() - 1)]
}

/// Sorted copies of finite values.
pub(super) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// `part / whole`, 0 if there is nothing.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Decimal logarithm of a ratio, from -4 to 6.
pub(super) fn log_ratio(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 {
        return 0.0;
    }
    libm::log10((part / whole).clamp(1e-4, 1e6))
}

pub(super) fn mean(values: &[f64]) -> f64 {
    ratio(values.iter().sum(), values.len() as f64)
}

/// Standard deviation over mean.
pub(super) fn variation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let square = mean(&values.iter().map(|value| (value - middle) * (value - middle)).collect::<Vec<_>>());
    ratio(square.sqrt(), middle)
}

/// Correlation of each value with the next.
pub(super) fn autocorrelation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let square: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    let cross: f64 = values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    ratio(cross.abs(), square) * if cross < 0.0 { -1.0 } else { 1.0 }
}

/// Entropy of weights over that of even ones: 1 is spread evenly, 0 all in one place.
pub(super) fn evenness(weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || weights.len() < 2 {
        return 0.0;
    }
    let entropy: f64 = weights
        .iter()
        .filter(|weight| **weight > 0.0)
        .map(|weight| -(weight / total) * libm::log(weight / total))
        .sum();
    entropy / libm::log(weights.len() as f64)
}
