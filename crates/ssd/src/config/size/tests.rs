//! The drive is what was asked for, to a block, and a drive that can't be says what would work.

use proptest::prelude::*;

use super::super::layers::{Layer, resolve};
use super::super::presets::Preset;
use super::super::{Config, Share};
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::quantity::round_to_u64;

fn layer(settings: &[(&str, &str)]) -> Layer {
    Layer::from_assignments("--set", settings.iter().copied())
}

fn drive(layers: &[&[(&str, &str)]]) -> Result<(Config, Geometry), ConfigError> {
    let layers: Vec<_> = layers.iter().map(|settings| layer(settings)).collect();
    let config = resolve(&layers)?;
    let geometry = Geometry::new(&config)?;
    Ok((config, geometry))
}

fn refusal(layers: &[&[(&str, &str)]]) -> String {
    drive(layers).expect_err("must be refused").to_string()
}

/// Counts, page mapping or a log, planes bound or channels synchronized.
fn shapes() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let kinds = prop::sample::select(vec!["page", "dftl", "log-block", "fast", "bast", "kast", "direct"]);
    let counts = (1..6u32, 1..3u32, 1..3u32, 1..4u32, 1..40u32, 1..2000u64);
    let joined = (any::<bool>(), any::<bool>(), 1..3u32);
    (counts, kinds, joined).prop_map(|(counts, kind, (bound, synchronized, free_blocks))| {
        let (channels, chips, dies, planes, pages_per_block, pages) = counts;
        let pages = pages * u64::from(channels * chips * dies * planes);
        let mut settings = vec![
            ("channels", channels.to_string()),
            ("chips", chips.to_string()),
            ("dies", dies.to_string()),
            ("planes", planes.to_string()),
            ("page", "512".into()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (pages * 512).to_string()),
            ("ftl.kind", kind.into()),
        ];
        if bound && planes > 1 {
            settings.push(("planes_bound", "true".into()));
        }
        if synchronized && channels > 1 {
            settings.push(("units", "synchronized".into()));
        }
        if kind == "page" || kind == "dftl" {
            settings.push(("gc.free_blocks", free_blocks.to_string()));
        }
        settings
    })
}

