//! Power cuts of a run: parsing of the setting, and their outcomes as JSON.

use flashweir_ssd::{Config, Geometry, Recorded, Simulation};
use flashweir_trace::quantity::parse_nanos;
use serde_json::{Value, json};

use super::{CutError, Cuts, Outcome, PowerCuts};
use crate::error::Error;

/// Most cuts of a run.
const MAX_CUTS: u64 = 1_000_000;
/// Most cuts that a result tells of one by one.
const MAX_DETAILS: u64 = 1000;

/// Parses a run's `power_cut`: nothing (null), a number of random cuts, a time with its unit, or a list of times.
pub(crate) fn parse(asked: Option<&Value>) -> Result<Option<Cuts>, Error> {
    let list = match asked {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) if list.len() != 1 => list.as_slice(),
        Some(Value::Array(list)) => return one(&list[0]).map(Some),
        Some(asked) => return one(asked).map(Some),
    };
    if list.is_empty() {
        return Err(refused("of an empty list", "a time such as 1.5s, or a number of random cuts"));
    }
    let times = list.iter().map(|asked| match one(asked)? {
        Cuts::At(times) => Ok(times),
        Cuts::Random(count) => Err(refused(
            &count.to_string(),
            "only times such as 1.5s beside others: a number of random cuts stands alone",
        )),
    });
    let times: Result<Vec<_>, _> = times.collect();
    Ok(Some(Cuts::At(times?.concat())))
}

