//! Channels for tenants (ssdkeeper2024) on a drive of one die a channel, large enough never to collect. Written from the
//! description of the paper's allocator and of its hybrid page allocator, naive and slow: a die is when it is free.
//!
//! Points that the description leaves open are as in docs/concepts/tenants.md. A window ends with its last request, or
//! as the first one arrives that is too late. A group whose channels stay goes on with its turns. A page that is read
//! before it is written was on the drive before the allocator: placed by address over all channels. Of three tenants
//! and more the heaviest pairs are groups.

/// A request of whole pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) time: u64,
    pub(crate) reads: bool,
    pub(crate) page: u64,
    pub(crate) pages: u64,
    pub(crate) tenant: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Shared,
    PartiallyIsolated,
    Isolated,
    Keeper,
}

/// The drive and its allocator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) channels: usize,
    pub(crate) tenants: usize,
    pub(crate) pages: u64,
    pub(crate) read: u64,
    pub(crate) program: u64,
    pub(crate) strategy: Strategy,
    pub(crate) hybrid: bool,
    pub(crate) same: bool,
    pub(crate) shortest: bool,
    pub(crate) window_requests: usize,
    pub(crate) window_time: u64,
    pub(crate) level_requests: usize,
}

/// Channels, and whether pages go there by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) channels: Vec<usize>,
    pub(crate) fixed: bool,
    turn: usize,
}

/// The groups, and that of each tenant's reads and writes.
#[derive(Clone, Debug)]
struct Plan {
    groups: Vec<Group>,
    of: [Vec<usize>; 2],
}

/// Allocation of a window: the channels of each tenant's reads and of its writes, and true if placed by address.
pub(crate) type Given = Vec<[(Vec<usize>, bool); 2]>;

#[derive(Debug)]
struct Model {
    setup: Setup,
    plan: Plan,
    /// Where each page is.
    place: Vec<Option<usize>>,
    /// When each die is free.
    free: Vec<u64>,
    now: u64,
    /// Pages that wait, by request: its number, tenant and pages.
    waiting: Vec<(usize, usize, Vec<u64>)>,
    ends: Vec<u64>,
    given: Vec<Given>,
}

/// When each request is done, and what every window was given.
pub(crate) fn run(setup: Setup, accesses: &[Access]) -> (Vec<u64>, Vec<Given>) {
    let windows = cut(setup, accesses);
    let first = if setup.same { plan(setup, &[]) } else { start(setup) };
    let mut model = Model {
        setup,
        plan: first,
        place: vec![None; setup.pages as usize],
        free: vec![0; setup.channels],
        now: 0,
        waiting: Vec::new(),
        ends: vec![0; accesses.len()],
        given: Vec::new(),
    };
    let mut number = 0;
    for (at, window) in windows.iter().enumerate() {
        if setup.same {
            model.change(plan(setup, window));
        }
        model.tell();
        for access in *window {
            model.pass_to(access.time);
            model.serve(number, access);
            number += 1;
        }
        // Of the window that the end of the run cuts short nobody is asked.
        let full = window.len() == setup.window_requests;
        if !setup.same && (full || at + 1 < windows.len()) {
            if !full {
                // Nobody knows that it has ended before the next request comes.
                model.pass_to(windows[at + 1][0].time);
            }
            model.change(plan(setup, window));
        }
    }
    model.pass_to(u64::MAX);
    assert!(model.waiting.is_empty());
    (model.ends, model.given)
}

fn cut(setup: Setup, accesses: &[Access]) -> Vec<&[Access]> {
    let (mut windows, mut first) = (Vec::new(), 0);
    for at in 0..accesses.len() {
        let late = accesses[at].time - accesses[first].time >= setup.window_time;
        if at > first && (late || at - first == setup.window_requests) {
            windows.push(&accesses[first..at]);
            first = at;
        }
    }
    windows.push(&accesses[first..]);
    windows
}

/// Before anything is known.
fn start(setup: Setup) -> Plan {
    match setup.strategy {
        Strategy::Shared | Strategy::Isolated => {
            let mut known = plan(setup, &[]);
            known.groups.iter_mut().for_each(|group| group.fixed = false);
            known
        }
        Strategy::PartiallyIsolated | Strategy::Keeper => {
            laid_out(&[setup.channels], [vec![0; setup.tenants], vec![0; setup.tenants]])
        }
    }
}

