//! Layers: a configuration is the default, then a preset, then a file, then single settings, each over the one before.
//!
//! An unknown key is an error with the nearest right one. A key that belongs to another policy than the one chosen is
//! checked as if that one were chosen, waits for a layer that chooses it, and has no effect if none does: a grid may cross
//! such keys. Choosing another policy drops the settings that a lower layer made for the old one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::renamed::{self, Kind};
use super::sections::section_of;
use super::size::Given;
pub use super::table::to_value;
use super::table::{locate, shown};
use super::{Config, Precondition, bounds, keys, no_effect, sections};
use crate::error::ConfigError;

/// One layer: dotted keys and their values, and where they come from (for messages).
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Such as `--set` or a file's name.
    pub origin: String,
    /// Dotted key (`gc.victim`) to value.
    pub settings: BTreeMap<String, Value>,
}

impl Layer {
    /// A layer from a nested table.
    pub fn from_table(origin: &str, table: &Value) -> Result<Self, ConfigError> {
        let Value::Object(table) = table else {
            let detail = "expected a table of keys, such as `channels = 8`".into();
            return Err(ConfigError::Syntax { origin: origin.into(), detail });
        };
        let mut settings = BTreeMap::new();
        flatten("", table, &mut settings);
        Ok(Self { origin: origin.into(), settings })
    }

    /// A layer from the text of a device file: TOML, or JSON if it starts with a brace.
    pub fn from_text(origin: &str, text: &str) -> Result<Self, ConfigError> {
        let syntax = |detail: String| ConfigError::Syntax { origin: origin.into(), detail };
        let table: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error: toml::de::Error| {
                let line = error
                    .span()
                    .map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
                syntax(format!("line {line}: {}", error.message()))
            })?
        };
        // A whole result serves as the device that it came from.
        match table.get("config").filter(|config| config.is_object() && table.get("version").is_some()) {
            Some(config) => Self::from_table(origin, config),
            None => Self::from_table(origin, &table),
        }
    }

    /// A layer from `KEY=VALUE` texts, as on the command line: numbers, `true` and `false` are what they look like,
    /// everything else is text.
    pub fn from_assignments<'a>(
        origin: &str,
        assignments: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let value = |text: &str| {
            // JSON has no number that begins with its point.
            let text_or_fraction = if text.starts_with('.') { format!("0{text}") } else { text.into() };
            serde_json::from_str::<Value>(&text_or_fraction)
                .ok()
                .filter(|value| value.is_number() || value.is_boolean())
                .unwrap_or_else(|| Value::String(text.into()))
        };
        let settings = assignments.into_iter().map(|(key, text)| (key.to_owned(), value(text))).collect();
        Self { origin: origin.into(), settings }
    }
}

fn flatten(prefix: &str, table: &Map<String, Value>, into: &mut BTreeMap<String, Value>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Object(inner) if !inner.is_empty() => flatten(&path, inner, into),
            _ => {
                into.insert(path, value.clone());
            }
        }
    }
}

/// A setting that changes nothing on this drive, see [`no_effect`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ineffective {
    /// The keys, and those because of which they have no effect.
    pub keys: String,
    /// Why.
    pub reason: String,
}

/// The configuration that results from layers over the default, checked for combinations that make no sense. What has no effect
/// is set back to its default.
pub fn resolve(layers: &[Layer]) -> Result<Config, ConfigError> {
    resolve_noting(layers).map(|(config, _)| config)
}

/// As [`resolve`], with what has no effect.
pub fn resolve_noting(layers: &[Layer]) -> Result<(Config, Vec<Ineffective>), ConfigError> {
    let mut config = Config::default();
    let mut given = Given::default();
    let mut waiting = Waiting::new();
    for layer in layers {
        config = apply(config, layer, &mut waiting)?;
        given = given.over(&layer.origin, |key| layer.settings.contains_key(key), &mut config)?;
    }
    let says_state = layers.iter().any(|layer| layer.settings.contains_key("precondition"));
    if config.fill < 1.0 && !says_state {
        config.precondition = Precondition::Full;
    }
    let (config, mut ineffective) = settle(config)?;
    let of_waiting =
        |(keys, _): (String, _)| Some(Ineffective { reason: acts_only_with(keys::find(&keys)?)?, keys });
    ineffective.extend(waiting.into_iter().filter_map(of_waiting));
    Ok((config, ineffective))
}

