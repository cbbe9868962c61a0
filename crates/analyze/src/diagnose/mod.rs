//! Diagnosis of a drive from its request log: the symptoms it shows (Yang 2009, section 4.3), where, when and how
//! strongly.
//!
//! Pure: records in, a diagnosis out. Only writes are looked at, since they are what management is for; reads, discards and
//! flushes only matter for what time was spent on them. Drives that the log is compared with are those of `flashweir_ssd`, without time.
#![expect(clippy::cast_sign_loss, reason = "shares and quantiles of what was counted: none is negative")]
#![expect(clippy::similar_names, reason = "`last` and `lost`, `long` and `log` are what they are called")]

mod evidence;
mod features;
mod log;
mod measure;
mod model;
mod numbers;
mod picture;
mod reference;
mod synthesis;
#[cfg(test)]
mod tests;
mod usual;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

pub use evidence::Evidence;
pub use log::Log;
pub use model::Symptom;
pub use picture::Picture;

use measure::ratio;
use model::{Model, SYMPTOMS};
use numbers::Features;
use usual::Usual;

/// Writes below which nothing is said: the shortest logs that the detectors have learned from have twice as many.
pub const MIN_WRITES: usize = 1000;
/// Probability from which on a symptom is said to be shown.
const SHOWN: f64 = 0.5;

/// One symptom of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The symptom.
    pub symptom: Symptom,
    /// True if the log shows it.
    pub shown: bool,
    /// Probability of the symptom by the detector, from 0 to 1.
    pub probability: f64,
    /// Meaning of the finding, for everybody.
    pub sentence: String,
    /// Where, when and how strongly; of a symptom that is not shown too.
    pub evidence: Evidence,
}

/// Diagnosis of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// `healthy`, `ill`, or `unknown` where there are too few writes to tell.
    pub verdict: &'static str,
    /// The same for everybody.
    pub sentence: String,
    /// Requests of the log.
    pub requests: u64,
    /// Of these, requests without a response time.
    pub without_response_time: u64,
    /// Writes with one.
    pub writes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Bytes of different addresses that they wrote, in steps of 4 KiB.
    pub distinct_bytes: u64,
    /// Mean number of outstanding requests.
    pub depth: f64,
    /// Usual cost of a byte on this drive, ns: one in twenty of the runs of 64 writes costs less.
    pub usual_pbr_ns_per_byte: f64,
    /// Mean cost of a byte over the whole log, ns.
    pub mean_pbr_ns_per_byte: f64,
    /// Share of the writes that cost over 16 times the usual.
    pub anomalies: f64,
    /// Share of the writes' time that anomalies take beyond the usual.
    pub lost_share: f64,
    /// The symptoms, all three, if there are enough writes.
    pub symptoms: Vec<Finding>,
    /// The log as cells.
    pub picture: Picture,
    /// Features that the detectors used.
    pub features: BTreeMap<String, f64>,
    /// Data from which the detectors were learned.
    pub detectors: String,
}

/// Says what a log shows.
pub fn diagnose(log: &Log) -> Diagnosis {
    let usual = Usual::of(log);
    let features = if log.writes.is_empty() { Features::default() } else { Features::of(log, &usual) };
    let model = Model::shipped();
    let everything = Evidence::of_all(log, &usual);
    let symptoms = if log.writes.len() < MIN_WRITES {
        Vec::new()
    } else {
        let probabilities = model.probabilities(&features.names, &features.values);
        SYMPTOMS
            .into_iter()
            .zip(probabilities)
            .map(|(symptom, probability)| {
                let evidence = Evidence::of(symptom, log, &usual);
                let shown = probability >= SHOWN;
                Finding {
                    symptom,
                    shown,
                    probability,
                    sentence: words::of(symptom, shown, &evidence),
                    evidence,
                }
            })
            .collect()
    };
    let anomalies = log.writes.iter().filter(|write| usual.is_anomaly(write));
    let (count, lost) =
        anomalies.fold((0.0, 0.0), |(count, lost), write| (count + 1.0, lost + usual.lost_ns(write)));
    let total: f64 = log.writes.iter().map(|write| write.cost_ns as f64).sum();
    let verdict = match symptoms.iter().any(|finding| finding.shown) {
        _ if symptoms.is_empty() => "unknown",
        true => "ill",
        false => "healthy",
    };
    Diagnosis {
        verdict,
        sentence: words::overall(&symptoms, log.writes.len(), &everything),
        requests: log.requests,
        without_response_time: log.untimed,
        writes: log.writes.len() as u64,
        written_bytes: log.bytes,
        distinct_bytes: log.distinct_bytes,
        depth: log.depth(),
        usual_pbr_ns_per_byte: usual.per_byte_ns,
        mean_pbr_ns_per_byte: ratio(total, log.bytes as f64),
        anomalies: ratio(count, log.writes.len() as f64),
        lost_share: ratio(lost, total),
        symptoms,
        picture: Picture::of(log),
        features: features.names.into_iter().zip(features.values).collect(),
        detectors: model.about.clone(),
    }
}