fn one(asked: &Value) -> Result<Cuts, Error> {
    let text = match asked {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    if let Ok(count) = text.parse::<u64>() {
        if (1..=MAX_CUTS).contains(&count) {
            return Ok(Cuts::Random(count));
        }
        return Err(refused(
            &text,
            &format!("1 to {MAX_CUTS} random cuts, or a time with its unit, such as 1.5s"),
        ));
    }
    // A bare number of nanoseconds would be mistaken for a number of cuts.
    let has_unit = text.ends_with('s');
    match parse_nanos(&text).filter(|_| has_unit) {
        Some(time_ns) => Ok(Cuts::At(vec![time_ns])),
        None => Err(refused(
            &text,
            "a time of the run with its unit, such as 1.5s or 20us, or a whole number of random cuts",
        )),
    }
}

fn refused(what: &str, expected: &str) -> Error {
    Error::Setting { what: format!("power cut {what}"), expected: format!("expected {expected}") }
}

/// Cuts the power of a run.
#[derive(Debug)]
pub(crate) struct Power {
    asked: Cuts,
    seed: u64,
    verify: bool,
    cuts: Option<PowerCuts>,
}

impl Power {
    /// Refuses drives whose power can't be cut. `seed`: of random cuts. `verify`: the mapping is rebuilt from nothing at each
    /// cut.
    pub(crate) fn new(config: &Config, asked: Cuts, seed: u64, verify: bool) -> Result<Self, Error> {
        PowerCuts::check(config, &Geometry::new(config)?)?;
        Ok(Self { asked, seed, verify, cuts: None })
    }

    /// The drive is as the run finds it.
    pub(crate) fn start(&mut self, simulation: &mut Simulation) {
        self.cuts = Some(PowerCuts::begin(simulation, self.asked.clone(), self.seed, self.verify));
    }

    pub(crate) fn take(&mut self, recorded: &Recorded) {
        if let Some(cuts) = &mut self.cuts {
            cuts.take(recorded);
        }
    }

    /// The `power_cuts` of a result. The run ended at `end_ns`.
    pub(crate) fn finish(self, end_ns: u64) -> Result<Value, Error> {
        let Some(cuts) = self.cuts else { return Ok(Value::Null) };
        let outcomes = cuts.finish(end_ns).map_err(|error| match error {
            CutError::Verify(error) => error.into(),
            CutError::Beyond { time_ns } => refused(
                &format!("at {} s", seconds(time_ns)),
                &format!("a time within the run, which ended at {} s", seconds(end_ns)),
            ),
        })?;
        Ok(summary(&outcomes))
    }
}

fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

fn summary(outcomes: &[Outcome]) -> Value {
    let figures = |of: fn(&Outcome) -> u64| {
        let (total, max) =
            outcomes.iter().map(of).fold((0, 0), |(sum, max), next| (sum + next, next.max(max)));
        json!({"total": total, "mean": total as f64 / outcomes.len().max(1) as f64, "max": max})
    };
    let flushed: u64 = outcomes.iter().map(|outcome| outcome.flushed_sectors_lost).sum();
    let prefixes = outcomes.iter().filter(|outcome| outcome.is_prefix).count();
    // Of several alike, the first.
    let worst = outcomes.iter().rev().max_by_key(|outcome| {
        (outcome.flushed_sectors_lost, outcome.acknowledged_sectors_lost, outcome.violations)
    });
    // Of too many, some that are spread evenly over their order.
    let count = outcomes.len() as u64;
    let shown = count.min(MAX_DETAILS);
    let details = (0..shown).map(|place| detail(&outcomes[(place * count / shown) as usize]));
    json!({
        "cuts": count,
        "acknowledged_sectors_lost": figures(|outcome| outcome.acknowledged_sectors_lost),
        "flushed_sectors_lost": flushed,
        "writes_lost": figures(|outcome| outcome.writes_lost),
        "violations": figures(|outcome| outcome.violations),
        "torn_requests": figures(|outcome| outcome.torn_requests),
        "prefixes": prefixes,
        "worst": worst.map(detail),
        "details": details.collect::<Vec<_>>(),
    })
}

fn detail(outcome: &Outcome) -> Value {
    json!({
        "time_s": seconds(outcome.time_ns),
        "acknowledged_sectors_lost": outcome.acknowledged_sectors_lost,
        "flushed_sectors_lost": outcome.flushed_sectors_lost,
        "writes_lost": outcome.writes_lost,
        "violations": outcome.violations,
        "torn_requests": outcome.torn_requests,
        "prefix": outcome.is_prefix,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_of_random_cuts_and_a_time_has_a_unit() {
        let parsed = |asked: Value| parse(Some(&asked)).map_err(|error| error.to_string());
        assert_eq!(parsed(Value::Null), Ok(None));
        for random in [json!(40), json!("40"), json!(["40"]), json!([40])] {
            assert_eq!(parsed(random), Ok(Some(Cuts::Random(40))));
        }
        assert_eq!(parsed(json!("1.5ms")), Ok(Some(Cuts::At(vec![1_500_000]))));
        assert_eq!(parsed(json!(["2s", "10us"])), Ok(Some(Cuts::At(vec![2_000_000_000, 10_000]))));
        for (wrong, says) in [
            (json!(0), "power cut 0: expected 1 to 1000000 random cuts"),
            (json!(1.5), "power cut 1.5: expected a time of the run with its unit, such as 1.5s"),
            (json!("soon"), "power cut soon: expected a time"),
            (json!("-1s"), "power cut -1s: expected a time"),
            (json!(true), "power cut true: expected a time"),
            (json!(["1s", "7"]), "power cut 7: expected only times"),
            (json!([]), "power cut of an empty list: expected a time"),
        ] {
            let message = parsed(wrong).expect_err("no cut");
            assert!(message.starts_with(says), "{message}");
        }
    }

    #[test]
    fn a_result_tells_of_a_thousand_cuts_and_of_the_first_that_is_worst() {
        let outcome =
            |time_ns| Outcome { time_ns, acknowledged_sectors_lost: time_ns % 7, ..Outcome::default() };
        let outcomes: Vec<_> = (0..2500).map(outcome).collect();
        let summary = summary(&outcomes);
        let details = summary["details"].as_array().expect("a list");
        assert_eq!((summary["cuts"].as_u64(), details.len()), (Some(2500), 1000));
        assert_eq!(details[2]["time_s"], json!(5e-9));
        assert_eq!(summary["worst"]["time_s"], json!(6e-9));
        assert_eq!(summary["acknowledged_sectors_lost"]["max"], json!(6));
    }
}
