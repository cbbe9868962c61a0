//! Doorbells: the host tells the drive of several commands of a queue at a time.

use serde::{Deserialize, Serialize};

/// Commands of a queue for which the doorbell has not rung.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Batch {
    commands: Vec<u32>,
    /// Latest time of the doorbell, ns.
    due_ns: Option<u64>,
}

/// All queues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Doorbells {
    batch: u32,
    wait_ns: u64,
    queues: Vec<Batch>,
}

impl Doorbells {
    /// Commands that go together, and how long the first of them waits for the others.
    pub(super) fn new(batch: u32, wait_ns: u64) -> Self {
        Self { batch, wait_ns, queues: Vec::new() }
    }

    /// One more command of a queue. Returns when the doorbell is rung at the latest, if that is news.
    pub(super) fn add(&mut self, queue: usize, command: u32, now_ns: u64) -> Option<u64> {
        if self.queues.len() <= queue {
            self.queues.resize(queue + 1, Batch::default());
        }
        let waiting = &mut self.queues[queue];
        waiting.commands.push(command);
        if waiting.due_ns.is_some() || self.batch == 1 {
            return None;
        }
        waiting.due_ns = Some(now_ns + self.wait_ns);
        waiting.due_ns
    }

    /// True if the doorbell is to be rung at once.
    pub(super) fn is_full(&self, queue: usize) -> bool {
        self.queues[queue].commands.len() as u64 >= u64::from(self.batch)
    }

    /// True if the doorbell is to be rung because the first command has waited long enough.
    pub(super) fn is_due(&self, queue: usize, now_ns: u64) -> bool {
        self.queues[queue].due_ns == Some(now_ns)
    }

    /// Rings: takes the commands.
    pub(super) fn take(&mut self, queue: usize) -> Vec<u32> {
        std::mem::take(&mut self.queues[queue]).commands
    }
}
