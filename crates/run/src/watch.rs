//! Records of a run beside its figures: the log of requests, the timeline, the activity of channels, and power cuts.

mod arrows;
mod drive_levels;
mod levels;
mod picture;
mod samples;
mod tasks;
mod waits;

use std::ops::Range;

use flashweir_ssd::{Config, Simulation};
use flashweir_trace::quantity::parse_nanos;
use serde_json::Value;

use crate::activity::{Activity, Window};
use crate::error::Error;
use crate::explain::Explain;
use crate::power::Power;
use crate::requests::RequestLog;
use crate::spec::RunSpec;
use picture::Picture;
use samples::Samples;

/// Takes what the drive recorded and passes it on.
pub(crate) struct Watch {
    requests: Option<RequestLog>,
    picture: Option<Picture>,
    activity: Option<Activity>,
    power: Option<Power>,
    explain: Option<Explain>,
    samples: Option<Samples>,
}

impl Watch {
    /// Opens the outputs that the run asks for.
    pub(crate) fn create(
        run: &RunSpec,
        activity: Option<Window>,
        power: Option<Power>,
        explain: Option<Explain>,
        config: &Config,
        (simulation, names): (&Simulation, &[String]),
    ) -> Result<Self, Error> {
        let geometry = simulation.geometry();
        let has_buffer = config.buffer.bytes.0 > 0;
        let with_parts = run.latency_parts || explain.is_some();
        let create_log = if with_parts { RequestLog::create_with_parts } else { RequestLog::create };
        Ok(Self {
            requests: run.requests.as_ref().map(|place| create_log(place.path())).transpose()?,
            picture: match &run.timeline {
                Some(place) => Some(Picture::create(place.path(), timeline_window(run)?, geometry)?),
                None => None,
            },
            activity: activity.map(|window| Activity::new(window, geometry, has_buffer)),
            power,
            explain,
            samples: match &run.samples {
                Some(place) => Some(Samples::create(place.path(), config, names.to_vec())?),
                None => None,
            },
        })
    }

    /// The drive is as the run finds it.
    pub(crate) fn start(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        if let Some(power) = &mut self.power {
            power.start(simulation);
        }
        if let Some(picture) = &mut self.picture {
            picture.start(simulation)?;
        }
        Ok(())
    }

    /// True if anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.requests.is_some()
            || self.picture.is_some()
            || self.activity.is_some()
            || self.power.is_some()
            || self.explain.is_some()
            || self.samples.is_some()
    }

    /// Passes on what was recorded since the last call.
    pub(crate) fn take(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        if !self.is_on() {
            return Ok(());
        }
        let mut recorded = simulation.take_recorded();
        // Both time paths then write the same bytes.
        recorded.requests.sort_by_key(|record| (record.issue_ns, record.number));
        if let Some(picture) = &mut self.picture {
            picture.take(&recorded)?;
        }
        if let Some(activity) = &mut self.activity {
            activity.take(&recorded);
        }
        if let Some(power) = &mut self.power {
            power.take(&recorded);
        }
        if let Some(explain) = &mut self.explain {
            explain.take(&recorded);
        }
        if let Some(samples) = &mut self.samples {
            samples.take(simulation);
        }
        if let Some(log) = &mut self.requests {
            for record in &recorded.requests {
                log.push_with_parts(record.log_record(), &record.parts)?;
            }
        }
        Ok(())
    }

    /// Completes the files and gives them their names. Returns what the result has beside its figures, by name.
    pub(crate) fn finish(self, simulation: &mut Simulation) -> Result<Vec<(&'static str, Value)>, Error> {
        // A cut beyond the end is an error, and leaves no file.
        let power_cuts = self.power.map(|power| power.finish(simulation.stats().simulated_ns)).transpose()?;
        if let Some(log) = self.requests {
            log.finish()?;
        }
        if let Some(picture) = self.picture {
            picture.finish()?;
        }
        if let Some(samples) = self.samples {
            samples.finish(simulation)?;
        }
        let activity = self.activity.map(Activity::finish);
        let explained = self.explain.map(Explain::finish);
        let fields = [("activity", activity), ("power_cuts", power_cuts), ("explain", explained)];
        Ok(fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

/// The part of the run that the timeline shows, ns.
pub(crate) fn timeline_window(run: &RunSpec) -> Result<Range<u64>, Error> {
    let wrong = |what: &str, text: &str, expected: &str| Error::setting(format!("{what} {text}"), expected);
    let time = |what: &str, text: &Option<String>, default| match text {
        None => Ok(default),
        Some(text) => parse_nanos(text)
            .ok_or_else(|| wrong(what, text, "expected a time of the run such as 1.5s or 20ms")),
    };
    let window =
        time("--timeline-from", &run.timeline_from, 0)?..time("--timeline-to", &run.timeline_to, u64::MAX)?;
    match (&run.timeline_from, &run.timeline_to, &run.timeline) {
        (None, None, _) => Ok(window),
        (.., None) => {
            let given = if run.timeline_from.is_some() { "--timeline-from" } else { "--timeline-to" };
            Err(Error::setting(given, "expected --timeline with it, the file to write"))
        }
        (.., Some(_)) if window.is_empty() => {
            let text = run.timeline_to.as_deref().unwrap_or_default();
            Err(wrong("--timeline-to", text, "expected a time after that of --timeline-from"))
        }
        _ => Ok(window),
    }
}
