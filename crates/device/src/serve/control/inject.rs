//! `inject`: faults that clients see.

use flashweir_run::FlashPart;
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Map, Value, json};

use super::args::{Args, Fail, shown};
use super::live::{at_drive, failed};
use crate::serve::Shared;
use crate::serve::core::Core;
use crate::serve::faults::{Spike, Throttle};

const KINDS: &str = "kind=latency, throttle, media-error, bad-block, die-failure or none";

/// Arguments of any kind.
const ARGUMENTS: [&str; 11] =
    ["kind", "add", "count", "for", "offset", "length", "export", "rate", "die", "plane", "block"];

/// Puts a fault into the drive.
pub(super) fn run(shared: &Shared, values: &Map<String, Value>) -> Result<Value, Fail> {
    let args = |known: &[&str]| Args::new("inject", values, known);
    let any = Args::new("inject", values, &ARGUMENTS)?;
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
        "die-failure" => {
            let args = args(&["kind", "die"])?;
            let die = args.needed("die", args.number("die")?, "the number of a die, from 0")?;
            break_part(shared, FlashPart::Die(die))
        }
        "bad-block" => bad_block(shared, &args(&["kind", "die", "plane", "block", "offset", "export"])?),
        other => Err(Fail::BadInput(format!("inject: kind: {}; expected {KINDS}", shown(other)))),
    }
}

fn until(core: &Core, span_ns: Option<u64>) -> u64 {
    span_ns.map_or(u64::MAX, |span_ns| core.drive.now_ns().saturating_add(span_ns))
}

/// A block is broken that is named by its place, or by an address that it holds.
fn bad_block(shared: &Shared, args: &Args<'_>) -> Result<Value, Fail> {
    let named = [args.number("die")?, args.number("plane")?, args.number("block")?];
    let export = args.text("export", "the name of an export")?;
    let part = match (named, args.bytes("offset")?) {
        ([None, None, None], Some(offset)) => {
            let first = offset - offset % SECTOR_BYTES;
            FlashPart::BlockOf(sectors_of(shared, args, (first, SECTOR_BYTES))?.0)
        }
        ([Some(die), plane, Some(block)], None) if export.is_none() => {
            FlashPart::Block { die, plane: plane.unwrap_or(0), block }
        }
        _ => {
            return Err(Fail::BadInput(
                "inject: bad-block: expected die and block (and plane), or offset, a byte in an export (and export)"
                    .into(),
            ));
        }
    };
    break_part(shared, part)
}

/// A part of the flash breaks: sectors that are lost can't be read until they are written.
fn break_part(shared: &Shared, part: FlashPart) -> Result<Value, Fail> {
    at_drive(shared, |core| {
        let lost = core.drive.break_part(part).map_err(|error| Fail::Refused(format!("inject: {error}")))?;
        let sectors: u64 = lost.iter().map(|range| range.end - range.start).sum();
        for range in lost {
            core.faults.spoil(range.start, range.end - range.start);
        }
        core.save_state().map_err(|error| failed(core, error))?;
        let mut found = list(core);
        found["lost_sectors"] = sectors.into();
        Ok(found)
    })
}

fn media_error(shared: &Shared, args: &Args<'_>) -> Result<Value, Fail> {
    let offset = args.needed("offset", args.bytes("offset")?, "the first byte in the export")?;
    let length = args.bytes("length")?.unwrap_or(SECTOR_BYTES);
    let (lba, sectors) = sectors_of(shared, args, (offset, length))?;
    at_drive(shared, |core| {
        core.faults.spoil(lba, sectors);
        Ok(list(core))
    })
}

/// The sectors of these bytes of the export that arguments name: the first one, and how many.
fn sectors_of(shared: &Shared, args: &Args<'_>, (offset, length): (u64, u64)) -> Result<(u64, u64), Fail> {
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
    Ok((export.first + offset / SECTOR_BYTES, length / SECTOR_BYTES))
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