fn of(settings: &[(&'static str, String)], more: &[(&str, &str)]) -> Result<(Config, Geometry), ConfigError> {
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    drive(&[&settings, more])
}

/// The number behind "KEY of at least " in a message.
fn advised(message: &str, key: &str) -> f64 {
    let after = message.split(&format!("{key} of at least ")).nth(1).unwrap_or_else(|| panic!("{message}"));
    let number: String = after.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect();
    number.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("{message}"))
}

fn check(geometry: &Geometry) {
    let units = geometry.units();
    let blocks: Vec<u64> = (0..units).map(|unit| geometry.unit_blocks(unit)).collect();
    assert_eq!(blocks.iter().sum::<u64>(), geometry.blocks);
    let (least, most) = (*blocks.iter().min().expect("units"), *blocks.iter().max().expect("units"));
    assert!(most - least <= 1, "{blocks:?}");
    assert_eq!((least, most), (geometry.min_unit_blocks(), geometry.max_unit_blocks()));
    if geometry.maps_blocks {
        let logs = (0..units).map(|unit| geometry.unit_log_blocks(unit));
        assert!(logs.min().expect("units") >= 3);
    }
    // Spare blocks that do not divide evenly go to the channels in turn.
    let more = |channel: u32| {
        (0..units)
            .filter(|unit| geometry.channel_of(*unit) == channel && blocks[*unit as usize] > least)
            .count()
    };
    let more: Vec<usize> = (0..geometry.channels).map(more).collect();
    assert!(more.iter().max().expect("channels") - more.iter().min().expect("channels") <= 1, "{blocks:?}");
}

#[test]
fn an_advised_share_between_two_numbers_of_blocks_works() {
    // 5 / 27 blocks of data x 2.7 is half a block: nothing, once rounded.
    let settings = [("page", "512"), ("pages_per_block", "27"), ("capacity", "2560")];
    let one = [("channels", "1"), ("chips", "1"), ("dies", "1"), ("planes", "1")];
    let on = |share: &str| {
        let all = settings.iter().chain(&one).copied().chain([("op_ratio", share)]);
        resolve(&[Layer::from_assignments("--set", all)]).and_then(|config| Geometry::new(&config))
    };
    let message = on("0").expect_err("too little").to_string();
    assert!(message.ends_with("use op_ratio of at least 1.7001"), "{message}");
    assert!(on("1.7001").is_ok() && on("1.6999").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_total_is_what_was_asked_to_a_block_and_units_differ_by_one(
        settings in shapes(),
        is_raw in any::<bool>(),
        thousandths in 0..950u32,
    ) {
        let share = f64::from(thousandths) / 1000.0;
        let key = if is_raw { "op_raw" } else { "op_ratio" };
        match of(&settings, &[(key, &share.to_string())]) {
            Ok((config, geometry)) => {
                check(&geometry);
                let uncounted = geometry.unit_uncounted_blocks * u64::from(geometry.units());
                let data = geometry.logical_pages as f64 / f64::from(geometry.pages_per_block);
                let asked =
                    if is_raw { data / (1.0 - share) } else { data * (1.0 + share) + uncounted as f64 };
                prop_assert!((geometry.blocks as f64 - asked).abs() <= 0.5 + 1e-6, "{} {asked}", geometry.blocks);
                // The complete configuration is the same drive.
                let table = super::super::layers::to_value(&config);
                let again = resolve(&[Layer::from_table("result", &table).expect("a table")]);
                prop_assert_eq!(again.expect("legal"), config);
            }
            Err(error) => {
                let message = error.to_string();
                let most = if is_raw { "0.99" } else { "100" };
                if message.contains(&format!("as no {key} up to {most} is enough")) {
                    prop_assert!(of(&settings, &[(key, most)]).is_err(), "{message}");
                    return Ok(());
                }
                let least = advised(&message, key);
                prop_assert!(least > share, "{message}");
                let now = of(&settings, &[(key, &least.to_string())]);
                prop_assert!(now.is_ok(), "{message} {now:?}");
                let less = (least - 2e-4).max(share);
                prop_assert!(of(&settings, &[(key, &less.to_string())]).is_err(), "{message}");
            }
        }
    }

    #[test]
    fn blocks_that_are_given_are_built(settings in shapes(), blocks in 1..300u32, thousandths in 0..950u32) {
        let share = (f64::from(thousandths) / 1000.0).to_string();
        let blocks_text = blocks.to_string();
        for key in ["op_ratio", "op_raw"] {
            match of(&settings, &[("blocks_per_unit", &blocks_text), (key, &share)]) {
                Ok((config, geometry)) => {
                    check(&geometry);
                    prop_assert_eq!(geometry.blocks, u64::from(blocks * geometry.units()));
                    // Pages of a unit are whole, and data blocks where those are mapped.
                    let unit = if geometry.maps_blocks { geometry.pages_per_block } else { 1 };
                    let got = match config.share() {
                        Share::OfLogical(asked) => (geometry.op_ratio() - asked) / (1.0 + geometry.op_ratio()).powi(2),
                        Share::OfRaw(asked) => geometry.op_raw() - asked,
                    };
                    let off = got.abs() * geometry.physical_pages() as f64 / f64::from(geometry.units());
                    prop_assert!(off <= 1.5 * f64::from(unit) + 1e-6, "{off} pages of a unit");
                }
                Err(error) => {
                    let message = error.to_string();
                    if message.contains("blocks_per_unit of at least") || !message.contains("of at least") {
                        continue;
                    }
                    let least = advised(&message, key);
                    let now = of(&settings, &[("blocks_per_unit", &blocks_text), (key, &least.to_string())]);
                    prop_assert!(now.is_ok(), "{message} {now:?}");
                    // A map on flash is smaller where the drive is.
                    if settings.contains(&("ftl.kind", "dftl".into())) || least < 2e-4 {
                        continue;
                    }
                    let less = (least - 2e-4).to_string();
                    let less = of(&settings, &[("blocks_per_unit", &blocks_text), (key, &less)]);
                    prop_assert!(less.is_err(), "{message}: less works");
                }
            }
        }
    }
}

#[test]
fn of_the_keys_that_were_given_the_smallest_change_is_advised() {
    let log =
        [("ftl.kind", "fast"), ("blocks_per_unit", "13"), ("pages_per_block", "128"), ("channels", "8")];
    // 11 blocks of data and log. 8 of data leave 3: the nearest to 11 / 1.2942 = 8.4995.
    let message = refusal(&[&[&log[..], &[("op_ratio", "0.05")]].concat()]);
    assert!(
        message.starts_with("blocks_per_unit = 13, op_ratio = 0.05, ftl.kind maps blocks: 8 of"),
        "{message}"
    );
    assert!(
        message.ends_with("use op_ratio of at least 0.2942 or capacity of at most 32MiB with these blocks"),
        "{message}"
    );
    assert!(drive(&[&[&log[..], &[("op_ratio", "0.2942")]].concat()]).is_ok());
    assert!(drive(&[&[&log[..], &[("op_ratio", "0.294")]].concat()]).is_err());
    // Capacity and blocks were given: nobody asked for an op_ratio.
    let message = refusal(&[&[&log[..], &[("capacity", "40MiB")]].concat()]);
    assert!(
        message.starts_with("blocks_per_unit = 13, capacity = 40MiB, ftl.kind maps blocks: 8 of"),
        "{message}"
    );
    let advice =
        "use capacity of at most 32MiB with these blocks, or op_ratio of at least 0.2942 instead of it";
    assert!(message.ends_with(advice), "{message}");
    assert!(drive(&[&[&log[..], &[("capacity", "32MiB")]].concat()]).is_ok());
}

#[test]
fn a_drive_with_more_spare_than_may_be_asked_for_is_made_again_from_its_configuration() {
    let given = [("capacity", "64MiB"), ("blocks_per_unit", "5000")];
    let (config, geometry) = drive(&[&given]).expect("a drive");
    assert!(config.op_ratio >= 100.0 && geometry.op_ratio() > 300.0);
    let table = crate::config::layers::to_value(&config);
    let again = resolve(&[Layer::from_table("result", &table).expect("a table")]).expect("the same drive");
    assert_eq!(again, config);
    // Any other share disagrees.
    assert!(refusal(&[&[given[0], given[1], ("op_ratio", "99")]]).contains("give two of the three"));
}

#[test]
fn shares_of_a_small_drive_are_different_drives() {
    let blocks = |share: &str| {
        let (_, geometry) = drive(&[&[("capacity", "256MiB"), ("op_ratio", share)]]).expect("legal");
        geometry.blocks - 8
    };
    assert_eq!(["0.05", "0.1", "0.15", "0.2", "0.25", "0.3"].map(blocks), [538, 563, 589, 614, 640, 666]);
}

#[test]
fn extra_blocks_go_to_the_first_unit_of_each_channel_and_then_to_the_next() {
    let shape =
        [("channels", "2"), ("dies", "2"), ("planes", "2"), ("pages_per_block", "4"), ("page", "512")];
    // 80 data blocks, a reserve of 8, and 11 more: three units have two.
    let (_, geometry) = drive(&[&shape, &[("capacity", "163840"), ("op_ratio", "0.1375")]]).expect("legal");
    let blocks: Vec<_> = (0..8).map(|unit| geometry.unit_blocks(unit)).collect();
    assert_eq!(blocks, [13, 12, 13, 12, 13, 12, 12, 12]);
}

#[test]
fn a_higher_layer_is_obeyed_and_what_it_overrides_follows() {
    let preset = Preset::find("mqsim-mlc").expect("there").layer().expect("a layer");
    let over = |settings: &[(&str, &str)]| {
        let config = resolve(&[preset.clone(), layer(settings)]).expect("legal");
        let geometry = Geometry::new(&config).expect("legal");
        let share = (geometry.op_raw() * 1e3).round() / 1e3;
        (geometry.blocks / u64::from(geometry.units()), share, config.op_raw.0.is_some())
    };
    assert_eq!(over(&[]), (2048, 0.07, true));
    // Half the channels are half the drive.
    assert_eq!(over(&[("channels", "4")]), (2048, 0.07, true));
    assert_eq!(over(&[("capacity", "47616MiB")]), (200, 0.07, true));
    assert_eq!(over(&[("op_raw", "0.1")]), (2048, 0.1, true));
    let (blocks, share, is_raw) = over(&[("op_ratio", "0.25")]);
    assert!(blocks == 2048 && (share - 0.2).abs() < 0.001 && !is_raw);
    assert_eq!(over(&[("blocks_per_unit", "1024")]), (1024, 0.07, true));
    assert_eq!(over(&[("blocks_per_unit", "1024"), ("op_raw", "0.5")]), (1024, 0.5, true));
    assert_eq!(over(&[("blocks_per_unit", "1024"), ("capacity", "128GiB")]), (1024, 0.5, false));
    assert_eq!(over(&[("blocks_per_unit", "auto")]), (2048, 0.07, true));
}

#[test]
fn what_disagrees_is_refused_in_one_line() {
    let shape = [("capacity", "1GiB"), ("blocks_per_unit", "512"), ("op_raw", "0.25")];
    assert_eq!(
        refusal(&[&shape]),
        "--set: capacity = 1GiB, blocks_per_unit = 512, op_raw = 0.25: 8 units of 512 blocks with this op_raw have a \
         capacity of 1536MiB: give two of the three"
    );
    assert!(drive(&[&[("capacity", "1536MiB")], &shape[1..]]).is_ok());
    assert!(drive(&[&[("capacity", "1536MiB"), ("blocks_per_unit", "512"), ("op_raw", "0.25")]]).is_ok());
    let shares = refusal(&[&[("capacity", "1GiB"), ("op_ratio", "0.25"), ("op_raw", "0.25")]]);
    assert!(
        shares.starts_with("--set: op_ratio = 0.25, op_raw = 0.25: with this op_raw op_ratio is 0.3"),
        "{shares}"
    );
    assert!(shares.ends_with("give one of the two"), "{shares}");
    let message = refusal(&[&[("op_raw", "1")]]);
    assert!(message.contains("`op_raw` = 1: expected 0 to 0.99, or auto"), "{message}");
    let message = refusal(&[&[("blocks_per_unit", "many")]]);
    assert!(message.ends_with("expected a whole number of at most 32 bits, or \"auto\""), "{message}");
    let message = refusal(&[&[("op_raw", "much")]]);
    assert!(message.ends_with("expected a number, or \"auto\""), "{message}");
}

#[test]
fn capacity_and_blocks_stay_as_given_where_a_share_agrees_within_a_block() {
    let one =
        [("channels", "1"), ("pages_per_block", "1024"), ("blocks_per_unit", "18"), ("op_ratio", "0.12")];
    let given = [&one[..], &[("capacity", "64MiB")]].concat();
    let (config, geometry) = drive(&[&given]).expect("a drive");
    assert_eq!((config.capacity.0 >> 20, geometry.blocks, config.op_ratio), (64, 18, 0.12));
    assert_eq!(geometry.logical_pages, 16_384);
    // Of two the third follows.
    assert_eq!(drive(&[&one]).expect("a drive").1.logical_pages, 15_543);
    // A layer above that has nothing to do with it changes nothing; one that does, makes capacity follow.
    assert_eq!(
        drive(&[&given, &[("sched.kind", "read-first")]]).expect("a drive").0.capacity,
        config.capacity
    );
    assert_eq!(drive(&[&given, &[("channels", "2")]]).expect("a drive").1.logical_pages, 2 * 15_543);
}

#[test]
fn the_fewest_blocks_that_a_refusal_advises_work_and_fewer_do_not() {
    let small = [("channels", "5"), ("dies", "2"), ("pages_per_block", "4")];
    let map = |more: [(&'static str, &'static str); 2]| {
        [&[("ftl.kind", "dftl"), ("op_ratio", "0.1"), ("blocks_per_unit", "2")][..], &more].concat()
    };
    for given in [
        vec![("capacity", "104857088"), ("ftl.kind", "bast"), ("blocks_per_unit", "3")],
        vec![("op_raw", "0.02"), ("ftl.kind", "kast"), ("blocks_per_unit", "2")],
        vec![("op_ratio", "0.1"), ("ftl.kind", "log-block"), ("blocks_per_unit", "2")],
        vec![("op_raw", "0.25"), ("ftl.kind", "dftl"), ("blocks_per_unit", "2")],
        map([("alloc.kind", "superblock"), ("alloc.parity", "4")]),
        map([("nand.bad_blocks", "0.05"), ("nand.seed", "3")]),
    ] {
        let given = [&small[..], &given].concat();
        let message = refusal(&[&given]);
        let advised = round_to_u64(advised(&message, "blocks_per_unit")) as u32;
        let with = |blocks: u32| {
            let blocks = blocks.to_string();
            let mut settings = given.clone();
            settings
                .iter_mut()
                .filter(|(key, _)| *key == "blocks_per_unit")
                .for_each(|setting| setting.1 = &blocks);
            drive(&[&settings]).map(|_| ())
        };
        assert_eq!(with(advised), Ok(()), "{message}");
        assert!(with(advised - 1).is_err(), "{message}");
    }
}

#[test]
fn blocks_without_a_page_of_data_are_refused_by_the_keys_that_were_given() {
    let message =
        refusal(&[&[("blocks_per_unit", "5"), ("op_raw", "0.9"), ("channels", "1"), ("ftl.kind", "bast")]]);
    assert!(
        message.contains(
            "blocks_per_unit = 5, op_raw = 0.9: these blocks have no page for data: expected more of them"
        ),
        "{message}"
    );
}

#[test]
fn presets_that_copy_a_simulator_have_its_blocks() {
    for (name, blocks, capacity) in [
        ("mqsim-mlc", 2048, 0.93 * 512.0),
        ("ssdsim", 2048, 0.9 * 8.0),
        ("femu", 256, 0.75 * 16.0),
        ("tlc", 256, 0.75 * 16.0),
        ("zhu2017", 2048, 0.9 * 4.0),
    ] {
        let config = Preset::find(name).expect("there").config().expect("legal");
        let geometry = Geometry::new(&config).expect("legal");
        assert_eq!((geometry.min_unit_blocks(), geometry.max_unit_blocks()), (blocks, blocks), "{name}");
        let gib = (geometry.capacity_sectors() * 512) as f64 / f64::from(1 << 30);
        assert!((gib / capacity - 1.0).abs() < 1e-4, "{name}: {gib}");
    }
}
