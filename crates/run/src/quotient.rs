//! Quotients of a result.

use serde_json::{Value, json};

/// A quotient, or null where there is nothing to divide by.
pub(crate) fn ratio(numerator: f64, denominator: f64) -> Value {
    if denominator > 0.0 { json!(numerator / denominator) } else { Value::Null }
}
