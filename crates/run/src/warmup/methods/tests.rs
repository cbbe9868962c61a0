use proptest::prelude::*;

use super::*;

/// MSER-5 as the literature writes it down: every truncation on its own, in two passes.
fn plain_mser5(observations: &[f64]) -> Option<usize> {
    let n = observations.len() / 5;
    if n < 10 {
        return None;
    }
    let y: Vec<f64> = (0..n).map(|i| (0..5).map(|j| observations[5 * i + j]).sum::<f64>() / 5.0).collect();
    let error = |d: usize| {
        let rest = &y[d..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / (rest.len() * rest.len()) as f64
    };
    let mut best = 0;
    for d in 1..=n - 5 {
        if error(d) < error(best) {
            best = d;
        }
    }
    (2 * best <= n).then_some(5 * best)
}

/// Noise of mean 0 within +-1, the same always.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn series(seed: u64, length: usize, signal: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut noise = noise(seed);
    (0..length).map(|at| signal(at) + noise()).collect()
}

#[test]
fn a_step_is_cut_where_it_is() {
    for seed in 0..50 {
        for step in [5, 50, 100, 300] {
            let found = mser5(&series(seed, 1000, |at| if at < step { 200.0 } else { 100.0 }));
            assert!(found.is_some_and(|found| (step..=step + 100).contains(&found)), "{step}: {found:?}");
        }
    }
}

#[test]
fn a_decay_is_cut_when_it_has_sunk_into_the_noise() {
    for seed in 0..50 {
        let found =
            mser5(&series(seed, 1000, |at| 100.0 + 50.0 * (-(at as f64) / 60.0).exp())).expect("settles");
        // After 150 observations 4 are left of the 50, after 400 a fifteenth of the noise.
        assert!((150..=420).contains(&found), "{found}");
    }
}

#[test]
fn of_noise_next_to_nothing_is_removed() {
    let found: Vec<usize> = (0..200).filter_map(|seed| mser5(&series(seed, 1000, |_| 100.0))).collect();
    assert!(found.len() >= 195, "{}", found.len());
    let mean = found.iter().sum::<usize>() / found.len();
    assert!(mean < 60, "{mean}");
    assert_eq!(mser5(&[7.25; 999]), Some(0));
}

#[test]
fn what_never_settles_has_no_end_of_its_warm_up() {
    for seed in 0..50 {
        assert_eq!(mser5(&series(seed, 1000, |at| at as f64)), None);
        assert_eq!(mser5(&series(seed, 1000, |at| if at < 600 { 200.0 } else { 100.0 })), None);
    }
}

#[test]
fn fewer_than_ten_batches_are_too_few() {
    let step = |length: usize| series(1, length, |at| if at < 5 { 500.0 } else { 100.0 });
    assert_eq!((mser5(&[]), mser5(&step(49))), (None, None));
    assert_eq!(mser5(&step(50)), Some(5));
}

proptest! {
    #[test]
    fn one_pass_finds_what_two_find(observations in prop::collection::vec(0..1_000_000_000u32, 0..400)) {
        let observations: Vec<f64> = observations.into_iter().map(f64::from).collect();
        prop_assert_eq!(mser5(&observations), plain_mser5(&observations));
    }
}

#[test]
fn a_steady_window_keeps_its_range_and_its_slope() {
    assert_eq!(steady(&[100.0; 5]), Some(0));
    assert_eq!(steady(&[100.0; 4]), None);
    // A range of 20 about a mean of 100, and a level line.
    assert_eq!(steady(&[110.0, 100.0, 100.0, 100.0, 90.0]), None, "falls by 16");
    assert_eq!(steady(&[100.0, 90.0, 110.0, 110.0, 90.0]), Some(0));
    assert_eq!(steady(&[100.0, 89.0, 110.0, 110.0, 91.0]), None, "ranges over 21");
    // A line that rises by exactly 10, and by a little more.
    assert_eq!(steady(&[95.0, 97.5, 100.0, 102.5, 105.0]), Some(0));
    assert_eq!(steady(&[94.9, 97.5, 100.0, 102.5, 105.1]), None);
    assert_eq!(steady(&[f64::INFINITY; 6]), None);
    assert_eq!(steady(&[f64::NAN; 6]), None);
}

#[test]
fn the_first_steady_window_counts() {
    let rates: Vec<f64> =
        (0..25).map(|round| if round < 7 { 400.0 - 40.0 * f64::from(round) } else { 100.0 }).collect();
    assert_eq!(steady(&rates), Some(7));
    let falling: Vec<f64> = (0..25).map(|round| 1000.0 * 0.9_f64.powi(round)).collect();
    assert_eq!(steady(&falling), None);
}
