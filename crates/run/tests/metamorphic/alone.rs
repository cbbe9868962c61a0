//! Each key on a drive made so that it can act.

use flashweir_ssd::config::keys::keys;

use super::table::settings;
use super::{MIXED, SMALL, Setting, over, result};

/// What a key needs besides the small drive in order to act. Keys not named here need nothing.
const NEEDS: [(&str, &[Setting]); 14] = [
    ("timing.multi_plane", &[("planes", "2")]),
    ("timing.cache_program", &[("host.queue_depth", "4")]),
    ("alloc.mode", &[("alloc.kind", "dynamic"), ("dies", "2")]),
    ("alloc.order", &[("chips", "2"), ("dies", "2"), ("planes", "2")]),
    ("gc.choices", &[("gc.victim", "d-choices")]),
    ("buffer.ack", &[("buffer.bytes", "64KiB")]),
    ("sched.kind", &[("host.queue_depth", "8")]),
    ("host.time_scale", &[("host.mode", "open")]),
    ("ftl.kind", &[("precondition", "empty")]),
    ("alloc.kind", &[]),
    ("host.mode", &[]),
    ("gc.victim", &[]),
    ("engine", &[]),
    ("wear.dynamic", &[]),
];

#[test]
fn every_key_acts_where_it_can() {
    for key in keys() {
        let needs = NEEDS.iter().find(|(name, _)| *name == key.name).map_or(&[] as &[_], |(_, needs)| needs);
        let base = over(&SMALL, needs);
        let before = result(&base, MIXED).unwrap_or_else(|error| panic!("{}: {error}", key.name));
        let mut acted = false;
        for setting in settings().into_iter().filter(|(name, _)| *name == key.name) {
            let after = result(&over(&base, &[setting]), MIXED)
                .unwrap_or_else(|error| panic!("{setting:?}: {error}"));
            let is_default = key.default.as_str() == Some(setting.1);
            assert!(
                is_default || before != after || setting == ("engine", "timeline"),
                "{setting:?} changes nothing"
            );
            acted |= before != after;
        }
        assert!(acted, "`{}` never acts", key.name);
    }
}

#[test]
fn the_engine_changes_its_name_and_nothing_else() {
    let mut results = ["auto", "timeline", "event"]
        .map(|engine| result(&over(&SMALL, &[("engine", engine)]), MIXED).expect("a legal drive"));
    let names = results.each_mut().map(|result| result["engine"].take());
    assert_eq!(names, ["timeline", "timeline", "event"]);
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}
