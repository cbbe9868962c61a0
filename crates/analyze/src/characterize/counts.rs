//! Counts of the requests of one operation: first touch or repeated touch, sequential or random, aligned, small, local
//! or scattered. Counts add up, so windows and segments are sums of counts; shares are quotients of counts.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::series::Join;
use flashweir_trace::SECTOR_BYTES;

/// Sectors of a request that is long: 64 KiB, the length that is called long where transfers are what counts (Yang 2009,
/// section 5.3).
pub(super) const LONG_SECTORS: u64 = (64 << 10) / SECTOR_BYTES;

/// Requests, and the sectors that they have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) sectors: u64,
}

impl Tally {
    #[inline]
    pub(super) fn add(&mut self, sectors: u64) {
        self.requests += 1;
        self.sectors += sectors;
    }

    #[inline]
    pub(super) fn add_if(&mut self, condition: bool, sectors: u64) {
        self.requests += u64::from(condition);
        self.sectors += if condition { sectors } else { 0 };
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { requests: self.requests + other.requests, sectors: self.sectors + other.sectors }
    }

    pub(super) const fn bytes(self) -> u64 {
        self.sectors.saturating_mul(SECTOR_BYTES)
    }
}

/// Properties of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own about a request")]
pub(super) struct Traits {
    /// It touches a sector that an earlier one of its operation touched.
    pub(super) again: bool,
    /// It starts where one of the last ones of its operation ended.
    pub(super) sequential: bool,
    /// It starts and ends at multiples of the alignment.
    pub(super) aligned: bool,
    /// It is as short as what counts as small, or shorter.
    pub(super) small: bool,
    /// It starts less than a chunk away from where one of the last ones ended.
    pub(super) near: bool,
}

/// Counts of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// First and sequential, first and random, again and sequential, again and random.
    classes: [Tally; 4],
    pub(super) aligned: Tally,
    pub(super) small: Tally,
    pub(super) long: Tally,
    /// Random and shorter than what is long, near what came before.
    pub(super) local: Tally,
    /// The same, but far from it.
    pub(super) scattered: Tally,
    /// Sectors that had been touched before.
    pub(super) covered: u64,
}

impl Counts {
    #[inline]
    pub(super) fn observe(&mut self, traits: Traits, sectors: u64, covered: u64) {
        self.classes[usize::from(traits.again) * 2 + usize::from(!traits.sequential)].add(sectors);
        self.aligned.add_if(traits.aligned, sectors);
        self.small.add_if(traits.small, sectors);
        let long = sectors >= LONG_SECTORS;
        self.long.add_if(long, sectors);
        let hard = !traits.sequential && !long;
        self.local.add_if(hard && traits.near, sectors);
        self.scattered.add_if(hard && !traits.near, sectors);
        self.covered += covered;
    }

    pub(super) fn all(&self) -> Tally {
        self.classes.iter().fold(Tally::default(), |sum, class| sum.plus(*class))
    }

    pub(super) fn sequential(&self) -> Tally {
        self.classes[0].plus(self.classes[2])
    }

    pub(super) fn again(&self) -> Tally {
        self.classes[2].plus(self.classes[3])
    }

    /// Its shares, of the bytes and of the requests. `again` says what touching a second time is called.
    pub(super) fn shares(&self, again: &'static str, of_requests: bool) -> Shares {
        let all = self.all();
        let share = |part: Tally| {
            let (part, all) =
                if of_requests { (part.requests, all.requests) } else { (part.sectors, all.sectors) };
            (all > 0).then(|| part as f64 / all as f64)
        };
        let [first_sequential, first_random, again_sequential, again_random] = self.classes.map(share);
        Shares {
            again_name: again,
            sequential: share(self.sequential()),
            again: share(self.again()),
            aligned: share(self.aligned),
            small: share(self.small),
            long: share(self.long),
            local: share(self.local),
            scattered: share(self.scattered),
            first_sequential,
            first_random,
            again_sequential,
            again_random,
        }
    }
}

impl Join for Counts {
    fn join(&mut self, later: &Self) {
        for (sum, class) in self.classes.iter_mut().zip(&later.classes) {
            *sum = sum.plus(*class);
        }
        self.aligned = self.aligned.plus(later.aligned);
        self.small = self.small.plus(later.small);
        self.long = self.long.plus(later.long);
        self.local = self.local.plus(later.local);
        self.scattered = self.scattered.plus(later.scattered);
        self.covered += later.covered;
    }
}

/// Shares from 0 to 1; `None` where there is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Name of a repeated touch: `rewrite` or `reread`.
    again_name: &'static str,
    /// Starting where one of the last K + 1 ended.
    pub sequential: Option<f64>,
    /// Touching anything that was touched before.
    pub again: Option<f64>,
    /// Starting and ending on the alignment.
    pub aligned: Option<f64>,
    /// Small.
    pub small: Option<f64>,
    /// 64 KiB or more.
    pub long: Option<f64>,
    /// Random and not long, near what came before.
    pub local: Option<f64>,
    /// Random and not long, far from what came before.
    pub scattered: Option<f64>,
    /// Touching nothing that was touched before, sequential.
    pub first_sequential: Option<f64>,
    /// Touching nothing that was touched before, random.
    pub first_random: Option<f64>,
    /// Touching again, sequential.
    pub again_sequential: Option<f64>,
    /// Touching again, random.
    pub again_random: Option<f64>,
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(11))?;
        map.serialize_entry("sequential_share", &self.sequential)?;
        map.serialize_entry(&format!("{}_share", self.again_name), &self.again)?;
        map.serialize_entry("aligned_share", &self.aligned)?;
        map.serialize_entry("small_share", &self.small)?;
        map.serialize_entry("long_share", &self.long)?;
        map.serialize_entry("local_share", &self.local)?;
        map.serialize_entry("scattered_share", &self.scattered)?;
        map.serialize_entry("first_sequential_share", &self.first_sequential)?;
        map.serialize_entry("first_random_share", &self.first_random)?;
        map.serialize_entry(&format!("{}_sequential_share", self.again_name), &self.again_sequential)?;
        map.serialize_entry(&format!("{}_random_share", self.again_name), &self.again_random)?;
        map.end()
    }
}
