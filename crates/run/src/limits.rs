//! Waits for rate limits and latency targets, in the tenants of a result.

use flashweir_ssd::{Stats, TenantTarget};
use serde_json::{Value, json};

/// Adds them to the tenants of a result, if there are limits.
pub(crate) fn add(result: &mut Value, stats: &Stats) {
    let Some(limits) = &stats.limits else { return };
    let Some(tenants) = result["streams"].as_object_mut() else { return };
    for tenant in tenants.values_mut() {
        let stream = tenant["stream"].as_u64().unwrap_or_default() as u16;
        let (waits, sum_ns) = limits.of(stream);
        let requests = stats.streams.of(stream).count();
        let mean_us = (requests > 0).then(|| sum_ns as f64 / 1e3 / requests as f64);
        tenant["limit_waits"] = json!(waits);
        tenant["limit_wait_us"] = json!(mean_us);
        if let Some(targets) = &limits.targets {
            let TenantTarget { ended, late, limited_ns } = targets.of(stream);
            tenant["over_target"] = json!((ended > 0).then(|| late as f64 / ended as f64));
            tenant["depth_limited_s"] = json!(limited_ns as f64 / 1e9);
        }
    }
}
