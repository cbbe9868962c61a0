//! Windows of requests on their way to the drive: counts them, asks the allocator at the end of each, and gives the drive its
//! answer. Above the time paths, because it only needs the order of requests and the times of their arrival.

mod held;
mod look_ahead;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flashweir_trace::Request;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Drive, Simulation};
use crate::config::Config;
use crate::error::RunError;
use crate::host::{HostMode, open};
use crate::tenants::{Allocation, ChannelsConfig, Collector, Features, Model, Placing, TenantsConfig};

/// An allocator outside the engine: from the features of a window and the number of channels to an allocation, or why it
/// has none.
pub type Allocator = Box<dyn FnMut(&Features, u32) -> Result<Allocation, String> + Send>;

/// Features of one window, and its allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Features of its requests.
    pub features: Features,
    /// The allocation under which its requests were served.
    pub allocation: Allocation,
    /// Candidates that were tried for it (`look-ahead`).
    pub candidates: Vec<Tried>,
}

/// A candidate that was tried for a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Its cost: the sum of latencies, ns.
    pub cost_ns: u64,
    /// Inputs of a model for it, after the window before ([`crate::tenants::INPUTS`]).
    pub inputs: Vec<f64>,
}

/// The windows of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Number of windows.
    pub windows: u64,
    /// Sum over them of the channels that take writes.
    pub write_channels: u64,
    /// Their reads.
    pub reads: u64,
    /// Their writes.
    pub writes: u64,
}

/// Decisions of the allocator in a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Allocations {
    /// Windows that were closed.
    pub windows: u64,
    /// Number of changes of the allocation.
    pub changes: u64,
    /// Windows by their level.
    pub levels: BTreeMap<u64, Level>,
    /// Each window, if they are kept.
    pub kept: Vec<Window>,
}

/// A window of requests that are held back.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    features: Features,
    requests: Vec<Request>,
}

/// Serving of requests that were held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum By {
    /// When their window has its allocation.
    Window,
    /// By the caller, when their window has its allocation.
    Caller,
    /// The same, and no request comes any more.
    CallerAtEnd,
}

/// The state between requests.
#[derive(Serialize, Deserialize)]
pub(super) struct Windows {
    /// Not saved, as that of a drive that is loaded is the same.
    #[serde(skip)]
    config: TenantsConfig,
    placing: Placing,
    channels: u32,
    /// Factor on the times of the workload; `None` in a closed loop.
    time_scale: Option<f64>,
    collector: Collector,
    tenants: u16,
    taken: u64,
    /// Requests of the window that is being collected, if they are held back.
    open: Vec<Request>,
    /// Complete windows that wait until those after them are known.
    held: VecDeque<Held>,
    /// Requests of windows that have their allocation, and are not served.
    ready: VecDeque<Request>,
    by: By,
    /// True if the host asks the drive whose request comes next.
    asks: bool,
    /// A copy of the drive that has served all that is held back, if the host asks it.
    #[serde(skip)]
    scout: Option<Box<dyn Drive>>,
    current: Option<Allocation>,
    /// Features of the last window that was served.
    last: Features,
    #[serde(serialize_with = "save_model", deserialize_with = "load_model")]
    model: Option<Arc<Model>>,
    /// Stays with the process that gave it.
    #[serde(skip)]
    pub(super) external: Option<Allocator>,
    keep: bool,
    pub(super) allocations: Allocations,
}

#[expect(clippy::ref_option, reason = "serde hands fields over so")]
fn save_model<S: Serializer>(model: &Option<Arc<Model>>, serializer: S) -> Result<S::Ok, S::Error> {
    model.as_deref().serialize(serializer)
}

fn load_model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Model>>, D::Error> {
    Ok(Option::<Model>::deserialize(deserializer)?.map(Arc::new))
}

impl Windows {
    /// Replaces the state by a saved one, of the same configuration.
    pub(super) fn restore(&mut self, saved: Self) {
        let config = std::mem::take(&mut self.config);
        let external = self.external.take();
        *self = Self { config, external, ..saved };
    }

