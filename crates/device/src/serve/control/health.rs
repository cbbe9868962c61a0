//! Health logs: fields under the names that nvme-cli prints them by. Null: the simulated drive has no such thing.

use flashweir_ssd::quantity::round_to_u64;
use flashweir_trace::{Op, SECTOR_BYTES};
use serde_json::{Value, json};

use crate::serve::core::Core;
use crate::serve::promise::Promise;

/// Bytes of a data unit of the SMART log.
const DATA_UNIT_BYTES: u64 = 512_000;
/// Identity of the OCP log page C0h.
const OCP_GUID: &str = "0xafd514c97c6f4f9ca4f2bfea2810afc5";
/// Percent of spare below which the SMART log warns.
const SPARE_THRESHOLD: u64 = 10;
/// Warning of the SMART log of a drive that takes no more writes; bit 0 warns of little spare.
const READ_ONLY: u64 = 1 << 3;
/// Capacitor health of a drive without capacitors.
const NO_CAPACITOR: u64 = 0xFFFF;

/// SMART / health information (log page 02h), as `nvme smart-log -o json` prints it. `rated_cycles`: erases that a block is rated for.
pub(super) fn smart(core: &Core, rated_cycles: Option<u64>) -> Value {
    let (tally, now_ns) = (&core.tally, core.drive.now_ns());
    let units = |op: Op| (tally.sectors[op as usize] * SECTOR_BYTES).div_ceil(DATA_UNIT_BYTES);
    let wear = core.drive.wear();
    let used =
        rated_cycles.map(|cycles| round_to_u64((wear.all.mean / cycles as f64 * 100.0).min(255.0).floor()));
    let (spare, read_only) = core.spare_left();
    let throttled_s = core.faults.throttled_ns(now_ns) / 1_000_000_000;
    json!({
        "critical_warning": u64::from(spare < SPARE_THRESHOLD) + if read_only { READ_ONLY } else { 0 },
        "temperature": null,
        "avail_spare": spare,
        "spare_thresh": SPARE_THRESHOLD,
        "percent_used": used,
        "endurance_grp_critical_warning_summary": 0,
        "data_units_read": units(Op::Read),
        "data_units_written": units(Op::Write),
        "host_read_commands": tally.requests[Op::Read as usize],
        "host_write_commands": tally.requests[Op::Write as usize],
        "controller_busy_time": tally.busy_ns(now_ns) / 60_000_000_000,
        "power_cycles": 1 + tally.power_cuts,
        "power_on_hours": now_ns / 3_600_000_000_000,
        "unsafe_shutdowns": tally.power_cuts,
        "media_errors": tally.media_errors,
        "num_err_log_entries": tally.errors,
        "warning_temp_time": 0,
        "critical_comp_time": 0,
        "thm_temp1_trans_count": core.faults.throttled,
        "thm_temp2_trans_count": 0,
        "thm_temp1_total_time": throttled_s,
        "thm_temp2_total_time": 0,
    })
}

/// SMART / health information extended (OCP log page C0h), as `nvme ocp smart-add-log -o json` prints it.
pub(super) fn ocp(core: &Core) -> Value {
    let (tally, now_ns) = (&core.tally, core.drive.now_ns());
    let geometry = core.drive.geometry();
    let counters = core.drive.counters();
    let (flash, aged) = (counters.flash(), &counters.ageing);
    let bytes = |pages: u64| json!({"hi": 0, "lo": pages * u64::from(geometry.page_sectors) * SECTOR_BYTES});
    let blocks: u64 = (0..geometry.units()).map(|unit| geometry.unit_blocks(unit)).sum();
    let free: u64 = (0..geometry.channels).map(|channel| core.drive.free_blocks(channel)).sum();
    let wear = core.drive.wear();
    let protected = core.promise == Promise::Protected;
    json!({
        "Physical media units written": bytes(flash.programs),
        "Physical media units read": bytes(flash.reads),
        "Bad user nand blocks - Raw": aged.retired_blocks,
        "Bad user nand blocks - Normalized": core.spare_left().0,
        "Bad system nand blocks - Raw": 0,
        "Bad system nand blocks - Normalized": 100,
        "XOR recovery count": aged.rebuilt_pages,
        "Uncorrectable read error count": tally.media_errors,
        "Soft ecc error count": aged.soft_pages,
        "End to end detected errors": 0,
        "End to end corrected errors": 0,
        "System data percent used": 0,
        "Refresh counts": aged.refreshed_blocks,
        "Max User data erase counts": wear.all.max,
        "Min User data erase counts": wear.all.min,
        "Number of Thermal throttling events": core.faults.throttled.min(255),
        "Current throttling status": u64::from(core.faults.is_throttled(now_ns)),
        "PCIe correctable error count": 0,
        "Incomplete shutdowns": if protected { 0 } else { tally.power_cuts },
        "Percent free blocks": free * 100 / blocks.max(1),
        "Capacitor health": if protected { 100 } else { NO_CAPACITOR },
        "Unaligned I/O": tally.unaligned,
        "Security Version Number": 0,
        "NUSE - Namespace utilization": null,
        "PLP start count": if protected { tally.power_cuts } else { 0 },
        "Endurance estimate": null,
        "Log page version": 3,
        "Log page GUID": OCP_GUID,
        "Errata Version Field": 0,
        "Point Version Field": 0,
        "Minor Version Field": 0,
        "Major Version Field": 2,
        "NVMe Base Errata Version": 0,
        "PCIe Link Retraining Count": 0,
        "Power State Change Count": 0,
    })
}
