//! Arbitration at the host: tenants, each with requests that wait, and a drive that takes so many at once. Written from
//! docs/concepts/arbitration.md, naive: every instant looks at everything.
//!
//! The drive has dies that work on their own, first come, first served. At an instant, requests end and arrive before
//! any enters. They enter one after the other, and a request that takes no time has ended before the next one enters.

/// A request: pages to read or write, in order, of one tenant.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// When it arrives at the host; in a closed loop all are there at the start.
    pub(crate) time: u64,
    pub(crate) tenant: usize,
    pub(crate) work: Work,
}

#[derive(Clone, Debug)]
pub(crate) enum Work {
    Read(Vec<u64>),
    Write(Vec<u64>),
    /// Ends when all writes that entered before it have.
    Flush,
    /// Takes no time.
    Trim,
}

/// Whose request is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arbitration {
    Arrival,
    RoundRobin,
    Weighted,
    Fair,
}

/// The drive and its host.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) dies: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) slots: usize,
    pub(crate) arbitration: Arbitration,
    /// Requests of a tenant in a row, with round robin.
    pub(crate) burst: usize,
    /// Powers of two, so that virtual times are exact.
    pub(crate) weights: Vec<u64>,
}

/// Service of a request: its place, entry and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// Number of requests that entered before it.
    pub(crate) place: usize,
    pub(crate) entry: u64,
    pub(crate) end: u64,
}

/// Virtual times are multiples of this fraction of a unit.
const FINE: u64 = 1 << 10;

#[derive(Debug, Default)]
struct Tenant {
    waiting: std::collections::VecDeque<usize>,
    virtual_time: u64,
}

#[derive(Debug)]
struct Host<'a> {
    drive: &'a Drive,
    tenants: Vec<Tenant>,
    /// The virtual time of the one that went last, before it went.
    now: u64,
    first: usize,
    /// With round robin: the tenant of the last request, and the requests that it may have in a row yet.
    turn: (usize, usize),
}

impl Host<'_> {
    fn arrive(&mut self, number: usize, tenant: usize) {
        let tenant = &mut self.tenants[tenant];
        if tenant.waiting.is_empty() {
            tenant.virtual_time = tenant.virtual_time.max(self.now);
        }
        tenant.waiting.push_back(number);
    }

    /// Takes the next request out of its queue.
    fn next(&mut self) -> Option<usize> {
        let ready = |tenant: &usize| !self.tenants[*tenant].waiting.is_empty();
        let count = self.tenants.len();
        let around = (0..count).map(|step| (self.first + step) % count).filter(ready);
        let tenant = match self.drive.arbitration {
            // Numbers are in the order of arrival.
            Arbitration::Arrival => around.min_by_key(|tenant| self.tenants[*tenant].waiting[0])?,
            Arbitration::RoundRobin => {
                let (tenant, left) = self.turn;
                let goes_on = left > 0 && ready(&tenant);
                self.turn = if goes_on {
                    (tenant, left - 1)
                } else {
                    (around.min_by_key(|_| 0)?, self.drive.burst - 1)
                };
                self.turn.0
            }
            Arbitration::Weighted | Arbitration::Fair => {
                around.min_by_key(|tenant| self.tenants[*tenant].virtual_time)?
            }
        };
        self.now = self.tenants[tenant].virtual_time;
        self.first = (tenant + 1) % count;
        self.tenants[tenant].waiting.pop_front()
    }

    fn charge(&mut self, tenant: usize, flash_time: u64) {
        let cost = match self.drive.arbitration {
            Arbitration::Arrival | Arbitration::RoundRobin => 0,
            Arbitration::Weighted => 1,
            Arbitration::Fair => flash_time,
        };
        self.tenants[tenant].virtual_time +=
            cost * FINE / self.drive.weights.get(tenant).copied().unwrap_or(1);
    }
}

/// Service of every request, in the order of arrival.
pub(crate) fn serve(drive: &Drive, requests: &[Request]) -> Vec<Served> {
    let count = 1 + requests.iter().map(|request| request.tenant).max().unwrap_or(0);
    let tenants = (0..count).map(|_| Tenant::default()).collect();
    let mut host = Host { drive, tenants, now: 0, first: 0, turn: (0, 0) };
    let mut free_at = vec![0; drive.dies as usize];
    let mut served = vec![Served::default(); requests.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let (mut arrived, mut entered, mut now) = (0, 0, 0);
    loop {
        under_way.retain(|number| served[*number].end > now);
        while arrived < requests.len() && requests[arrived].time <= now {
            host.arrive(arrived, requests[arrived].tenant);
            arrived += 1;
        }
        while under_way.len() < drive.slots
            && let Some(number) = host.next()
        {
            let request = &requests[number];
            let mut run = |pages: &[u64], time: u64| {
                let mut end = now;
                for page in pages {
                    let die = &mut free_at[(page % drive.dies) as usize];
                    *die = now.max(*die) + time;
                    end = end.max(*die);
                }
                end
            };
            let writes = under_way.iter().filter(|other| matches!(requests[**other].work, Work::Write(_)));
            let (end, flash_time) = match &request.work {
                Work::Read(pages) => (run(pages, drive.read), drive.read * pages.len() as u64),
                Work::Write(pages) => (run(pages, drive.write), drive.write * pages.len() as u64),
                Work::Flush => (writes.map(|other| served[*other].end).max().unwrap_or(now), 0),
                Work::Trim => (now, 0),
            };
            host.charge(request.tenant, flash_time);
            served[number] = Served { place: entered, entry: now, end };
            entered += 1;
            if end > now {
                under_way.push(number);
            }
        }
        let ends = under_way.iter().map(|number| served[*number].end);
        let arrival = requests.get(arrived).map(|request| request.time);
        let Some(next) = ends.chain(arrival).min() else { return served };
        now = next;
    }
}
