//! `inject`: faults that clients see.

use flashweir_trace::SECTOR_BYTES;
use serde_json::{Map, Value, json};

use super::args::{Args, Fail, shown};
use super::live::at_drive;
use crate::serve::Shared;
use crate::serve::core::Core;
use crate::serve::faults::{Spike, Throttle};

const KINDS: &str = "kind=latency, media-error, throttle or none";

/// Puts a fault into the drive.
pub(super) fn run(shared: &Shared, values: &Map<String, Value>) -> Result<Value, Fail> {
    let args = |known: &[&str]| Args::new("inject", values, known);
    let any =
        Args::new("inject", values, &["kind", "add", "count", "for", "offset", "length", "export", "rate"])?;
    match any.needed("kind", any.text("kind", KINDS)?, KINDS)? {
        "latency" => {
            let args = args(&["kind", "add", "count", "for"])?;
            let add_ns = args.needed("add", args.time("add")?, "the added time, such as 5ms")?;
            let left = args.count("count")?;
            let span_ns = args.time("for")?;
            // Without a limit it would never end.
            let left = if left.is_none() && span_ns.is_none() { Some(1) } else { left };
            at_drive(shared, |core| {
                let until_ns = until(core, span_ns);
                core.faults.spike = Some(Spike { add_ns, left: left.unwrap_or(u64::MAX), until_ns });
                Ok(list(core))
            })
        }
        "throttle" => {
            let args = args(&["kind", "rate", "for"])?;
            let expected = "bytes a second above 0, such as 100MB";
            let bytes_per_s = args.needed("rate", args.bytes("rate")?, expected)?;
            if bytes_per_s == 0 {
                return Err(Fail::BadInput(format!("inject: rate: 0; expected {expected}")));
            }
            let span_ns = args.time("for")?;
            at_drive(shared, |core| {
                let (from_ns, until_ns) = (core.drive.now_ns(), until(core, span_ns));
                core.faults.limit(Throttle { bytes_per_s, from_ns, until_ns, free_ns: from_ns });
                Ok(list(core))
            })
        }
        "media-error" => media_error(shared, &args(&["kind", "offset", "length", "export"])?),
        "none" => {
            args(&["kind"])?;
            at_drive(shared, |core| {
                core.faults.clear();
                Ok(list(core))
            })
        }
        "die-failure" => Err(Fail::Refused(
            "inject: die-failure: the drive has no parity across dies, so all data of the die would be lost for good, and its share \
             of the capacity with it; expected kind=media-error, which loses data at an address"
                .into(),
        )),
        "bad-block" => Err(Fail::Refused(
            "inject: bad-block: each unit needs all its blocks to hold its share of the capacity and to collect; expected a drive \
             that is made with fewer blocks (blocks_per_unit)"
                .into(),
        )),
        other => Err(Fail::BadInput(format!("inject: kind: {}; expected {KINDS}", shown(other)))),
    }
}

fn until(core: &Core, span_ns: Option<u64>) -> u64 {
    span_ns.map_or(u64::MAX, |span_ns| core.drive.now_ns().saturating_add(span_ns))
}

fn media_error(shared: &Shared, args: &Args<'_>) -> Result<Value, Fail> {
    let offset = args.needed("offset", args.bytes("offset")?, "the first byte in the export")?;
    let length = args.bytes("length")?.unwrap_or(SECTOR_BYTES);
    let name = args.text("export", "the name of an export")?;
    let export = match name {
        None => shared.exports.first(),
        Some(name) => shared.exports.iter().find(|export| export.name == name),
    };
    let Some(export) = export else {
        return Err(Fail::BadInput(format!(
            "inject: export: {}; expected one of the exports",
            shown(name.unwrap_or(""))
        )));
    };
    let aligned = offset.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
    if !aligned || length == 0 || offset.checked_add(length).is_none_or(|end| end > export.bytes()) {
        let size = export.bytes();
        return Err(Fail::BadInput(format!(
            "inject: offset={offset}, length={length}: expected multiples of 512 within the export's {size} bytes"
        )));
    }
    let (lba, sectors) = (export.first + offset / SECTOR_BYTES, length / SECTOR_BYTES);
    at_drive(shared, |core| {
        core.faults.spoil(lba, sectors);
        Ok(list(core))
    })
}

/// Faults that the drive has.
pub(super) fn list(core: &Core) -> Value {
    let (faults, now_ns) = (&core.faults, core.drive.now_ns());
    let until_s = |until_ns: u64| (until_ns != u64::MAX).then_some(until_ns as f64 / 1e9);
    let spike = faults.spike.filter(|spike| now_ns < spike.until_ns);
    let throttle = faults.throttle.filter(|throttle| now_ns < throttle.until_ns);
    json!({
        "latency": spike.map(|spike| json!({
            "add_us": spike.add_ns as f64 / 1e3,
            "requests_left": (spike.left != u64::MAX).then_some(spike.left),
            "until_s": until_s(spike.until_ns),
        })),
        "throttle": throttle.map(|throttle| json!({
            "bytes_per_s": throttle.bytes_per_s,
            "until_s": until_s(throttle.until_ns),
        })),
        "unreadable_sectors": faults.unreadable_sectors(),
    })
}
