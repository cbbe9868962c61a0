//! Draws the drives that are frozen: small ones of all policies, under workloads that make them collect.
//!
//! A drive starts from a family, which makes rare combinations legal, and a shape. Settings are then tried in an order in which
//! those that few drives have come first; one that the configuration refuses is left out.

use std::collections::BTreeMap;

use super::load::{loads, options};
use super::{digest, drive};

/// Drives to draw.
const COUNT: usize = 384;

/// Settings that make a family of policies legal; of several choices one is drawn.
const FAMILIES: [&[(&str, &str)]; 31] = [
    &[],
    &[("engine", "busy-until|auto|event")],
    &[("ftl.kind", "page"), ("host.queue_depth", "8|32")],
    &[("sched.kind", "read-first|read-priority|suspend"), ("host.queue_depth", "4|16")],
    &[("sched.kind", "out-of-order|suspend"), ("host.queue_depth", "16")],
    &[("sched.kind", "read-first|read-priority|suspend|out-of-order"), ("host.mode", "open")],
    &[("alloc.kind", "dynamic"), ("host.queue_depth", "4|16")],
    &[("buffer.bytes", "8KiB|32KiB|128KiB"), ("host.queue_depth", "1|4|16")],
    &[("buffer.bytes", "16KiB|64KiB"), ("host.mode", "open")],
    &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "512|1KiB|4KiB")],
    &[("ftl.kind", "log-block|fast|bast|kast")],
    &[("ftl.kind", "log-block|fast|bast|kast"), ("buffer.bytes", "16KiB|64KiB")],
    &[
        ("gc.planner", "forwarding|cycle-filling|selective-filling"),
        ("ftl.kind", "fast|log-block"),
        ("buffer.bytes", "32KiB|64KiB"),
    ],
    &[
        ("gc.planner", "forwarding|cycle-filling"),
        ("ftl.kind", "page|dftl|bast|kast"),
        ("buffer.bytes", "32KiB"),
    ],
    &[
        ("clock", "lock-step"),
        ("gc.planner", "super-data-block|cycle-stealing"),
        ("ftl.kind", "log-block|fast|bast|kast"),
        ("buffer.bytes", "0|32KiB|64KiB"),
    ],
    &[
        ("clock", "lock-step"),
        ("gc.planner", "none|cycle-stealing"),
        ("ftl.kind", "page|dftl|fast"),
        ("buffer.bytes", "0|16KiB|64KiB"),
        ("buffer.order", "any|in-order"),
    ],
    &[("units", "synchronized"), ("ftl.kind", "page|fast|log-block|dftl")],
    &[
        ("alloc.kind", "dynamic"),
        ("tenants.channels", "shared|partially-isolated|isolated|ssdkeeper"),
        ("tenants.window_requests", "100|200|400"),
        ("host.mode", "open|closed"),
    ],
    &[
        ("alloc.kind", "dynamic"),
        ("tenants.channels", "look-ahead|learned|external"),
        ("tenants.window_requests", "100|200|400"),
        ("host.mode", "open|closed"),
    ],
    &[
        ("alloc.kind", "hybrid"),
        ("tenants.channels", "shared|partially-isolated|isolated|ssdkeeper|learned|external"),
        ("tenants.window_requests", "100|300"),
        ("precondition", "on-read"),
    ],
    &[("ftl.kind", "direct"), ("precondition", "empty"), ("host.mode", "open|closed")],
    &[("host.mode", "open"), ("host.slots", "1|2|4|16"), ("host.arbitration", "round-robin|weighted|fair")],
    &[("host.mode", "open"), ("alloc.kind", "dynamic")],
    &[("alloc.kind", "dynamic"), ("channels", "3|4|8"), ("host.queue_depth", "2|4")],
    &[("timing.multi_plane", "true"), ("planes", "2|4"), ("alloc.order", "CPDW|CPWD|CDPW")],
    &[("host.mode", "open"), ("buffer.bytes", "16KiB|64KiB"), ("ftl.kind", "log-block|fast|bast|kast|dftl")],
    &[
        ("clock", "lock-step"),
        ("gc.planner", "super-data-block"),
        ("ftl.kind", "log-block|fast|bast|kast"),
        ("host.mode", "open|closed"),
    ],
    &[
        ("gc.planner", "forwarding|cycle-filling|selective-filling"),
        ("ftl.kind", "fast|log-block"),
        ("buffer.bytes", "16KiB|64KiB"),
        ("host.mode", "open"),
    ],
    &[("host.queue_depth", "16"), ("host.arbitration", "round-robin|weighted|fair")],
    &[
        ("alloc.kind", "dynamic"),
        ("tenants.channels", "shared|partially-isolated|isolated|ssdkeeper|look-ahead|learned|external"),
        ("tenants.window_requests", "150|300"),
        ("host.queue_depth", "8"),
    ],
    &[
        ("clock", "lock-step"),
        ("ftl.kind", "page|fast|kast"),
        ("buffer.bytes", "16KiB|64KiB"),
        ("buffer.order", "in-order"),
        ("host.queue_depth", "1|8"),
    ],
];

