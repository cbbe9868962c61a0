//! Traces that are read once and shared by the runs of a process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use flashweir_trace::format::{Report, Trace};
use flashweir_trace::{Request, Source, TraceError};

use crate::trace_options::TraceOptions;

/// Requests read at a time.
const BATCH: usize = 1 << 16;

/// Identity of a reading of a file: the file's name, the name of its content, and the reader's options as text.
type Key = (String, Option<String>, String);

/// A trace that has been read, or not yet. The lock keeps others waiting while one reads.
type Slot = Arc<Mutex<Option<Arc<Parsed>>>>;

/// All requests of a trace, and what was read.
#[derive(Debug)]
pub(crate) struct Parsed {
    requests: Vec<Request>,
    pub(crate) report: Report,
}

/// Keeps every trace that a run of [`crate::simulate_sharing`] opens, until [`Traces::forget`].
///
/// A trace takes 24 bytes a request.
#[derive(Debug, Default)]
pub struct Traces {
    slots: Mutex<BTreeMap<Key, Slot>>,
}

impl Traces {
    /// The trace at `path`: read now, by whoever asks first.
    pub(crate) fn open(
        &self,
        path: &Path,
        content: Option<&str>,
        options: &TraceOptions,
    ) -> Result<Shared, TraceError> {
        let key = (path.to_string_lossy().into_owned(), content.map(str::to_owned), format!("{options:?}"));
        // A panic while a slot was locked left it as it was before.
        let slot =
            Arc::clone(self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        let mut parsed = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = match &*parsed {
            Some(trace) => Arc::clone(trace),
            None => Arc::clone(parsed.insert(Arc::new(read(path, options)?))),
        };
        Ok(Shared { trace, next: 0 })
    }

    /// Lets go of the trace at `path`; runs that use it keep it until they end.
    pub fn forget(&self, path: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, ..), _| known != path);
    }

    /// Number of traces that are kept.
    pub fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory of the traces that are kept. A trace counts once it has been read.
    pub fn memory_bytes(&self) -> usize {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |slot: &Slot| {
            let parsed = slot.try_lock().ok()?;
            Some(parsed.as_ref()?.requests.capacity() * size_of::<Request>())
        };
        slots.values().filter_map(bytes).sum()
    }
}

fn read(path: &Path, options: &TraceOptions) -> Result<Parsed, TraceError> {
    let mut trace = Trace::open(path, &options.parse()?)?;
    let mut requests = Vec::new();
    while trace.read(&mut requests, BATCH)? {}
    requests.shrink_to_fit();
    Ok(Parsed { requests, report: trace.report().clone() })
}

/// One run's place in a shared trace.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) trace: Arc<Parsed>,
    next: usize,
}

impl Shared {
    /// Number of requests.
    pub(crate) fn len(&self) -> u64 {
        self.trace.requests.len() as u64
    }
}

impl Source for Shared {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let rest = &self.trace.requests[self.next..];
        let batch = &rest[..limit.min(rest.len())];
        out.extend_from_slice(batch);
        self.next += batch.len();
        Ok(self.next < self.trace.requests.len())
    }
}
