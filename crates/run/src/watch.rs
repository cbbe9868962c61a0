//! What is told of a run beside its result: the log of requests, the timeline, and the activity of channels.

mod arrows;
mod levels;
mod picture;

use flashweir_ssd::{Config, Simulation};
use serde_json::Value;

use crate::activity::{Activity, Window};
use crate::error::Error;
use crate::requests::RequestLog;
use crate::spec::RunSpec;
use picture::Picture;

/// Takes what the drive recorded and passes it on.
pub(crate) struct Watch {
    requests: Option<RequestLog>,
    picture: Option<Picture>,
    activity: Option<Activity>,
}

impl Watch {
    /// Opens the outputs that the run asks for.
    pub(crate) fn create(
        run: &RunSpec,
        activity: Option<Window>,
        config: &Config,
        simulation: &Simulation,
    ) -> Result<Self, Error> {
        let geometry = simulation.geometry();
        let has_buffer = config.buffer.bytes.0 > 0;
        Ok(Self {
            requests: run.requests.as_deref().map(RequestLog::create).transpose()?,
            picture: run.timeline.as_deref().map(|path| Picture::create(path, geometry)).transpose()?,
            activity: activity.map(|window| Activity::new(window, geometry, has_buffer)),
        })
    }

    /// The drive is as the run finds it.
    pub(crate) fn start(&mut self, simulation: &Simulation) -> Result<(), Error> {
        if let Some(picture) = &mut self.picture {
            picture.start(simulation)?;
        }
        Ok(())
    }

    /// Whether anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.requests.is_some() || self.picture.is_some() || self.activity.is_some()
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
        if let Some(log) = &mut self.requests {
            for record in &recorded.requests {
                log.push(record.log_record())?;
            }
        }
        Ok(())
    }

    /// Completes the files and gives them their names. Returns the `activity` of the result, if there is to be one.
    pub(crate) fn finish(self) -> Result<Option<Value>, Error> {
        if let Some(log) = self.requests {
            log.finish()?;
        }
        if let Some(picture) = self.picture {
            picture.finish()?;
        }
        Ok(self.activity.map(Activity::finish))
    }
}