/// A configuration of any origin as [`resolve_noting`] leaves it: without what has no effect, and checked.
pub fn settle(mut config: Config) -> Result<(Config, Vec<Ineffective>), ConfigError> {
    let own =
        |entry: &no_effect::NoEffect| Ineffective { keys: entry.keys.into(), reason: entry.reason.into() };
    let mut ineffective: Vec<_> = no_effect::clear(&mut config).into_iter().map(own).collect();
    if let Some((key, reason)) = no_effect::clear_allocation(&mut config) {
        ineffective.push(Ineffective { keys: key.into(), reason });
        // Others have no effect without it.
        ineffective.extend(no_effect::clear(&mut config).into_iter().map(own));
    }
    super::refusals::check(&config)?;
    Ok((config, ineffective))
}

/// Settings for policies that are not chosen so far, by their keys: where they come from, and their values.
type Waiting = BTreeMap<String, (String, Value)>;

fn apply(mut config: Config, layer: &Layer, waiting: &mut Waiting) -> Result<Config, ConfigError> {
    // Policies first, because other keys exist only with some of them.
    let is_policy = |key: &str| keys::find(key).is_some_and(|key| key.is_policy);
    let (choices, others): (Vec<_>, Vec<_>) = layer.settings.iter().partition(|(key, _)| is_policy(key));
    let before = std::mem::take(waiting);
    for (key, value) in choices {
        set_or_wait(&mut config, &layer.origin, (key, value), waiting)?;
    }
    for (key, (origin, value)) in before {
        if !layer.settings.contains_key(&key) {
            set_or_wait(&mut config, &origin, (&key, &value), waiting)?;
        }
    }
    let (there, missing): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(key, _)| owner_elsewhere(&config, key).is_none());
    for (key, value) in missing {
        set_or_wait(&mut config, &layer.origin, (key, value), waiting)?;
    }
    if set_all(&mut config, &there).is_none() {
        for (key, value) in there {
            set(&mut config, &layer.origin, key, value)?;
        }
    }
    Ok(config)
}

/// The policy and the choice that a key belongs to, if another one is chosen.
fn owner_elsewhere(config: &Config, key: &str) -> Option<&'static (String, String)> {
    let owner = keys::find(key)?.acts_with.as_ref()?;
    let is_there = locate(&mut sections::table(config, &[section_of(key)]), key).is_some();
    (!is_there).then_some(owner)
}

/// Changes one key, or lets it wait if it belongs to a policy that is not chosen: its value must be one that it may have then.
fn set_or_wait(
    config: &mut Config,
    origin: &str,
    (key, value): (&str, &Value),
    waiting: &mut Waiting,
) -> Result<(), ConfigError> {
    let Some((policy, choice)) = owner_elsewhere(config, key) else {
        return set(config, origin, key, value);
    };
    let mut chosen = config.clone();
    set(&mut chosen, origin, policy, &Value::String(choice.clone()))?;
    set(&mut chosen, origin, key, value)?;
    waiting.insert(key.to_owned(), (origin.to_owned(), value.clone()));
    Ok(())
}

/// Changes all of these keys at once, or none and returns `None` if something is wrong with one of them, which [`set`] says. A key
/// at a time costs as much as a small run.
fn set_all(config: &mut Config, settings: &[(&String, &Value)]) -> Option<()> {
    if settings.is_empty() {
        return Some(());
    }
    let mut names: Vec<&str> = settings.iter().map(|(key, _)| section_of(key)).collect();
    names.dedup();
    let mut table = sections::table(config, &names);
    for (key, value) in settings {
        let is_name = keys::find(key).is_some_and(|key| !key.choices.is_empty());
        if is_name && !value.is_string() {
            return None;
        }
        *locate(&mut table, key)? = (*value).clone();
    }
    let changed: Config = serde_json::from_value(table).ok()?;
    let mut table = sections::table(&changed, &names);
    let in_range = |(key, value): &(&String, &Value)| bounds::check_key(&mut table, "", key, value).is_ok();
    if !settings.iter().all(in_range) {
        return None;
    }
    sections::replace(config, changed, &names);
    Some(())
}

