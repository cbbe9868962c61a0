//! Draws workloads and options of a run for a drive that is there already.

use flashweir_trace::quantity::parse_bytes;

use super::draw::{Dice, Settings, of};

/// Applications that write below a file system, on volumes that are folded into the drive.
const APPLICATIONS: &str = "sqlite-wal:scale=0.01|postgresql:scale=0.01|browser:scale=0.01|package-build:scale=0.01|\
                            email:scale=0.1|ext4-install:scale=0.01|filecopy:fs=fat,span=1GiB,count=3000|\
                            desktop:os=ubuntu,span=1GiB,count=3000";

/// Adds workloads: one or several, timed where the host is open, of a few hundred to a few thousand requests in all.
pub(super) fn loads(dice: &mut Dice, settings: &mut Settings) {
    let capacity = of(settings, "capacity").and_then(parse_bytes).expect("a size");
    let page = of(settings, "page").and_then(parse_bytes).unwrap_or(4096);
    let open = of(settings, "host.mode") == Some("open");
    let shared = of(settings, "tenants.channels").is_some()
        || of(settings, "host.arbitration").is_some()
        || of(settings, "host.weights").is_some()
        || of(settings, "tenants.turns").is_some();
    let looks_ahead = of(settings, "tenants.channels") == Some("look-ahead");
    let tenants = match (shared, looks_ahead) {
        (_, true) => 2,
        (true, false) => 2 + dice.below(3),
        (false, false) => 1 + dice.below(6) / 5,
    };
    // Shares of the drive, or all of it together.
    let apart = dice.happens(50);
    let share = (capacity / tenants / page).max(1) * page;
    let channels: u64 = of(settings, "channels").map_or(8, |text| text.parse().expect("a number"));
    let written = capacity * (8 + dice.below(24)) / 10 / tenants / if looks_ahead { 12 } else { 1 };
    for tenant in 0..tenants {
        let (span, offset) = if apart && tenants > 1 { (share, share * tenant) } else { (capacity, 0) };
        if dice.happens(if tenants == 1 { 22 } else { 8 }) {
            let spec = if dice.happens(35) { "trace" } else { dice.one(APPLICATIONS) };
            let rate = 100 * channels * (1 + dice.below(8));
            let timed = if open && spec != "trace" { format!(",rate={rate}") } else { String::new() };
            settings.push(("load".into(), format!("{spec}{timed}")));
            let limit = (written / (3 * page)).clamp(100, 1500);
            settings.push(("load.limit".into(), limit.to_string()));
            settings.push(("load.volume".into(), (span / page * page).to_string()));
            if offset > 0 {
                settings.push(("load.offset".into(), offset.to_string()));
            }
            if open && spec == "trace" {
                settings.push(("load.duration".into(), format!("{}ms", 200 + dice.below(2000))));
            }
        } else {
            let spec = generator(dice, (span, offset), page, written, open.then_some(channels));
            settings.push(("load".into(), spec));
            if open && dice.happens(10) {
                settings.push(("load.start".into(), format!("{}ms", dice.below(300))));
            }
        }
    }
}

/// A generator's spec, of requests over so many bytes from an offset on, that writes about `written` bytes.
fn generator(
    dice: &mut Dice,
    (span, offset): (u64, u64),
    page: u64,
    written: u64,
    open: Option<u64>,
) -> String {
    let kind = dice.one("random|random|random|zipf|hotcold|sequential");
    let (size, mean) = match dice.below(6) {
        0 | 1 => (page.to_string(), page),
        2 => (format!("512|{page}:0.6|{}", 3 * page), 2 * page),
        3 => (format!("{}|{}:0.3", page, 5 * page), 2 * page),
        4 => (format!("{}|{}|{}:0.2", page, 2 * page, 9 * page), 3 * page),
        _ => (format!("1536|{}:0.4|{}:0.1", page + 512, 7 * page), 2 * page),
    };
    // The largest size has to fit.
    let (size, mean) = if span < 16 * page { (page.to_string(), page) } else { (size, mean) };
    let align = if kind == "sequential" || dice.happens(60) { page } else { 512 };
    let write = [95, 80, 60, 60, 40][dice.below(5) as usize];
    let count = (written * 100 / (mean * write)).clamp(200, 2200);
    let seed = 1 + dice.below(1000);
    let trim = if dice.happens(40) { ",trim=0.03" } else { "" };
    let flush = match dice.below(5) {
        0 => ",flush=0.01",
        1 => ",flush_every=50",
        _ => "",
    };
    let own = match kind {
        "zipf" => format!(",theta=0.{}", 5 + dice.below(5)),
        "hotcold" => ",hot_share=0.1,hot_writes=0.9".into(),
        _ => String::new(),
    };
    let arrivals = open.map_or_else(String::new, |channels| {
        let rate = 60 * channels * (1 + dice.below(12)) / (mean / page).max(1);
        match dice.below(4) {
            0 => format!(",period={}us,burst=8", 8_000_000 / rate),
            _ => format!(",rate={rate}"),
        }
    });
    let addresses = format!("{kind}:span={span},offset={offset},size={size},align={align}");
    format!("{addresses},count={count},write=0.{write:02},seed={seed}{trim}{flush}{own}{arrivals}")
}

/// Adds options of the run.
pub(super) fn options(dice: &mut Dice, settings: &mut Settings) {
    let tenants = settings.iter().filter(|(key, _)| key == "load").count();
    let holds_back =
        of(settings, "tenants.applies").is_some() || of(settings, "tenants.channels") == Some("look-ahead");
    let has_allocator = of(settings, "tenants.channels").is_some();
    let mut add = |key: &str, value: String| settings.push((key.into(), value));
    add("run.seed", (1 + dice.below(1000)).to_string());
    if dice.happens(75) {
        add("run.parts", "true".into());
    }
    if dice.happens(30) {
        add("run.verify", "true".into());
    }
    if has_allocator && dice.happens(60) {
        add("run.windows", "true".into());
    }
    if dice.happens(15) {
        add("run.power_cut", (5 + dice.below(40)).to_string());
    } else if tenants > 1 && dice.happens(30) {
        add("run.alone", "true".into());
    }
    if !holds_back && dice.happens(12) {
        add("run.warmup", dice.one("mser-5|steady|requests=100").into());
    }
}
