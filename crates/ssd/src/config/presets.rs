//! Presets: hardware and its thresholds, never a policy. Each names the source of its numbers.

use super::Config;
use super::layers::{Layer, resolve};
use super::renamed::{self, Kind};
use crate::error::ConfigError;

/// A named device.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// The device file. Its first comment line says what it is and where the numbers are from.
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal) => {
        Preset { name: $name, text: include_str!(concat!("../../presets/", $name, ".toml")) }
    };
}

/// All presets.
pub const PRESETS: [Preset; 23] = [
    preset!("mlc-2006"),
    preset!("slc-2006"),
    preset!("ssdsim"),
    preset!("agrawal-2008"),
    preset!("mqsim-mlc"),
    preset!("femu"),
    preset!("tlc"),
    preset!("970-pro"),
    preset!("enterprise-tlc"),
    preset!("consumer-tlc"),
    preset!("zn540"),
    preset!("z-nand"),
    preset!("qlc"),
    preset!("ufs"),
    preset!("emmc"),
    preset!("sk-hynix-pe8110"),
    preset!("solidigm-d7-p5520"),
    preset!("micron-7450-max"),
    preset!("samsung-pm9a3"),
    preset!("huang2010-mlc"),
    preset!("huang2010-slc"),
    preset!("wen2012"),
    preset!("zhu2017"),
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Description of the preset and sources of its numbers: the comment at the head of its file.
    pub fn source(&self) -> String {
        let comments = self.text.lines().map_while(|line| line.strip_prefix('#'));
        comments.map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// Its settings.
    pub fn layer(&self) -> Result<Layer, ConfigError> {
        Layer::from_text(&format!("preset {}", self.name), self.text)
    }

    /// The drive that it describes.
    pub fn config(&self) -> Result<Config, ConfigError> {
        resolve(&[self.layer()?])
    }
}

/// The error for a device that is neither a preset nor a file.
pub fn unknown(name: &str) -> ConfigError {
    let known = PRESETS.map(|preset| preset.name).join(", ");
    let nearest = PRESETS
        .iter()
        .map(|preset| (strsim::damerau_levenshtein(preset.name, name), preset.name))
        .min()
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, name)| format!("; did you mean {name}?"));
    let renamed = renamed::new_name(Kind::Preset, name).map(|name| format!("; it is now {name}"));
    let hint = renamed.or(nearest).unwrap_or_default();
    ConfigError::UnknownPreset { name: name.into(), known, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::quantity::Nanos;

    #[test]
    fn the_drive_of_zhu2017_has_the_counts_and_times_of_its_tables() {
        let config = Preset::find("zhu2017").expect("there").config().expect("legal");
        let geometry = Geometry::new(&config).expect("legal");
        assert_eq!((geometry.channels, geometry.dies_per_channel(), geometry.planes), (1, 4 * 2, 2));
        assert_eq!((geometry.min_unit_blocks(), geometry.pages_per_block), (2048, 64));
        let timing = &config.timing;
        assert_eq!(
            (&timing.read.0[..], &timing.program.0[..]),
            (&[Nanos(20_000)][..], &[Nanos(200_000)][..])
        );
        assert_eq!((timing.erase, timing.command, timing.bus), (Nanos(3_000_000), Nanos(10_000), 0.0));
        assert!(!timing.multi_plane && !config.planes_bound, "a die runs one command at a time");
    }

    #[test]
    fn presets_of_today_have_no_setting_without_effect() {
        for name in ["970-pro", "enterprise-tlc", "consumer-tlc", "zn540", "z-nand", "qlc", "ufs", "emmc"] {
            let layer = Preset::find(name).expect("there").layer().expect("a layer");
            let (_, noted) = crate::config::layers::resolve_noting(&[layer]).expect("legal");
            assert!(noted.is_empty(), "{name}: {noted:?}");
        }
    }

    #[test]
    fn drives_of_phones_hold_what_their_phones_held() {
        for (name, sectors) in [("ufs", 249_564_520), ("emmc", 61_071_360)] {
            let config = Preset::find(name).expect("there").config().expect("legal");
            let held = Geometry::new(&config).expect("legal").capacity_sectors();
            assert!((sectors..sectors * 11 / 10).contains(&held), "{name}: {held} sectors");
        }
    }

    #[test]
    fn every_preset_is_legal_and_names_its_source() {
        for preset in PRESETS {
            let config = preset.config().unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            Geometry::new(&config).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            assert!(preset.source().contains("Source:"), "{}", preset.name);
        }
        assert_eq!(Preset::find("mlc-2006").expect("there").config().expect("legal"), Config::default());
    }
}