/// Changes one key. It must be one of the resulting configuration.
fn set(config: &mut Config, origin: &str, key: &str, value: &Value) -> Result<(), ConfigError> {
    let names = [section_of(key)];
    let mut table = sections::table(config, &names);
    let Some(place) = locate(&mut table, key) else {
        return Err(missing(origin, key));
    };
    // A number would be taken for the place of a name in the list of names.
    if let Some(choice) = keys::find(key).filter(|key| !key.choices.is_empty() && !value.is_string()) {
        return Err(ConfigError::Value {
            origin: origin.into(),
            key: key.into(),
            value: value.to_string(),
            expected: format!("expected one of {}", choice.choices.join(", ")),
        });
    }
    *place = value.clone();
    let changed: Config = serde_json::from_value(table).map_err(|error| ConfigError::Value {
        origin: origin.into(),
        key: key.into(),
        value: shown(value),
        expected: expectation(key, value, &error.to_string()),
    })?;
    bounds::check_key(&mut sections::table(&changed, &names), origin, key, value)?;
    sections::replace(config, changed, &names);
    Ok(())
}

/// Expected value: by the key's type, or in serde's words without the position, which means nothing here.
fn expectation(key: &str, value: &Value, error: &str) -> String {
    let assignment = value.as_str().map(|value| format!("{key}={value}"));
    if let Some(new) = assignment.and_then(|old| renamed::new_name(Kind::Value, &old)) {
        let (_, value) = new.split_once('=').unwrap_or((key, new));
        return format!("expected `{value}`, its name now");
    }
    let range = keys::find(key).and_then(|key| key.range.as_ref()).filter(|range| range.max.is_finite());
    if let Some(range) = range.filter(|range| range.is_exceeded_beyond_64_bits(value)) {
        return range.to_string();
    }
    match keys::find(key).map(|key| key.value_type) {
        Some("integer") => "expected a whole number, zero or more, of at most 32 bits".into(),
        Some("number") => "expected a number".into(),
        Some("boolean") => "expected true or false".into(),
        _ => error.split(" at line ").next().unwrap_or(error).to_owned(),
    }
}

/// Why a key that belongs to a policy has no effect with another one.
fn acts_only_with(key: &keys::Key) -> Option<String> {
    key.acts_with.as_ref().map(|(policy, choice)| format!("it acts only with {policy}={choice}"))
}

