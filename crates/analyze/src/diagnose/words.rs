//! Findings in sentences, in the terms of the glossary.

use super::evidence::Evidence;
use super::model::Symptom;
use super::{Finding, MIN_WRITES};

/// Waiting times that differ by less do not swing.
const SWINGS: f64 = 1.5;

/// Sentence for a symptom.
pub(super) fn of(symptom: Symptom, shown: bool, evidence: &Evidence) -> String {
    let times = times(evidence.times_usual);
    let lost = percent(evidence.lost_share);
    match (symptom, shown) {
        (Symptom::Mapping, true) => format!(
            "Random writes wait about {times} times as long as usual: the mapping is too coarse, and merging blocks takes {lost} of \
             the time."
        ),
        (Symptom::Mapping, false) => "The mapping costs little time.".into(),
        (Symptom::Collection, true) => format!(
            "In bursts, writes wait about {times} times as long as usual, as they do for garbage collection: at most {lost} of the \
             time. A log can't show it for sure: 3 in 10 of these findings were false in our benchmark; diagnose --active measures it."
        ),
        (Symptom::Collection, false) => "Garbage collection makes writes wait little.".into(),
        (Symptom::Buffer, true) => {
            let wait = if evidence.times_usual < SWINGS {
                "nearly all of them alike".to_owned()
            } else {
                format!("and how long swings by a factor of about {times}")
            };
            format!("The write buffer does not absorb bursts: writes wait for the flash, {wait}.")
        }
        (Symptom::Buffer, false) => "The write buffer absorbs short bursts of writes.".into(),
    }
}

/// Sentence for the whole diagnosis.
pub(super) fn overall(symptoms: &[Finding], writes: usize, everything: &Evidence) -> String {
    if symptoms.is_empty() {
        return format!(
            "There are {writes} writes with a response time in the log; fewer than {MIN_WRITES} do not show how a drive works."
        );
    }
    let shown: Vec<&Finding> = symptoms.iter().filter(|finding| finding.shown).collect();
    if shown.is_empty() {
        return format!(
            "The drive looks healthy: writes that wait much longer than usual take {} of the time, as garbage collection of good drives does.",
            percent(everything.lost_share)
        );
    }
    let names: Vec<&str> = shown
        .iter()
        .map(|finding| match finding.symptom {
            Symptom::Mapping => "address mapping",
            Symptom::Collection => "garbage collection",
            Symptom::Buffer => "write buffering",
        })
        .collect();
    format!("The drive is bad at {}.", names.join(" and at "))
}

fn times(factor: f64) -> String {
    if factor >= 10.0 { format!("{factor:.0}") } else { format!("{factor:.1}") }
}

fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "less than 1 %".into() } else { format!("{:.0} %", share * 100.0) }
}
