//! Steps of pages against the law, worked out anew for each page.

use proptest::prelude::*;

use super::*;
use crate::config::layers::{Layer, resolve};

/// A block as the law alone has it.
#[derive(Clone, Copy, Default)]
struct Plain {
    cycles: u32,
    reads: u32,
    written: Written,
}

/// A step of a block's life: its kind, the time since the last one and a number of pages.
type Event = (u8, u64, u32);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let elapsed = (0..50_u32, 0..1000_u64).prop_map(|(bits, part)| (1 << bits) / 1000 * part + part);
    let pages = prop_oneof![Just(1), 1..70_u32, 1..3000_u32];
    prop::collection::vec((0..40_u8, elapsed, pages), 1..120)
}

fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let number = |key, values: &'static [&'static str]| {
        prop::sample::select(values).prop_map(move |value| (key, value.to_owned()))
    };
    let drive = (
        number("ageing.cell", &["slc", "mlc", "tlc", "qlc"]),
        number("ageing.cycles", &["0", "1", "700", "3000", "9000"]),
        number("ageing.retention", &["0", "1", "90"]),
        number("ageing.pace", &["0", "1", "1000", "1e6", "1e9"]),
        number("ageing.spread", &["0", "0.3", "3"]),
        number("ageing.retries", &["0", "2", "10"]),
        number("ageing.soft_bits", &["auto", "0"]),
        number("ageing.n", &["auto", "0", "0.01", "3", "10"]),
        number("ageing.q", &["auto", "0", "0.01", "2", "10"]),
    );
    let unset = |value: &str| value == "auto";
    drive.prop_map(move |(a, b, c, d, e, f, g, h, i)| {
        [a, b, c, d, e, f, g, h, i].into_iter().filter(|(_, value)| !unset(value)).collect()
    })
}

impl Plain {
    /// Steps of the next page that is read.
    fn steps(&self, ageing: &Ageing, now_ns: u64, (factor, slc): (f64, bool)) -> Steps {
        let law = &ageing.laws[usize::from(slc)];
        let days = match self.written {
            Written::At(time_ns) => now_ns.saturating_sub(time_ns) as f64 * ageing.days_a_ns,
            Written::Before => ageing.days_before + now_ns as f64 * ageing.days_a_ns,
            Written::Nothing => 0.0,
        };
        let reads = f64::from(self.reads) / if law.reads_of_page { ageing.pages_per_block } else { 1.0 };
        let cycles = f64::from(self.cycles) * law.measured_cycles / law.rated_cycles;
        let wear = law.alpha * libm::pow(cycles, law.k);
        let retention = law.beta * libm::pow(cycles, law.m) * libm::pow(days, law.n);
        let disturb = law.gamma * libm::pow(cycles, law.p) * libm::pow(reads, law.q);
        let rate = (law.epsilon + wear + retention + disturb).min(0.5);
        ageing.code.steps(ageing.code.level(rate * factor))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn steps_are_those_of_the_law(settings in settings(), events in events(), slc in any::<bool>()) {
        let assigned = settings.iter().map(|(key, value)| (*key, value.as_str()));
        let base = [("capacity", "256MiB"), ("ageing.kind", "power-law"), ("pages_per_block", "64")];
        let layer = Layer::from_assignments("test", base.into_iter().chain(assigned));
        let config = resolve(&[layer]).expect("a legal drive");
        let geometry = Geometry::new(&config).expect("a legal drive");
        let mut ageing = *Ageing::new(&config, &geometry).expect("blocks age");
        let at = (1, 3);
        let factor = ageing.factors.get(ageing.place(at)).map_or(1.0, |factor| f64::from(*factor));
        let mut plain = Plain { cycles: config.ageing.cycles, ..Plain::default() };
        let mut now_ns = 0;
        for (index, (kind, elapsed_ns, pages)) in events.into_iter().enumerate() {
            now_ns += elapsed_ns;
            match kind {
                0 => {
                    ageing.erased(at);
                    plain = Plain { cycles: plain.cycles + 1, ..Plain::default() };
                }
                1..4 => {
                    let time = (index > 2).then_some(now_ns);
                    ageing.programmed(at, 3 * 64 + pages % 64, time);
                    if plain.written == Written::Nothing {
                        plain.written = time.map_or(Written::Before, Written::At);
                    }
                }
                _ => {
                    let mut left = pages;
                    while left > 0 {
                        let (count, steps) = ageing.read(at, now_ns, slc, left);
                        prop_assert!((1..=left).contains(&count));
                        for _ in 0..count {
                            let own = plain.steps(&ageing, now_ns, (factor, slc));
                            prop_assert_eq!(own, steps, "after {} reads at {} ns", plain.reads, now_ns);
                            let soft = if own.soft { ageing.soft_reads } else { 0 };
                            plain.reads = plain.reads.saturating_add(1 + own.retries + soft);
                        }
                        left -= count;
                    }
                }
            }
        }
    }
}

#[test]
fn pages_of_one_command_are_looked_at_once() {
    let base = [("capacity", "256MiB"), ("ageing.kind", "power-law"), ("pages_per_block", "64")];
    let config = resolve(&[Layer::from_assignments("test", base)]).expect("a legal drive");
    let geometry = Geometry::new(&config).expect("a legal drive");
    let mut ageing = *Ageing::new(&config, &geometry).expect("blocks age");
    ageing.programmed((0, 2), 2 * 64 + 63, Some(5));
    assert_eq!(ageing.read((0, 2), 9, false, 64), (64, Steps::default()));
    assert_eq!(ageing.blocks[ageing.place((0, 2))].reads, 64);
    assert_eq!((ageing.block_of((0, 191)), ageing.pages_of((0, 2))), ((0, 2), (128, 64)));
}