/// The error about a key that does not exist.
fn missing(origin: &str, key: &str) -> ConfigError {
    let names = || keys::keys().iter().map(|key| key.name.as_str());
    let nearest = names()
        .map(|candidate| (strsim::damerau_levenshtein(candidate, key), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 2.max(candidate.len() / 3));
    let member =
        names().find(|candidate| candidate.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
    let hint = match (renamed::new_name(Kind::Key, key), member, nearest) {
        (Some(new), ..) => format!("; it is now `{new}`"),
        (None, Some(member), _) => format!(" on its own; it is a table with keys such as `{member}`"),
        (None, None, Some((_, candidate))) => format!("; did you mean `{candidate}`?"),
        (None, None, None) => "; `flashweir schema` lists all keys".into(),
    };
    ConfigError::UnknownKey { origin: origin.into(), key: key.into(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_sets(sets: &[(&str, &str)]) -> Result<Config, ConfigError> {
        resolve(&[Layer::from_assignments("--set", sets.iter().copied())])
    }

    #[test]
    fn a_complete_configuration_feeds_back() {
        let config = resolve_sets(&[
            ("gc.victim", "d-choices"),
            ("gc.choices", "4"),
            ("timing.read", "56.5us,77.5us,106us"),
            ("host.mode", "open"),
        ])
        .expect("legal");
        let again =
            resolve(&[Layer::from_table("result", &to_value(&config)).expect("a table")]).expect("legal");
        assert_eq!(config, again);
        let result =
            serde_json::json!({"version": "0", "requests": 1, "config": to_value(&config)}).to_string();
        assert_eq!(config, resolve(&[Layer::from_text("result", &result).expect("json")]).expect("legal"));
    }

    #[test]
    fn a_fraction_may_begin_with_its_point() {
        assert_eq!(resolve_sets(&[("op_ratio", ".15")]), resolve_sets(&[("op_ratio", "0.15")]));
        assert!(resolve_sets(&[("op_ratio", ".")]).is_err() && resolve_sets(&[("op_ratio", ".1x")]).is_err());
    }

    #[test]
    fn a_new_choice_drops_the_settings_of_the_old_one() {
        let file =
            Layer::from_text("drive.toml", "[gc]\nvictim = \"d-choices\"\nchoices = 4\n").expect("toml");
        let sets = Layer::from_assignments("--set", [("gc.victim", "fifo")]);
        assert!(resolve(&[file, sets]).is_ok());
    }

    #[test]
    fn a_key_of_a_policy_that_is_not_chosen_waits_for_it_or_has_no_effect() {
        let resolved = |sets: &[&[(&str, &str)]]| {
            let layers: Vec<_> =
                sets.iter().map(|sets| Layer::from_assignments("--set", sets.iter().copied())).collect();
            resolve_noting(&layers).expect("legal")
        };
        let (config, notes) = resolved(&[&[("gc.choices", "4")]]);
        assert_eq!(config, Config::default());
        let reason = "it acts only with gc.victim=d-choices".into();
        assert_eq!(notes, [Ineffective { keys: "gc.choices".into(), reason }]);
        // A later layer chooses the policy, and may say otherwise.
        let (config, notes) = resolved(&[&[("gc.choices", "4")], &[("gc.victim", "d-choices")]]);
        assert_eq!((config.gc.victim.clone(), notes), (d_choices("4").gc.victim, vec![]));
        let (config, _) =
            resolved(&[&[("gc.choices", "4")], &[("gc.victim", "d-choices"), ("gc.choices", "5")]]);
        assert_eq!(config, d_choices("5"));
        // Its value is looked at all the same.
        let wrong = resolve_sets(&[("gc.choices", "0")]).expect_err("out of range").to_string();
        assert!(wrong.starts_with("--set: `gc.choices` = 0: expected "), "{wrong}");
    }

    #[test]
    fn a_drive_that_is_full_in_part_is_filled_unless_another_state_is_asked_for() {
        let resolved = |sets: &[(&str, &str)]| {
            resolve_noting(&[Layer::from_assignments("--set", sets.iter().copied())]).expect("legal")
        };
        let (config, notes) = resolved(&[("fill", "0.3")]);
        assert_eq!((config.precondition, config.fill, notes), (Precondition::Full, 0.3, vec![]));
        let (config, notes) = resolved(&[("fill", "0.3"), ("precondition", "steady")]);
        assert_eq!((config.precondition, config.fill, notes), (Precondition::Steady, 0.3, vec![]));
        for (state, asked) in [(Precondition::OnRead, "on-read"), (Precondition::Empty, "empty")] {
            let (config, notes) = resolved(&[("fill", "0.3"), ("precondition", asked)]);
            assert_eq!((config.precondition, config.fill), (state, 1.0));
            assert!(notes.len() == 1 && notes[0].keys.starts_with("fill, "), "{notes:?}");
        }
    }

    fn d_choices(choices: &str) -> Config {
        resolve_sets(&[("gc.victim", "d-choices"), ("gc.choices", choices)]).expect("legal")
    }

    #[test]
    fn every_message_names_key_value_and_what_would_be_right() {
        let message = |sets: &[(&str, &str)]| resolve_sets(sets).expect_err("must be refused").to_string();
        assert_eq!(message(&[("chanels", "4")]), "--set: unknown key `chanels`; did you mean `channels`?");
        assert!(
            message(&[("timing.read", "fast")]).contains("`timing.read` = \"fast\": expected a time such as")
        );
        for size in ["99999999999GiB", "99999999999999999999999"] {
            let said = message(&[("capacity", size)]);
            assert!(said.ends_with(": expected at most 1024PiB"), "{said}");
        }
        assert!(message(&[("capacity", "99999999999s")]).contains("expected a size such as 4096"));
        assert!(
            message(&[("gc.victim", "gready")])
                .contains("unknown variant `gready`, expected one of `greedy`")
        );
        assert!(message(&[("gc.victim", "3")]).contains("expected one of greedy, fifo"));
        assert!(message(&[("engine", "1")]).contains("expected one of auto, busy-until, event"));
        assert!(
            message(&[("channels", "1e3")])
                .ends_with("expected a whole number, zero or more, of at most 32 bits")
        );
        assert!(message(&[("timing.multi_plane", "1")]).ends_with("expected true or false"));
        assert!(message(&[("channels", "-1")]).contains("`channels` = -1"));
        assert!(message(&[("gc", "1")]).contains("it is a table with keys such as `gc."));
        assert!(message(&[("xyzzyplugh", "1")]).contains("`flashweir schema` lists all keys"));
        let error = Layer::from_text("d.toml", "channels = 8\nchips =\n").expect_err("no value").to_string();
        assert!(error.starts_with("d.toml: line 2:"), "{error}");
    }
}