/// Groups of so many channels, one after the other.
fn laid_out(counts: &[usize], of: [Vec<usize>; 2]) -> Plan {
    let mut first = 0;
    let mut next = |count: &usize| {
        first += count;
        Group { channels: (first - count..first).collect(), fixed: false, turn: 0 }
    };
    Plan { groups: counts.iter().map(&mut next).collect(), of }
}

/// The allocator's plan from the requests of a window.
fn plan(setup: Setup, window: &[Access]) -> Plan {
    let Setup { channels, tenants, .. } = setup;
    let count = |tenant: usize, reads: bool| {
        window.iter().filter(|access| access.tenant == tenant && access.reads == reads).count()
    };
    let by_type = || [vec![0; tenants], vec![1; tenants]];
    let sum = |reads: bool| window.iter().filter(|access| access.reads == reads).count();
    let mut found = match setup.strategy {
        Strategy::Shared => laid_out(&[channels / 2, channels - channels / 2], by_type()),
        Strategy::Isolated => {
            let even: Vec<usize> =
                (0..tenants).map(|at| channels / tenants + usize::from(at < channels % tenants)).collect();
            let own: Vec<usize> = (0..tenants).collect();
            laid_out(&even, [own.clone(), own])
        }
        Strategy::PartiallyIsolated => {
            let reads = if sum(true) > sum(false) { channels - 1 } else { 1 };
            laid_out(&[reads, channels - reads], by_type())
        }
        Strategy::Keeper => {
            let level = window.len().div_ceil(setup.level_requests);
            let dominant = (0..tenants)
                .any(|tenant| 10 * (count(tenant, true) + count(tenant, false)) >= 9 * window.len());
            if level <= 10 || dominant {
                laid_out(&shares(channels, &[sum(true), sum(false)]), by_type())
            } else {
                let pairs: Vec<usize> = (0..2 * tenants).map(|pair| count(pair / 2, pair % 2 == 0)).collect();
                keeper(channels, &pairs)
            }
        }
    };
    if setup.hybrid {
        for number in 0..found.groups.len() {
            let within = |reads: bool| -> usize {
                let of = &found.of[usize::from(!reads)];
                (0..tenants).filter(|tenant| of[*tenant] == number).map(|tenant| count(tenant, reads)).sum()
            };
            found.groups[number].fixed = within(true) > within(false);
        }
    }
    found
}

/// The four heaviest of the pairs (reads and writes of tenant 1, of tenant 2, ...) have channels of their own.
fn keeper(channels: usize, pairs: &[usize]) -> Plan {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|a, b| pairs[*b].cmp(&pairs[*a]).then(a.cmp(b)));
    let most = channels.min(4).min(pairs.len());
    let mut own = order[..most].to_vec();
    own.sort_unstable();
    let mut group: Vec<Option<usize>> =
        (0..pairs.len()).map(|pair| own.iter().position(|other| *other == pair)).collect();
    let mut weights: Vec<usize> = own.iter().map(|pair| pairs[*pair]).collect();
    for pair in &order[most..] {
        let mut best: Option<usize> = None;
        for alike in [true, false] {
            for at in 0..most {
                let fits = !alike || own[at] % 2 == pair % 2;
                if fits && (best.is_none() || (alike && best.is_some_and(|best| weights[at] < weights[best])))
                {
                    best = Some(at);
                }
                if fits
                    && !alike
                    && best.is_some_and(|best| own[best] % 2 != pair % 2 && weights[at] < weights[best])
                {
                    best = Some(at);
                }
            }
        }
        let best = best.expect("there are groups");
        group[*pair] = Some(best);
        weights[best] += pairs[*pair];
    }
    let of =
        |kind: usize| group.iter().skip(kind).step_by(2).map(|group| group.expect("every one")).collect();
    laid_out(&shares(channels, &weights), [of(0), of(1)])
}