/// Presets, each with a capacity at which it has some blocks in every unit.
const PRESETS: [(&str, &str); 12] = [
    ("mlc-2006", "32MiB"),
    ("slc-2006", "16MiB"),
    ("ssdsim", "32MiB"),
    ("agrawal-2008", "16MiB"),
    ("mqsim-mlc", "256MiB"),
    ("femu", "256MiB"),
    ("tlc", "256MiB"),
    ("970-pro", "512MiB"),
    ("huang2010-mlc", "32MiB"),
    ("huang2010-slc", "16MiB"),
    ("wen2012", "32MiB"),
    ("zhu2017", "16MiB"),
];

/// Values to try, of every key that is no part of the shape.
const VALUES: [(&str, &str); 60] = [
    ("engine", "busy-until|event"),
    ("clock", "lock-step"),
    ("units", "synchronized"),
    ("planes_bound", "true"),
    ("precondition", "empty|on-read|steady"),
    ("timing.read", "20us|50us,70us|10us,13us,31us"),
    ("timing.program", "200us|500us,1100us|1300us"),
    ("timing.erase", "3ms|0"),
    ("timing.bus", "5|0"),
    ("timing.command", "1us|7us"),
    ("timing.cache_program", "true"),
    ("timing.multi_plane", "true"),
    ("ftl.kind", "direct|log-block|dftl|fast|bast|kast"),
    ("ftl.sw_full", "partial-merge"),
    ("ftl.associativity", "2|4"),
    ("ftl.cache_bytes", "1KiB|4KiB"),
    ("ftl.batch_update", "false"),
    ("alloc.kind", "dynamic"),
    ("alloc.order", "CDPW|CDWP|CPDW|CPWD|CWDP|WDPC"),
    ("alloc.mode", "1"),
    ("gc.victim", "fifo|random|d-choices|cost-benefit"),
    ("gc.choices", "2|5"),
    ("gc.frontiers", "2"),
    ("gc.free_blocks", "2|3"),
    ("gc.planner", "super-data-block|cycle-stealing|forwarding|cycle-filling|selective-filling"),
    ("gc.merged_percent", "30|60"),
    ("gc.moved_percent", "0|20"),
    ("gc.throttle", "1|2"),
    ("gc.spare_blocks", "0|2|200"),
    ("buffer.bytes", "8KiB|64KiB|256KiB"),
    ("buffer.ack", "flash"),
    ("buffer.order", "in-order"),
    ("buffer.replacement", "lru|block-lru|fab"),
    ("buffer.coalesce", "false"),
    ("sched.kind", "read-first|read-priority|suspend|out-of-order"),
    ("sched.write_bound", "1ms|5ms"),
    ("sched.preempt_gc", "true"),
    ("sched.suspend_time", "7us"),
    ("sched.resume_time", "5us"),
    ("sched.max_suspensions", "1|3"),
    ("sched.write_weight", "0|2"),
    ("sched.bus_reads_first", "false"),
    ("sched.window", "1|3|64"),
    ("host.mode", "open"),
    ("host.queue_depth", "2|7|16"),
    ("host.time_scale", "0.5|3"),
    ("host.slots", "1|3|16"),
    ("host.arbitration", "round-robin|weighted|fair"),
    ("host.weights", "1,4|5,2,1"),
    ("tenants.window_time", "30ms"),
    ("tenants.level_requests", "25"),
    ("tenants.min_channels", "2"),
    ("tenants.applies", "same"),
    ("tenants.turns", "shortest|shortest-fair"),
    ("tenants.max_late_share", "0|0.5"),
    ("tenants.depth", "2"),
    ("tenants.two_groups_up_to", "1|20"),
    ("tenants.dominant_share", "0.4"),
    ("wear.dynamic", "true"),
    ("wear.static_gap", "2|4"),
];

/// SplitMix64.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn one<'a>(&mut self, choices: &'a str) -> &'a str {
        let all: Vec<_> = choices.split('|').collect();
        all[self.below(all.len() as u64) as usize]
    }

    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A drive that is being drawn: settings in the order in which they were found.
pub(super) type Settings = Vec<(String, String)>;

fn line(settings: &[(String, String)]) -> String {
    let tokens: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    tokens.join(" ")
}

pub(super) fn of<'a>(settings: &'a [(String, String)], key: &str) -> Option<&'a str> {
    settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn is_legal(settings: &[(String, String)]) -> bool {
    drive::parse(&line(settings)).config().is_ok()
}

/// The lines of all drives.
pub(super) fn drives() -> Vec<String> {
    let mut dice = Dice(20_250_301);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut lines = Vec::new();
    while lines.len() < COUNT {
        let number = lines.len();
        let Some(settings) = settings(&mut dice, number, &counts) else { continue };
        let Some(line) = served(&mut dice, &settings) else { continue };
        for (key, value) in &settings {
            *counts.entry(format!("{key}={value}")).or_default() += 1;
        }
        lines.push(line);
    }
    lines
}

