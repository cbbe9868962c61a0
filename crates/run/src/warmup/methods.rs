//! Detection of warm-up: pure functions from a series of observations to the number of them to remove.

/// Observations in a batch of MSER-5.
pub(super) const BATCH: usize = 5;
/// Batches below which MSER-5 does not look for a truncation.
const FEWEST_BATCHES: usize = 10;
/// Batches that MSER-5 leaves at the end whatever they are: those that are close in value by chance would look best.
const LAST_BATCHES: usize = 5;
/// Rounds of a measurement window of the steady-state rule.
pub const WINDOW_ROUNDS: usize = 5;
/// The most that the rounds of a steady window may range over, as a share of their mean.
const RANGE: f64 = 0.20;
/// The most that the line fitted to them may rise or fall within the window, as a share of their mean.
const SLOPE: f64 = 0.10;

/// Number of observations to remove by MSER-5 (White, Cobb and Spratt 2000), in whole batches. Observations at the end
/// that do not fill a batch are ignored.
///
/// With the means Y of n batches of 5, it removes the d batches that minimise the marginal standard error
/// sum_{i>d} (Y_i - mean)^2 / (n - d)^2. `None` where there are fewer than 10 batches, or the minimum lies in the second
/// half: the series is then too short, or never settles. The last 5 batches always stay, as in Hoad, Robinson and Davies
/// (2010).
pub(super) fn mser5(observations: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        observations.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < FEWEST_BATCHES {
        return None;
    }
    let (mut removed, mut least) = (0, f64::INFINITY);
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    // From the end, so that one pass gives mean and squared deviations of every rest (Welford 1962).
    for (start, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let deviation = batch - mean;
        mean += deviation / count;
        squares += deviation * (batch - mean);
        let error = squares / (count * count);
        if start + LAST_BATCHES <= batches.len() && error <= least {
            (removed, least) = (start, error);
        }
    }
    (removed * 2 <= batches.len()).then_some(removed * BATCH)
}

/// Number of rounds before the first window of 5 that is steady by the rule of the SNIA's Solid State Storage
/// Performance Test Specification: rates within 20% of their mean from lowest to highest, and on a fitted line within
/// 10%. `None` where there is none.
pub fn steady(rates: &[f64]) -> Option<usize> {
    rates.windows(WINDOW_ROUNDS).position(|window| {
        let rounds = WINDOW_ROUNDS as f64;
        let mean = window.iter().sum::<f64>() / rounds;
        let middle = (rounds - 1.0) / 2.0;
        let (mut across, mut along) = (0.0, 0.0);
        for (round, rate) in window.iter().enumerate() {
            let x = round as f64 - middle;
            across += x * (rate - mean);
            along += x * x;
        }
        let excursion = (across / along).abs() * (rounds - 1.0);
        let highest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = window.iter().copied().fold(f64::INFINITY, f64::min);
        // False for rates that are no numbers.
        mean.is_finite() && highest - lowest <= RANGE * mean && excursion <= SLOPE * mean
    })
}

#[cfg(test)]
mod tests;