/// Largest remainders, at least one each.
fn shares(total: usize, weights: &[usize]) -> Vec<usize> {
    let weights: Vec<usize> =
        if weights.iter().all(|weight| *weight == 0) { vec![1; weights.len()] } else { weights.to_vec() };
    let sum: usize = weights.iter().sum();
    let quota = |at: usize| weights[at] as f64 * total as f64 / sum as f64;
    let mut shares: Vec<usize> = (0..weights.len()).map(|at| (weights[at] * total / sum).max(1)).collect();
    while shares.iter().sum::<usize>() < total {
        let mut best = 0;
        for at in 1..shares.len() {
            if quota(at) - shares[at] as f64 > quota(best) - shares[best] as f64 + 1e-9 {
                best = at;
            }
        }
        shares[best] += 1;
    }
    while shares.iter().sum::<usize>() > total {
        let mut best = None;
        for at in (0..shares.len()).filter(|at| shares[*at] > 1) {
            if best.is_none_or(|best: usize| {
                shares[at] as f64 - quota(at) >= shares[best] as f64 - quota(best) - 1e-9
            }) {
                best = Some(at);
            }
        }
        shares[best.expect("some has more than one")] -= 1;
    }
    shares
}

impl Model {
    fn tell(&mut self) {
        let of = |tenant: usize| {
            [0, 1].map(|kind: usize| {
                let group = &self.plan.groups[self.plan.of[kind][tenant]];
                (group.channels.clone(), group.fixed)
            })
        };
        self.given.push((0..self.setup.tenants).map(of).collect());
    }

    fn change(&mut self, mut to: Plan) {
        let kept = |group: &Group| self.plan.groups.iter().find(|old| old.channels == group.channels);
        for group in &mut to.groups {
            group.turn = kept(group).map_or(0, |old| old.turn);
        }
        self.plan = to;
        self.resume();
    }

    /// Lets time pass: whenever dies become free, pages that wait take them.
    fn pass_to(&mut self, time: u64) {
        loop {
            let next = self.free.iter().copied().filter(|free| *free > self.now && *free <= time).min();
            let Some(next) = next else { break };
            self.now = next;
            self.resume();
        }
        self.now = time;
    }

    /// Asks all pages that wait, in turn; where one of a group finds no channel, no other of it does.
    fn resume(&mut self) {
        let mut stuck = vec![false; self.plan.groups.len()];
        loop {
            let mut first: Option<usize> = None;
            for (at, (_, tenant, pages)) in self.waiting.iter().enumerate() {
                let shorter = |first: usize| self.setup.shortest && pages.len() < self.waiting[first].2.len();
                if !stuck[self.plan.of[1][*tenant]] && first.is_none_or(shorter) {
                    first = Some(at);
                }
            }
            let Some(at) = first else { break };
            let (number, tenant, pages) = self.waiting[at].clone();
            let group = self.plan.of[1][tenant];
            if !self.write(number, group, pages[0]) {
                stuck[group] = true;
                continue;
            }
            self.waiting[at].2.remove(0);
            if self.waiting[at].2.is_empty() {
                self.waiting.remove(at);
            }
        }
    }

    fn serve(&mut self, number: usize, access: &Access) {
        let (tenant, pages) = (access.tenant, access.page..access.page + access.pages);
        let mut left = Vec::new();
        for page in pages {
            if access.reads {
                self.read(number, page);
            } else if !self.write(number, self.plan.of[1][tenant], page) {
                left.push(page);
            }
        }
        if !left.is_empty() {
            self.waiting.push((number, tenant, left));
        }
    }

    /// Reads a page where it is; one that nobody wrote was there by address.
    fn read(&mut self, number: usize, page: u64) {
        let channel = *self.place[page as usize].get_or_insert(page as usize % self.setup.channels);
        self.occupy(number, channel, self.setup.read);
    }

    /// Writes a page, if its group has a channel for it now.
    fn write(&mut self, number: usize, group: usize, page: u64) -> bool {
        let group = &mut self.plan.groups[group];
        let count = group.channels.len();
        let channel = if group.fixed {
            group.channels[page as usize % count]
        } else {
            let in_turn = (0..count).map(|step| (group.turn + step) % count);
            let Some(at) = in_turn.into_iter().find(|at| self.free[group.channels[*at]] <= self.now) else {
                return false;
            };
            group.turn = (at + 1) % count;
            group.channels[at]
        };
        self.place[page as usize] = Some(channel);
        self.occupy(number, channel, self.setup.program);
        true
    }

    fn occupy(&mut self, number: usize, channel: usize, time: u64) {
        self.free[channel] = self.free[channel].max(self.now) + time;
        self.ends[number] = self.ends[number].max(self.free[channel]);
    }
}
