//! Values of a spec, each read from its text and checked; sizes are printed back here, too.

use super::super::{
    app,
    arrivals::Arrivals,
    keys::{Kind, Pairs, bad_value},
    mix::{Mix, Size},
    share::Share,
    store,
    volume::Options,
};
use super::{Layout, Places};
use crate::{SECTOR_BYTES, TraceError, quantity};

const SHARE: &str = "expected a share from 0 to 1";
pub(super) const NUMBER: &str = "expected a whole number from 1";

pub(super) fn positive(text: &str) -> Option<u64> {
    text.parse().ok().filter(|value| *value > 0)
}

pub(super) fn sectors(pairs: &Pairs<'_>, key: &str, default_bytes: u64) -> Result<u64, TraceError> {
    let expected = "expected a size in whole sectors of 512 bytes, such as 4KiB or 16GiB";
    let whole = |text: &str| quantity::parse_bytes(text).filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES));
    Ok(pairs.read(key, default_bytes, expected, whole)? / SECTOR_BYTES)
}

/// One size, or several as `4KiB|16KiB:0.3`. Sizes without a share split evenly what the others leave.
pub(super) fn read_sizes(text: &str) -> Result<Vec<Size>, TraceError> {
    let expected = "expected a size from 512B to 1TiB in whole sectors of 512 bytes, such as 4KiB, or a list such as \
                    4KiB|16KiB:0.3";
    let refuse = |reason: &str| bad_value("size", text, reason);
    let mut sizes = Vec::new();
    for item in text.split('|') {
        let (size, share) = item.split_once(':').map_or((item, None), |(size, share)| (size, Some(share)));
        let bytes = quantity::parse_bytes(size)
            .filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES) && (1..=1 << 40).contains(bytes))
            .ok_or_else(|| refuse(expected))?;
        let share = match share.map(|share| Share::parse(share.trim())) {
            Some(Some(Share::ZERO) | None) => return Err(refuse("each share must be above 0 and at most 1")),
            share => share.flatten(),
        };
        sizes.push(((bytes / SECTOR_BYTES) as u32, share));
    }
    let given: Vec<Share> = sizes.iter().filter_map(|(_, share)| *share).collect();
    let rest = Share::rest(&given).ok_or_else(|| refuse("the shares sum to more than 1"))?;
    let parts = sizes.len() - given.len();
    if parts == 0 && rest != Share::ZERO {
        return Err(refuse("the shares sum to less than 1; leave one out and that size gets the rest"));
    }
    let mut shared = (0..parts).map(|index| rest.part(index, parts));
    let sizes: Vec<Size> = sizes
        .into_iter()
        .filter_map(|(sectors, share)| Some(Size { sectors, share: share.or_else(|| shared.next())? }))
        .collect();
    if sizes.iter().any(|size| size.share == Share::ZERO) {
        return Err(refuse("the shares given leave nothing to the sizes without one"));
    }
    Ok(sizes)
}

pub(super) fn print_sizes(sizes: &[Size]) -> String {
    let bytes = |size: &Size| quantity::format_bytes(u64::from(size.sectors) * SECTOR_BYTES);
    match sizes {
        [only] => bytes(only),
        list => {
            list.iter().map(|size| format!("{}:{}", bytes(size), size.share)).collect::<Vec<_>>().join("|")
        }
    }
}

pub(super) fn read_places(pairs: &Pairs<'_>) -> Result<Places, TraceError> {
    let layout = |default| pairs.read("layout", default, "expected scattered or together", Layout::parse);
    Ok(match pairs.kind {
        Kind::FileCopy | Kind::Desktop => Places::Volume(Options::read(pairs)?),
        Kind::Store(store) => Places::Store(store::Options::read(pairs, store)?),
        Kind::App(app) => Places::App(app::Options::read(pairs, app)?),
        Kind::Random => Places::Random,
        Kind::Sequential => Places::Sequential,
        Kind::Zipf => {
            let expected = "expected a number above 0 and at most 5 (for 0, every start alike, use random)";
            let theta = |text: &str| text.parse().ok().filter(|theta| *theta > 0.0 && *theta <= 5.0);
            Places::Zipf {
                theta: pairs.read("theta", 0.99, expected, theta)?,
                layout: layout(Layout::Scattered)?,
            }
        }
        Kind::HotCold => {
            let share = |key, default: &str| {
                pairs.read(key, Share::parse(default).unwrap_or(Share::ONE), SHARE, Share::parse)
            };
            let (hot_share, hot_writes) = (share("hot_share", "0.2")?, share("hot_writes", "0.8")?);
            Places::HotCold { hot_share, hot_writes, layout: layout(Layout::Together)? }
        }
    })
}

pub(super) fn read_mix(pairs: &Pairs<'_>) -> Result<Mix, TraceError> {
    let share = |key| pairs.read(key, Share::ZERO, SHARE, Share::parse);
    let (trim, flush) = (share("trim")?, share("flush")?);
    let flush_every = pairs.read("flush_every", 0, "expected a whole number from 2", |text| {
        positive(text).filter(|every| *every > 1)
    })?;
    if let (Some(found), true) = (pairs.get("flush_every"), pairs.get("flush").is_some()) {
        return Err(bad_value("flush_every", found, "give either flush_every or flush, not both"));
    }
    let text = |key| pairs.get(key).unwrap_or("0");
    let write = match pairs.get("write") {
        Some(_) => share("write")?,
        None => Share::rest(&[trim, flush]).ok_or_else(|| {
            bad_value("trim", text("trim"), format!("trim and flush={} sum above 1", text("flush")))
        })?,
    };
    if Share::rest(&[write, trim, flush]).is_none() {
        let reason = format!("write, trim={} and flush={} sum above 1", text("trim"), text("flush"));
        return Err(bad_value("write", text("write"), reason));
    }
    Ok(Mix { write, trim, flush, flush_every })
}

pub(super) fn read_arrivals(pairs: &Pairs<'_>) -> Result<Arrivals, TraceError> {
    let time = |key| {
        let nanos = |text: &str| quantity::parse_nanos(text).filter(|nanos| *nanos > 0);
        pairs.read(key, 0, "expected a time above 0, such as 40us or 1.2ms", nanos)
    };
    let alone = |key, reason: &str| pairs.get(key).map_or(Ok(()), |text| Err(bad_value(key, text, reason)));
    let burst = pairs.read("burst", 1, NUMBER, positive)?;
    if pairs.get("rate").is_some() {
        for key in ["period", "burst", "burst_period"] {
            alone(key, "has no effect with rate; give either rate, or period with its bursts")?;
        }
        let expected = "expected a number of requests per second above 0 and at most 1e12";
        let rate = |text: &str| text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1e12);
        return Ok(Arrivals::Poisson { rate: pairs.read("rate", 0.0, expected, rate)? });
    }
    let (period_ns, burst_period_ns) = (time("period")?, time("burst_period")?);
    if period_ns == 0 {
        alone("burst_period", "needs period: bursts come on top of one request every period")?;
        alone("burst", "needs period: a burst of so many requests every period")?;
        return Ok(Arrivals::Closed);
    }
    if burst_period_ns == 0 {
        return Ok(Arrivals::Periodic { period_ns, burst });
    }
    if pairs.get("burst").is_none() {
        alone("burst_period", "needs burst: how many requests come every burst_period")?;
    }
    Ok(Arrivals::Mixed { period_ns, burst, burst_period_ns })
}
