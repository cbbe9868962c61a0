//! Write amplification of page mapping under uniform random single-page writes, and its relatives.
//!
//! Throughout, `a = T / U` is the number of physical pages a logical page has ([`space_ratio`]), `b` the pages of a
//! block, and the result `A` counts pages programmed for each page that the host writes. `T` leaves out blocks that
//! are held back, and pages that are never valid, such as the erased rest of an open block.

/// `a` of a spare factor `Sf = 1 - U / T`.
pub(crate) fn space_ratio(spare_factor: f64) -> f64 {
    1.0 / (1.0 - spare_factor)
}

/// Principal branch of the Lambert function, `W e^W = x`, for `-1/e <= x`.
///
/// Halley's iteration from the series around the branch point at `-1/e` (Corless et al. 1996, section 4).
pub(crate) fn lambert_w0(x: f64) -> f64 {
    let root = (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt();
    let mut w =
        if x < 1.0 { -1.0 + root - root.powi(2) / 3.0 + 11.0 / 72.0 * root.powi(3) } else { x.ln_1p() };
    for _ in 0..50 {
        let error = w * w.exp() - x;
        let slope = w.exp() * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0);
        if error == 0.0 || slope == 0.0 {
            break;
        }
        w -= error / slope;
    }
    w
}

/// FIFO (oldest block first) victims: `a / (a + W0(-a e^-a))`.
///
/// Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012; Xiang and Kurkoski, "An improved analytic
/// expression for write amplification in NAND flash", ICNC 2012.
pub(crate) fn fifo(a: f64) -> f64 {
    a / (a + lambert_w0(-a * (-a).exp()))
}

/// The space ratio at which FIFO victims amplify by `amplification`: `-A ln(1 - 1/A)`.
pub(crate) fn fifo_space_ratio(amplification: f64) -> f64 {
    -amplification * (-1.0 / amplification).ln_1p()
}

/// Greedy victims (fewest valid pages) with many blocks of `b` pages.
///
/// In the limit of many blocks a victim holds `j` or `j + 1` valid pages; `(b/a)(H_b - H_(j+1) + p/(j+1)) = b - j - 1
/// + p` fixes `j` and the share `p` of the former (cf. Bux and Iliadis, "Performance of greedy garbage collection in
/// flash-based solid-state drives", Performance Evaluation 67, 2010). From `a = H_b` on, victims are empty.
pub(crate) fn greedy(a: f64, b: u32) -> f64 {
    let pages = f64::from(b);
    let mut tail: f64 = (2..=b).map(|k| 1.0 / f64::from(k)).sum();
    if a >= 1.0 + tail {
        return 1.0;
    }
    for j in 0..b - 1 {
        let next = f64::from(j + 1);
        let p = (pages - next - pages / a * tail) / (pages / a / next - 1.0);
        if (0.0..=1.0).contains(&p) {
            return pages / (pages - next + p);
        }
        tail -= 1.0 / (next + 1.0);
    }
    f64::INFINITY
}

/// The emptiest of `d` blocks picked at random, blocks of `b` pages.
///
/// Mean field of Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid
/// state drives", SIGMETRICS 2013. With `S_j` the share of blocks that hold at least `j` valid pages,
/// `j m (S_j - S_(j+1)) + S_j^d = 1`, and `sum S_j = b/a` fixes `m`; `A = a/m`.
pub(crate) fn d_choices(a: f64, b: u32, d: u32) -> f64 {
    let valid = f64::from(b) / a;
    // The sum falls as m grows, from b at m = 0.
    let m = bisect(0.0, 1e3, |m| valid_pages(m, b, d) - valid);
    a / m
}

/// Mean valid pages of a block in Van Houdt's mean field, for a given `m`.
fn valid_pages(m: f64, b: u32, d: u32) -> f64 {
    let mut above = 0.0;
    let mut sum = 0.0;
    for j in (1..=b).rev() {
        let rate = f64::from(j) * m;
        above = bisect(1.0, above, |s| rate * (s - above) + s.powf(f64::from(d)) - 1.0);
        sum += above;
    }
    sum
}

/// Random victims: `1 / Sf`, whatever the block size.
pub(crate) fn random(a: f64) -> f64 {
    a / (a - 1.0)
}

/// FIFO victims when parts of the data are written at different rates: `parts` holds for each its share of the
/// writes and its share of the data. One write frontier mixes them: `A = sum r_k / (1 - exp(-r_k a / (A f_k)))`.
///
/// Desnoyers 2012, section 5.
pub(crate) fn fifo_mixed(a: f64, parts: &[(f64, f64)]) -> f64 {
    let programs = |amplification: f64| -> f64 {
        parts.iter().map(|(writes, data)| -writes / (-writes * a / (amplification * data)).exp_m1()).sum()
    };
    bisect(1e9, 1.0, |amplification| amplification - programs(amplification))
}

/// The space ratio that counts when a share `trims` of all requests discards a mapped page and the rest overwrite
/// uniformly: the part of the logical pages in use is `s = (1 - 2q) / (1 - q)`, so `a / s`.
///
/// Frankie, Hughes and Kreutz-Delgado, "A mathematical model of the trim command in NAND-flash SSDs", ACM-SE 2012.
pub(crate) fn space_ratio_with_trim(a: f64, trims: f64) -> f64 {
    a * (1.0 - trims) / (1.0 - 2.0 * trims)
}

