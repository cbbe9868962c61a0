//! Bounds of groups that part pages of unlike predictions.

/// Divides classes into at most so many groups, so that the squares of the distances of pages from the mean of their group have
/// the smallest sum (Fisher 1958). Returns the first class of each group but that of class 0.
pub(super) fn closest(pages: &[u64], groups: usize) -> Vec<usize> {
    let classes = pages.len();
    let mut sums = vec![[0.0; 3]];
    for (class, pages) in pages.iter().enumerate() {
        let (class, pages, [zeroth, first, second]) = (class as f64, *pages as f64, sums[sums.len() - 1]);
        sums.push([zeroth + pages, first + pages * class, second + pages * class * class]);
    }
    let cost = |from: usize, to: usize| {
        let [zeroth, first, second] = [0, 1, 2].map(|power| sums[to][power] - sums[from][power]);
        if zeroth == 0.0 { 0.0 } else { (second - first * first / zeroth).max(0.0) }
    };
    // By groups and end: the smallest sum, and where the last group begins.
    let mut best = vec![(0..=classes).map(|end| (cost(0, end), 0)).collect::<Vec<(f64, usize)>>()];
    for before in 0..groups.min(classes) - 1 {
        let with_one_more =
            |end: usize| {
                let sum = |from: usize| (best[before][from].0 + cost(from, end), from);
                // An empty group, unless another one is better.
                (0..end).map(sum).fold((best[before][end].0, end), |least, other| {
                    if other.0 < least.0 { other } else { least }
                })
            };
        let next = (0..=classes).map(with_one_more).collect();
        best.push(next);
    }
    let (mut first, mut end) = (Vec::new(), classes);
    for sums in best.iter().rev() {
        let from = sums[end].1;
        if from > 0 && from < end {
            first.push(from);
        }
        end = from;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_part_what_is_far_apart() {
        let mut pages = vec![0; 12];
        (pages[2], pages[3], pages[10]) = (50, 40, 3);
        assert_eq!(closest(&pages, 2), [4]);
        assert_eq!(closest(&pages, 4), [4, 3], "no more groups than classes with pages");
        assert_eq!(closest(&pages, 1), [0; 0]);
        assert_eq!(closest(&[0; 12], 3), [0; 0]);
    }
}
