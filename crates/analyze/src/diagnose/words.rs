//! Findings in sentences that need no knowledge of drives.

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
            "Writes all over the drive wait about {times} times as long as usual, whatever was there before: the drive keeps track of \
             where data lies in pieces that are too coarse and tidies up all the time, which takes {lost} of the time."
        ),
        (Symptom::Mapping, false) => "How the drive keeps track of where data lies costs little.".into(),
        (Symptom::Collection, true) => format!(
            "In bursts, writes wait about {times} times as long as usual, because the drive runs out of room and must first move \
             other data out of the way to get some back: {lost} of the time is lost so at its worst. Take this as a hint: of drives of \
             which the truth is known, three in ten that were said to be so were not."
        ),
        (Symptom::Collection, false) => "The drive gets room back without making writes wait much.".into(),
        (Symptom::Buffer, true) => {
            let wait = if evidence.times_usual < SWINGS {
                "nearly all of them alike".to_owned()
            } else {
                format!("and how long swings by a factor of about {times}")
            };
            format!(
                "The drive does not take writes in and put them away later as it should: writes wait for the flash itself, {wait}."
            )
        }
        (Symptom::Buffer, false) => "Short bursts of writes are taken in at once, as they should be.".into(),
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
            "The drive looks healthy: writes that wait much longer than usual take {} of the time, which good drives need too to tidy up.",
            percent(everything.lost_share)
        );
    }
    let names: Vec<&str> = shown
        .iter()
        .map(|finding| match finding.symptom {
            Symptom::Mapping => "keeping track of where data lies",
            Symptom::Collection => "getting room back",
            Symptom::Buffer => "buffering writes",
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