/// Space ratio of a drive as built: `reserved_blocks` are kept back by the collector, so they hold no data, and a
/// second open block (a frontier of its own for collected pages) takes half a block more.
pub(crate) fn effective_space_ratio(
    logical_pages: u64,
    physical_pages: u64,
    reserved_blocks: u64,
    pages_per_block: u64,
) -> f64 {
    (physical_pages - reserved_blocks * pages_per_block) as f64 / logical_pages as f64
}

/// The point between `positive`, where `f` is positive, and `negative`, where it is not, at which it changes sign.
fn bisect(positive: f64, negative: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut inside, mut outside) = (positive, negative);
    for _ in 0..100 {
        let middle = f64::midpoint(inside, outside);
        let end = if f(middle) > 0.0 { &mut inside } else { &mut outside };
        *end = middle;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::super::assert_printed;
    use super::*;

    /// Sf, FIFO, greedy with b = 64, 128, 256, two and ten choices with b = 64.
    const PRINTED: [[f64; 7]; 5] = [
        [0.05, 10.1724, 8.8501, 9.4605, 9.7979, 13.2662, 9.2842],
        [0.07, 7.3177, 6.6155, 6.9450, 7.1240, 9.6354, 6.8939],
        [0.10, 5.1787, 4.8213, 4.9922, 5.0832, 6.8516, 5.0002],
        [0.20, 2.6927, 2.5993, 2.6449, 2.6684, 3.5330, 2.6754],
        [0.28, 1.9916, 1.9425, 1.9667, 1.9791, 2.5732, 1.9932],
    ];

    #[test]
    fn every_printed_amplification_of_uniform_writes() {
        for [spare, printed_fifo, greedy_64, greedy_128, greedy_256, two, ten] in PRINTED {
            let a = space_ratio(spare);
            assert_printed(fifo(a), printed_fifo, 4);
            assert_printed(greedy(a, 64), greedy_64, 4);
            assert_printed(greedy(a, 128), greedy_128, 4);
            assert_printed(greedy(a, 256), greedy_256, 4);
            assert_printed(d_choices(a, 64, 2), two, 4);
            assert_printed(d_choices(a, 64, 10), ten, 4);
        }
        for (spare, printed) in [(0.05, 20.0), (0.07, 14.286), (0.10, 10.0), (0.20, 5.0), (0.28, 3.571)] {
            assert_printed(random(space_ratio(spare)), printed, 3);
        }
    }

    #[test]
    fn every_printed_amplification_of_hot_and_cold_writes() {
        for (hot, printed) in [(0.80, 5.5377), (0.90, 6.1676), (0.95, 7.0733)] {
            let parts = [(hot, 1.0 - hot), (1.0 - hot, hot)];
            assert_printed(fifo_mixed(space_ratio(0.10), &parts), printed, 4);
        }
    }

    #[test]
    fn held_back_blocks_count() {
        let (blocks, b) = (512, 64);
        let logical = 30_474; // 7% spare of 512 blocks of 64 pages
        assert_printed(greedy(effective_space_ratio(logical, blocks * b, 0, b), 64), 6.61, 1);
        assert_printed(greedy(effective_space_ratio(logical, blocks * b, 8, b), 64), 8.11, 2);
    }

    #[test]
    fn the_lambert_function_inverts_w_exp_w() {
        assert_printed(lambert_w0(1.0), 0.567_143_290_4, 10);
        assert_printed(lambert_w0(0.0), 0.0, 12);
        assert_printed(lambert_w0(-1.0 / std::f64::consts::E), -1.0, 7);
        for w in [-0.999, -0.9, -0.5, -0.1, 0.01, 0.5, 2.0, 10.0] {
            assert_printed(lambert_w0(f64::exp(w) * w), w, 9);
        }
    }

    #[test]
    fn limits_and_inverses_agree() {
        for spare in [0.01, 0.05, 0.1, 0.3, 0.5, 0.7] {
            let a = space_ratio(spare);
            assert_printed(fifo_space_ratio(fifo(a)), a, 9);
            assert_printed(d_choices(a, 64, 1), random(a), 6);
            // Parts that are written alike are no parts.
            assert_printed(fifo_mixed(a, &[(0.3, 0.3), (0.7, 0.7)]), fifo(a), 6);
            // Blocks of very many pages leave greedy nothing to choose: it tends to FIFO, from below.
            assert!(greedy(a, 64) < fifo(a) && greedy(a, 100_000) < fifo(a), "{a}");
            assert!((greedy(a, 100_000) / fifo(a) - 1.0).abs() < 1e-3);
            // More choices are better, and greedy is all of them.
            assert!(d_choices(a, 64, 10) < d_choices(a, 64, 2) && greedy(a, 64) < d_choices(a, 64, 10));
        }
        assert_printed(greedy(10.0, 64), 1.0, 12);
        assert_printed(space_ratio_with_trim(1.1, 0.0), 1.1, 12);
        assert_printed(space_ratio_with_trim(1.1, 0.25), 1.1 * 1.5, 12);
    }
}
