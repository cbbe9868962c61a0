//! Sections of a configuration: its fields at the top, numbers as well as tables. Reading and writing a few of them costs a
//! fraction of the whole, which matters where many small runs are made.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Config;

/// Plain data as a JSON value.
pub(super) fn value_of(plain: &impl Serialize) -> Value {
    serde_json::to_value(plain).unwrap_or_else(|error| unreachable!("a configuration is plain data: {error}"))
}

/// The section that a dotted key belongs to.
pub(super) fn section_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

macro_rules! sections {
    ($($name:ident),+ $(,)?) => {
        /// One section as a value, if there is one of that name.
        fn section(config: &Config, name: &str) -> Option<Value> {
            match name {
                $(stringify!($name) => Some(value_of(&config.$name)),)+
                _ => None,
            }
        }

        /// Names of the sections that differ from the default.
        #[expect(clippy::float_cmp, reason = "a number is at its default, or it is not")]
        pub(super) fn changed(config: &Config) -> Vec<&'static str> {
            static DEFAULT: OnceLock<Config> = OnceLock::new();
            let default = DEFAULT.get_or_init(Config::default);
            let mut names = Vec::new();
            $(if config.$name != default.$name {
                names.push(stringify!($name));
            })+
            names
        }

        /// Replaces the sections of these names by those of another configuration.
        pub(super) fn replace(config: &mut Config, by: Config, names: &[&str]) {
            let Config { $($name),+ } = by;
            $(if names.contains(&stringify!($name)) {
                config.$name = $name;
            })+
        }
    };
}

sections!(
    channels,
    chips,
    dies,
    planes,
    units,
    planes_bound,
    clock,
    page,
    pages_per_block,
    capacity,
    op_ratio,
    op_raw,
    blocks_per_unit,
    precondition,
    fill,
    engine,
    timing,
    nand,
    energy,
    ftl,
    alloc,
    gc,
    buffer,
    sched,
    host,
    firmware,
    tenants,
    slc,
    trim,
    wear,
    ageing,
    background,
);

/// The sections of these names as a table; names that are none are left out.
pub(super) fn table(config: &Config, names: &[&str]) -> Value {
    let entries = names.iter().filter_map(|name| Some(((*name).to_owned(), section(config, name)?)));
    Value::Object(entries.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::to_value;
    use crate::gc::Kept;

    #[test]
    fn the_sections_are_the_complete_configuration() {
        let complete = to_value(&Config::default());
        let names: Vec<&str> = complete.as_object().expect("a table").keys().map(String::as_str).collect();
        assert_eq!(table(&Config::default(), &names), complete);
        assert_eq!(table(&Config::default(), &["gc", "xyzzy"]).as_object().map(Map::len), Some(1));
    }

    #[test]
    fn only_the_named_sections_are_replaced() {
        let mut config = Config::default();
        assert!(changed(&config).is_empty());
        let mut other = Config { channels: 3, chips: 5, ..Config::default() };
        other.gc.free_blocks = Kept::Blocks(7);
        assert_eq!(changed(&other), ["channels", "chips", "gc"]);
        replace(&mut config, other, &["channels", "gc"]);
        assert_eq!((config.channels, config.chips, config.gc.free_blocks), (3, 1, Kept::Blocks(7)));
        assert_eq!([section_of("gc.victim"), section_of("page")], ["gc", "page"]);
    }
}