/// The settings of a legal drive.
fn settings(dice: &mut Dice, number: usize, counts: &BTreeMap<String, u64>) -> Option<Settings> {
    let mut settings = Settings::new();
    let preset = number % 32 == 31;
    if preset {
        let (name, capacity) = PRESETS[(number / 32) % PRESETS.len()];
        for (key, value) in
            [("device", name), ("capacity", capacity), ("op_ratio", "0.2"), ("precondition", "full")]
        {
            settings.push((key.into(), value.into()));
        }
    } else {
        for (key, choices) in FAMILIES[number % 32] {
            // Of several choices mostly the one that the fewest drives have.
            let rarity = |value: &&str| counts.get(&format!("{key}={value}")).copied().unwrap_or(0);
            let rarest = choices.split('|').min_by_key(rarity).unwrap_or_default();
            let value = if dice.happens(60) { rarest } else { dice.one(choices) };
            settings.push(((*key).into(), value.into()));
        }
        shape(dice, &mut settings);
    }
    if !is_legal(&settings) {
        return None;
    }
    let mut candidates: Vec<(u64, &str, &str)> = Vec::new();
    for (key, values) in VALUES.iter().filter(|(key, _)| !(preset && *key == "precondition")) {
        for value in values.split('|') {
            let count = counts.get(&format!("{key}={value}")).copied().unwrap_or(0);
            candidates.push((count * 2 + dice.below(40), key, value));
        }
    }
    candidates.sort_unstable();
    let mut more = 2 + dice.below(9);
    for (_, key, value) in candidates {
        if more == 0 {
            break;
        }
        if of(&settings, key).is_none() {
            settings.push((key.into(), value.into()));
            if is_legal(&settings) {
                more -= 1;
            } else {
                settings.pop();
            }
        }
    }
    Some(settings)
}

/// Counts of channels, chips, dies, planes, and the size of what is in them. The family may have set some.
fn shape(dice: &mut Dice, settings: &mut Settings) {
    let managed = of(settings, "clock") == Some("lock-step") || of(settings, "gc.planner").is_some();
    let tenants = of(settings, "tenants.channels").is_some();
    // Looking ahead tries every way to share out the channels: a run takes long where there are many.
    let looks_ahead = of(settings, "tenants.channels") == Some("look-ahead");
    let channels = match (looks_ahead, tenants, managed || of(settings, "units").is_some()) {
        (true, ..) => "2",
        (_, true, _) => "2|4|5|8",
        (.., true) => "2|3|4",
        _ => "1|2|2|3|4",
    };
    let dies = match (managed, of(settings, "sched.kind").is_some()) {
        (true, _) => "1",
        (_, true) => "2|2|4",
        _ => "1|1|2",
    };
    let chips = if managed { "1" } else { "1|1|1|2" };
    let mut units = 1;
    for (key, choices) in [("channels", channels), ("chips", chips), ("dies", dies), ("planes", "1|1|2")] {
        let drawn = dice.one(choices).to_owned();
        let count = of(settings, key).map_or(drawn.clone(), Into::into);
        units *= count.parse::<u64>().expect("a number");
        if of(settings, key).is_none() {
            settings.push((key.into(), count));
        }
    }
    let page = 512 * dice.one("2|4|8|8|8|16").parse::<u64>().expect("a number");
    let pages_per_block = dice.one("4|7|8|16").parse::<u64>().expect("a number");
    let pages = pages_per_block * (8 + dice.below(12));
    let op_percent = match of(settings, "ftl.kind") {
        Some("dftl") => 80 + dice.below(80),
        _ if tenants => 50 + dice.below(50),
        Some("page") | None => 15 + dice.below(45),
        Some(_) => 30 + dice.below(60),
    };
    settings.push(("page".into(), page.to_string()));
    settings.push(("pages_per_block".into(), pages_per_block.to_string()));
    settings.push(("capacity".into(), (pages * units * page).to_string()));
    settings.push(("op_ratio".into(), format!("{}.{:02}", op_percent / 100, op_percent % 100)));
    if of(settings, "precondition").is_none() && dice.happens(75) {
        settings.push(("precondition".into(), "full".into()));
    }
}

/// A drive with a workload under which it runs to its end, and nearly always collects: its line.
fn served(dice: &mut Dice, settings: &[(String, String)]) -> Option<String> {
    for attempt in 0..6 {
        let mut whole = settings.to_vec();
        loads(dice, &mut whole);
        options(dice, &mut whole);
        let line = line(&whole);
        let Ok(result) = digest::simulate(&drive::parse(&line)) else { continue };
        let flash = &result["flash"];
        let count = |name: &str| flash[name].as_u64().unwrap_or(0);
        let collects = count("erases") > 0;
        let too_much = count("reads") + count("programs") > 30_000;
        let must_collect = of(settings, "ftl.kind") != Some("direct") && of(settings, "device").is_none();
        if !too_much && (collects || !must_collect || attempt == 5) {
            return Some(line);
        }
    }
    None
}