    pub(super) fn new(config: &Config, tenants: u16, keep: bool) -> Self {
        let time_scale = match &config.host.mode {
            HostMode::Closed(_) => None,
            HostMode::Open(open) => Some(open.time_scale),
        };
        Self {
            config: config.tenants.clone(),
            placing: config.alloc.placing(),
            channels: config.channels,
            time_scale,
            collector: Collector::new(&config.tenants, tenants.into()),
            tenants,
            taken: 0,
            open: Vec::new(),
            held: VecDeque::new(),
            ready: VecDeque::new(),
            by: By::Window,
            asks: config.host.arbitrates_late(),
            scout: None,
            current: None,
            last: Features::none(tenants.into()),
            model: matches!(config.tenants.channels, ChannelsConfig::Learned(_)).then(Model::shipped),
            external: None,
            keep,
            allocations: Allocations::default(),
        }
    }

    /// A copy for a fork of the simulation. An allocator outside stays with the original: the fork keeps the last allocation.
    pub(super) fn fork(&self) -> Self {
        Self {
            config: self.config.clone(),
            collector: self.collector.clone(),
            open: self.open.clone(),
            held: self.held.clone(),
            ready: self.ready.clone(),
            scout: None,
            current: self.current.clone(),
            last: self.last.clone(),
            model: self.model.clone(),
            external: None,
            allocations: self.allocations.clone(),
            ..*self
        }
    }

    /// Replaces the model, if there is one.
    pub(super) fn set_model(&mut self, model: Model) {
        self.model = self.model.take().map(|_| Arc::new(model));
    }

    /// All channels for everybody, settled as any other allocation.
    pub(super) fn everything(&self) -> Allocation {
        let mut allocation = Allocation::everything(self.tenants.into(), self.channels);
        allocation.settle(&Features::none(self.tenants.into()), self.placing, self.config.turns);
        allocation
    }

    /// Serves requests, in order, as far as they are not held back.
    pub(super) fn serve(&mut self, drive: &mut dyn Drive, requests: &[Request]) -> Result<(), RunError> {
        let mut first = 0;
        for (at, request) in requests.iter().enumerate() {
            let number = self.taken;
            if request.stream >= self.tenants {
                let tenants = self.tenants;
                return Err(RunError::NoSuchTenant { number: number + 1, stream: request.stream, tenants });
            }
            let time_ns = self.time_scale.map_or(0, |scale| open::scale(request.time_ns, scale));
            if self.collector.ends_before(time_ns) {
                self.pass(drive, &requests[first..at])?;
                first = at;
                if !self.config.holds_back() {
                    // Until this request arrives nobody knows that the window has ended.
                    drive.enter(request)?;
                }
                self.close(drive)?;
            }
            self.taken += 1;
            self.collector.add(request, time_ns);
            if self.collector.is_full() {
                self.pass(drive, &requests[first..=at])?;
                first = at + 1;
                self.close(drive)?;
            }
        }
        self.pass(drive, &requests[first..])
    }

    /// Serves what is still held back. The window that the end of the run cuts short is counted; nothing comes after it, so
    /// no allocator is asked then.
    pub(super) fn finish(&mut self, drive: &mut dyn Drive) -> Result<(), RunError> {
        self.end();
        self.serve_ready(drive, usize::MAX)?;
        while !self.held.is_empty() {
            self.release(drive)?;
            self.serve_ready(drive, usize::MAX)?;
        }
        Ok(())
    }

    /// No request comes any more: the window in progress ends.
    fn end(&mut self) {
        if self.by == By::Caller {
            self.by = By::CallerAtEnd;
        }
        if self.collector.is_empty() {
            return;
        }
        let features = self.collector.close();
        if self.config.holds_back() {
            let requests = std::mem::take(&mut self.open);
            self.held.push_back(Held { features, requests });
        } else {
            self.count_window(&features, Vec::new());
        }
    }

    /// The allocation before the first window, which knows nothing of what comes. Preconditioning has it as well.
    pub(super) fn start(&mut self, drive: &mut dyn Drive) {
        if !self.config.holds_back() {
            let features = Features::none(self.tenants.into());
            let allocation = self.config.allocate(&features, self.channels);
            self.apply(drive, allocation, &features);
        }
    }

    /// Requests of the current window: to the drive, or to those held back.
    fn pass(&mut self, drive: &mut dyn Drive, requests: &[Request]) -> Result<(), RunError> {
        if self.config.holds_back() {
            self.open.extend_from_slice(requests);
            return self.follow(requests);
        }
        drive.serve(requests)
    }

