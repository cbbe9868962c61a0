//! Cells of random drives.

use super::Setting;

/// Cells of flash: word lines programmed at once or in two passes, shadow order, spread, erases that take longer. Page types need
/// blocks of whole word lines.
pub(super) const CELLS: [&[(&str, &str)]; 12] = [
    &[],
    &[],
    &[("nand.cache_read", "true")],
    &[("nand.cache_read", "true"), ("nand.spread", "0.1")],
    &[("nand.spread", "0.1"), ("nand.die_spread", "0.2"), ("nand.seed", "4")],
    &[("nand.erase_growth", "300"), ("nand.spread", "0.2")],
    &[("nand.page_order", "shadow"), ("timing.read", "10us,31us"), ("timing.program", "100us,300us")],
    &[
        ("nand.programs", "one-shot"),
        ("nand.cell", "tlc"),
        ("timing.program", "300us"),
        ("timing.read", "9us"),
    ],
    &[
        ("nand.programs", "foggy-fine"),
        ("nand.cell", "mlc"),
        ("timing.program", "90us,200us"),
        ("timing.read", "9us,20us"),
    ],
    SLC[3],
    SLC[4],
    SLC[5],
];

/// Cells that age, and six times none: of data that was there before, of reads, of cycles; lost pages; all of it, and times that
/// change with cycles; blocks that are moved because of their age, their reads, or both without waiting for idle dies.
pub(super) const AGEING: [&[(&str, &str)]; 13] = [
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.retention", "900"),
        ("ageing.cycles", "2500"),
        ("ageing.spread", "0.3"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.gamma", "0.0004"),
        ("ageing.p", "0"),
        ("ageing.q", "1"),
        ("ageing.reads_of", "block"),
        ("ageing.cell", "mlc"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.epsilon", "0.0035"),
        ("ageing.spread", "0.9"),
        ("ageing.retries", "1"),
        ("ageing.soft_bits", "90"),
        ("ageing.decode_time", "3us"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.pace", "300000000"),
        ("ageing.beta", "0.0001"),
        ("ageing.m", "0"),
        ("ageing.n", "0.7"),
        ("ageing.alpha", "0.001"),
        ("ageing.k", "1"),
        ("ageing.program_growth", "30"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.pace", "300000000"),
        ("ageing.beta", "0.0001"),
        ("ageing.m", "0"),
        ("ageing.n", "0.7"),
        ("background.refresh.after", "60us"),
        ("background.refresh.age", "9"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.gamma", "0.0004"),
        ("ageing.p", "0"),
        ("ageing.q", "1"),
        ("ageing.reads_of", "block"),
        ("background.refresh.after", "0ns"),
        ("background.refresh.reads", "12"),
        ("background.refresh.retries", "2"),
    ],
    &[
        ("ageing.kind", "power-law"),
        ("ageing.pace", "300000000"),
        ("ageing.epsilon", "0.0035"),
        ("ageing.spread", "0.9"),
        ("background.refresh.overdue", "90us"),
        ("background.refresh.age", "20"),
        ("background.refresh.reads", "9"),
        ("background.refresh.retries", "3"),
    ],
];

/// SLC caches, and three times none.
pub(super) const SLC: [&[(&str, &str)]; 6] = [
    &[],
    &[],
    &[],
    &[
        ("slc.kind", "static"),
        ("slc.static_blocks", "2"),
        ("nand.cell", "mlc"),
        ("timing.read", "20us"),
        ("timing.program", "200us"),
    ],
    &[
        ("slc.kind", "dynamic"),
        ("slc.when_full", "direct"),
        ("nand.cell", "tlc"),
        ("timing.read", "10us,13us,31us"),
        ("timing.program", "200us"),
    ],
    &[
        ("slc.kind", "both"),
        ("slc.static_blocks", "1"),
        ("slc.dynamic_share", "0.6"),
        ("nand.cell", "mlc"),
        ("timing.read", "20us"),
        ("timing.program", "100us,300us"),
    ],
];

/// Settings of cells that age. Of drives with a page map whose blocks differ most in their errors, those that need soft decoding are
/// retired, in half of them two of a unit at most.
pub(super) fn of_ageing(
    settings: &mut Vec<Setting>,
    cells: &[(&'static str, &'static str)],
    pages_per_block: u32,
) {
    settings.extend(cells.iter().map(|(key, value)| (*key, (*value).to_owned())));
    let has = |key, value| settings.iter().any(|(name, own)| *name == key && (own == value || value == "*"));
    let has_page_map = !has("ftl.kind", "*") || has("ftl.kind", "dftl");
    if has("ageing.spread", "0.9") && has_page_map {
        settings.push(("ageing.retire", "2".to_owned()));
        settings.extend(pages_per_block.is_multiple_of(2).then(|| ("ageing.max_retired", "2".to_owned())));
    }
}

/// Settings of cells, where they fit: others take their place.
pub(super) fn of_cells(
    settings: &mut Vec<Setting>,
    cells: &[(&'static str, &str)],
    (pages_per_block, mapped): (u32, u64),
    ftl: &str,
) {
    let has = |key| cells.iter().any(|(name, _)| *name == key);
    let types = if has("nand.page_order") || has("nand.programs") { 6 } else { 1 };
    if !pages_per_block.is_multiple_of(types) || has("nand.programs") && !matches!(ftl, "page" | "dftl") {
        return;
    }
    // A block in SLC mode holds a mapping unit.
    if has("slc.kind") && (!matches!(ftl, "page" | "dftl") || mapped > 1 || pages_per_block < 3) {
        return;
    }
    settings.retain(|(key, _)| !(has(key) || *key == "gc.copyback" && has("nand.programs")));
    settings.extend(cells.iter().map(|(key, value)| (*key, (*value).to_owned())));
}
