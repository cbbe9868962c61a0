//! Amplification of a chain of groups.
//!
//! Let S(a) be the share of written pages that are not written again within `a` further writes (the paper's *update
//! interval distribution*), as the product over ages of the shares that survive each: of the pages that reached that
//! age, whenever they were written. (The paper measures it on one page in a hundred, which misses the hottest pages of
//! a skewed workload.)
//!
//! A page enters group i + 1 at rate S(A_i) for each page that the host writes, A_i being the age at which it leaves
//! group i; a group of `s` pages whose pages enter at rate r keeps each for s / r writes, so A_i = A_(i-1) + s_i /
//! S(A_(i-1)). The valid part of group i is the integral of S from A_(i-1) to A_i. The last group has what is valid
//! elsewhere on u of its space; collected as a queue it relocates the share v with u = (1 - v) / -ln v, and so programs
//! S(A_(n-1)) / (1 - v) pages for each page of the host. Amplification is the sum of the rates.

/// Intervals are counted in this many parts of as many writes as the map has pages, up to `SPAN` times that.
pub(super) const PARTS: u64 = 64;
pub(super) const SPAN: u64 = 4;
/// Sizes that are tried: multiples of this share of all blocks.
pub(super) const STEPS: u32 = 64;

/// The bin of an age in units of the map's pages.
#[expect(clippy::cast_sign_loss, reason = "ages are not negative")]
fn part(age: f64) -> usize {
    (age * PARTS as f64) as usize
}

/// The model, in units of the map's pages.
pub(super) struct Model {
    /// S(a) at a = 0, 1 / [`PARTS`], ...; constant behind the end.
    survives: Vec<f64>,
    /// Pages that were written, and pages of full blocks.
    live: f64,
    space: f64,
}

impl Model {
    pub(super) fn new(ends: &[u64], reached: &[u64], [live, space]: [f64; 2]) -> Self {
        let mut share = 1.0;
        let after = ends.iter().zip(reached).map(|(ends, reached)| {
            share *= 1.0 - *ends as f64 / (*reached).max(*ends).max(1) as f64;
            share
        });
        Self { survives: std::iter::once(1.0).chain(after).collect(), live, space }
    }

    pub(super) fn survives(&self, age: f64) -> f64 {
        self.survives[part(age).min(self.survives.len() - 1)]
    }

    /// The integral of S between two ages.
    fn valid(&self, from: f64, to: f64) -> f64 {
        let (mut sum, mut age) = (0.0, from);
        while age < to {
            let next = ((part(age) + 1) as f64 / PARTS as f64).min(to);
            if age >= SPAN as f64 {
                return sum + self.survives(age) * (to - age);
            }
            sum += self.survives(age) * (next - age);
            age = next;
        }
        sum
    }

    /// The ages at which pages leave each group but the last.
    fn ages(&self, sizes: &[u32]) -> Vec<f64> {
        let mut age = 0.0;
        let leaves = sizes.iter().map(|size| {
            let pages = self.space * f64::from(*size) / f64::from(STEPS);
            age += pages / self.survives(age).max(1e-6);
            age
        });
        leaves.collect()
    }

    /// The share of its pages that each group but the last relocates.
    pub(super) fn relocates(&self, sizes: &[u32]) -> Vec<f64> {
        let mut before = 0.0;
        let shares = self.ages(sizes).into_iter().map(|age| {
            let share = self.survives(age) / self.survives(before).max(1e-6);
            before = age;
            share
        });
        shares.collect()
    }

    /// Amplification with these groups; `None` where the last one has no room for what is left.
    fn amplification(&self, sizes: &[u32]) -> Option<f64> {
        let taken = sizes.iter().sum::<u32>();
        let ages = self.ages(sizes);
        let rate = ages.last().map_or(1.0, |age| self.survives(*age));
        let valid = self.live - ages.last().map_or(0.0, |age| self.valid(0.0, *age));
        let space = self.space * f64::from(STEPS.checked_sub(taken)?) / f64::from(STEPS);
        let used = valid.max(0.0) / space;
        let before: f64 = [0.0].iter().chain(&ages).take(sizes.len()).map(|age| self.survives(*age)).sum();
        (used < 0.995).then(|| before + rate / (1.0 - relocated(used)))
    }