    /// The current window ends.
    fn close(&mut self, drive: &mut dyn Drive) -> Result<(), RunError> {
        let features = self.collector.close();
        if self.config.holds_back() {
            let requests = std::mem::take(&mut self.open);
            self.held.push_back(Held { features, requests });
            if self.by == By::Window && self.held.len() >= self.depth() {
                self.release(drive)?;
                self.serve_ready(drive, usize::MAX)?;
            }
            return Ok(());
        }
        self.count_window(&features, Vec::new());
        let allocation = self.ask(&features)?;
        if self.apply(drive, allocation, &features) { drive.resume() } else { Ok(()) }
    }

    /// True if groups may be placed either way.
    fn is_hybrid(&self) -> bool {
        self.placing == Placing::Hybrid
    }

    /// Windows that must be known before the first of them is served.
    fn depth(&self) -> usize {
        self.config.looks_ahead().unwrap_or(1)
    }

    /// The oldest window that was held back gets its allocation, and is served next.
    fn release(&mut self, drive: &mut dyn Drive) -> Result<(), RunError> {
        let mut costs = Vec::new();
        let Some(front) = self.held.front() else { return Ok(()) };
        let allocation = if self.config.looks_ahead().is_some() {
            let (allocation, tried) = self.best(drive)?;
            costs = tried;
            allocation
        } else {
            let features = front.features.clone();
            self.ask(&features)?
        };
        let Some(Held { features, requests }) = self.held.pop_front() else { return Ok(()) };
        if self.apply(drive, allocation, &features) {
            drive.resume()?;
        }
        self.count_window(&features, costs);
        self.last.clone_from(&features);
        self.ready.extend(requests);
        Ok(())
    }

    /// Answer of the allocator after a window.
    fn ask(&mut self, features: &Features) -> Result<Allocation, RunError> {
        let Some(external) = &mut self.external else {
            if let Some(model) = &self.model {
                return Ok(model.allocate(features, self.channels, self.is_hybrid(), self.config.shortest()));
            }
            let kept = self.current.as_ref().filter(|_| self.config.is_external());
            return Ok(kept.cloned().unwrap_or_else(|| self.config.allocate(features, self.channels)));
        };
        let refuse = |detail: String| RunError::Allocator { window: features.window, detail };
        let allocation = external(features, self.channels).map_err(refuse)?;
        allocation.check(self.tenants.into(), self.channels).map_err(refuse)?;
        Ok(allocation)
    }

    /// Gives the drive an allocation. Returns whether it is another one than before.
    fn apply(&mut self, drive: &mut dyn Drive, mut allocation: Allocation, features: &Features) -> bool {
        allocation.settle(features, self.placing, self.config.turns);
        if self.current.as_ref() == Some(&allocation) {
            return false;
        }
        self.allocations.changes += u64::from(self.current.is_some());
        drive.allocate(&allocation);
        self.current = Some(allocation);
        true
    }

    /// Books a window under the allocation that its requests have.
    fn count_window(&mut self, features: &Features, candidates: Vec<Tried>) {
        let Some(allocation) = &self.current else { return };
        self.allocations.windows += 1;
        let level = self.allocations.levels.entry(features.level).or_default();
        level.windows += 1;
        level.write_channels += u64::from(allocation.write_channels());
        level.reads += features.reads;
        level.writes += features.writes;
        if self.keep {
            let (features, allocation) = (features.clone(), allocation.clone());
            self.allocations.kept.push(Window { features, allocation, candidates });
        }
    }
}

impl Simulation {
    /// Gives the run an allocator of its own (`tenants.channels=external`), asked once a window. It has no effect elsewhere.
    pub fn set_allocator(&mut self, allocator: Allocator) {
        if let Some(windows) = &mut self.windows {
            windows.external = Some(allocator);
        }
    }

    /// Gives `tenants.channels=learned` another model than the one that is shipped. It has no effect elsewhere.
    pub fn set_model(&mut self, model: Model) {
        if let Some(windows) = &mut self.windows {
            windows.set_model(model);
        }
    }

    /// Decisions of the allocator so far; `None` without `tenants.channels`.
    pub fn allocations(&self) -> Option<&Allocations> {
        self.windows.as_ref().map(|windows| &windows.allocations)
    }

    /// From now on everybody has all channels, and no allocator is asked: how a tenant fares alone is measured so.
    pub fn share_all_channels(&mut self) {
        if let Some(windows) = self.windows.take() {
            self.drive.allocate(&windows.everything());
        }
    }
}
