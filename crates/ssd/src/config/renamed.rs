//! Names that have changed: an old one is refused with the new one in the message.

use serde::Serialize;

/// A name that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Kind of name: a key, a value of a key (`KEY=VALUE`), a preset, or a field of results.
    pub kind: Kind,
    /// The old name.
    pub old: &'static str,
    /// The name that it has now.
    pub new: &'static str,
}

/// Kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A key of a drive.
    Key,
    /// A value of a key, as `KEY=VALUE`.
    Value,
    /// A preset.
    Preset,
    /// A field of results.
    Field,
}

/// All of them, kind by kind.
pub const RENAMED: [Renamed; 9] = [
    Renamed { kind: Kind::Key, old: "tenants.most_slowed", new: "tenants.max_late_share" },
    Renamed { kind: Kind::Key, old: "background.destage.after", new: "buffer.idle_after" },
    Renamed { kind: Kind::Key, old: "background.destage.kind", new: "buffer.destage" },
    Renamed { kind: Kind::Key, old: "background.destage.file", new: "buffer.destage_file" },
    Renamed { kind: Kind::Value, old: "engine=timeline", new: "engine=busy-until" },
    Renamed { kind: Kind::Preset, old: "970pro", new: "970-pro" },
    Renamed { kind: Kind::Field, old: "collections.most", new: "collections.max_merged" },
    Renamed { kind: Kind::Field, old: "most_under_way", new: "max_outstanding" },
    Renamed { kind: Kind::Field, old: "rate.windows.most_per_s", new: "rate.windows.max_per_s" },
];

/// The new name, if it is an old one of that kind.
pub(crate) fn new_name(kind: Kind, old: &str) -> Option<&'static str> {
    RENAMED.iter().find(|renamed| renamed.kind == kind && renamed.old == old).map(|renamed| renamed.new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys;
    use crate::config::layers::{Layer, resolve};
    use crate::config::presets::Preset;

    fn refusal(key: &str, value: &str) -> String {
        let layer = Layer::from_assignments("--set", [(key, value)]);
        resolve(&[layer]).expect_err("an old name").to_string()
    }

    #[test]
    fn an_old_name_is_refused_with_the_new_one() {
        let message = refusal("tenants.most_slowed", "0.1");
        assert_eq!(message, "--set: unknown key `tenants.most_slowed`; it is now `tenants.max_late_share`");
        let message = refusal("engine", "timeline");
        assert!(message.ends_with("expected `busy-until`, its name now"), "{message}");
    }

    #[test]
    fn new_names_exist_and_old_ones_do_not() {
        for Renamed { kind, old, new } in RENAMED {
            match kind {
                Kind::Key => assert!(keys::find(new).is_some() && keys::find(old).is_none(), "{old}"),
                Kind::Value => {
                    let exists = |text: &str| {
                        text.split_once('=').is_some_and(|setting| {
                            resolve(&[Layer::from_assignments("--set", [setting])]).is_ok()
                        })
                    };
                    assert!(exists(new) && !exists(old), "{old}");
                }
                Kind::Preset => assert!(Preset::find(new).is_some() && Preset::find(old).is_none(), "{old}"),
                Kind::Field => assert_ne!(old, new),
            }
        }
    }
}