    /// The best sizes of at most so many groups, and their amplification.
    pub(super) fn best(&self, groups: usize) -> (Vec<u32>, f64) {
        let mut best = (Vec::new(), self.amplification(&[]).unwrap_or(f64::INFINITY));
        while best.0.len() + 1 < groups {
            let mut sizes = best.0.clone();
            sizes.push(0);
            if !self.improve(&mut best, &mut sizes, best_of_last) {
                break;
            }
        }
        for at in 0..best.0.len() {
            let mut sizes = best.0.clone();
            self.improve(&mut best, &mut sizes, |_| at);
        }
        best
    }

    /// Tries all sizes of one group. Returns whether one is better than the best.
    fn improve(
        &self,
        best: &mut (Vec<u32>, f64),
        sizes: &mut [u32],
        which: impl Fn(&[u32]) -> usize,
    ) -> bool {
        let at = which(sizes);
        let before = best.1;
        for size in 1..STEPS {
            sizes[at] = size;
            if let Some(amplification) = self.amplification(sizes)
                && amplification < best.1 - 1e-9
            {
                *best = (sizes.to_vec(), amplification);
            }
        }
        best.1 < before
    }
}

fn best_of_last(sizes: &[u32]) -> usize {
    sizes.len() - 1
}

/// The share v of valid pages in the victims of a queue whose space is used to u: u = (1 - v) / -ln v (Menon 1995).
fn relocated(used: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 - 1e-6);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if (1.0 - middle) / minus_ln(middle) < used {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// -ln x for 0 < x < 1, in additions and divisions alone: the same on all machines.
fn minus_ln(x: f64) -> f64 {
    if x < 0.5 {
        return std::f64::consts::LN_2 + minus_ln(x.max(1e-300) * 2.0);
    }
    let ratio = (1.0 - x) / (1.0 + x);
    let (mut sum, mut power) = (0.0, ratio);
    for odd in (1..40).step_by(2) {
        sum += power / f64::from(odd);
        power *= ratio * ratio;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins of ages.
    const BINS: usize = (PARTS * SPAN) as usize;

    #[test]
    fn logarithms_are_those_of_the_library() {
        for x in [1e-9, 0.01, 0.3, 0.5, 0.7, 0.999] {
            assert!((minus_ln(x) + f64::ln(x)).abs() < 1e-9, "{x}");
        }
    }

    /// For uniform writes with u = 0.8 a queue relocates 0.6286: (1 - v) / -ln v = 0.8.
    #[test]
    fn a_queue_relocates_the_closed_form() {
        let v = relocated(0.8);
        assert!(((1.0 - v) / -f64::ln(v) - 0.8).abs() < 1e-6, "{v}");
    }

    /// Uniform writes gain nothing by age: a chain of two queues is one queue. Hot and cold pages gain.
    #[test]
    fn groups_gain_where_ages_tell_pages_apart() {
        let one = Model::new(&[1; BINS], &[PARTS; BINS], [1.0, 1.25]);
        let alone = one.amplification(&[]).expect("room");
        let (_, chained) = one.best(8);
        assert!(chained > alone * 0.97, "{alone} {chained}");

        // Nine of ten writes are to pages that are written again after a sixteenth of the map; the others are not.
        let mut ends = vec![0; BINS];
        ends[4] = 900;
        let mut reached = vec![100; BINS];
        reached[..5].fill(1000);
        let two = Model::new(&ends, &reached, [1.0, 1.25]);
        let (sizes, chained) = two.best(8);
        assert!(!sizes.is_empty() && chained < 1.3, "{sizes:?} {chained}");
    }
}
