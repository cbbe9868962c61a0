//! The writer alone: tracks, names and lanes.

use super::*;

#[test]
fn tracks_are_unique_and_nest() {
    let trace = written(|_, _| ());
    let tracks: Vec<_> = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
    let names: Vec<_> = tracks.iter().map(|track| track.name()).collect();
    let of_channel = |channel: u32| {
        format!(
            "channel {channel}|dirty pages {channel}|free blocks {channel}|die {channel}.0|die {channel}.1"
        )
    };
    let expected = format!("host|buffer|dirty pages|free blocks|{}|{}", of_channel(0), of_channel(1));
    assert_eq!(names.join("|"), expected);
    let uuids: BTreeSet<_> = tracks.iter().map(|track| track.uuid()).collect();
    assert_eq!(uuids.len(), tracks.len());
    assert!(!uuids.contains(&0), "0 is the track of all that has none");
    for track in &tracks {
        let parent = tracks.iter().find(|parent| parent.uuid == track.parent_uuid);
        let of_channel = ["die ", "dirty pages ", "free blocks "];
        let expected = of_channel.iter().find_map(|prefix| track.name().strip_prefix(prefix));
        let expected = expected.map(|channel| format!("channel {}", &channel[..1]));
        assert_eq!(parent.map(|parent| parent.name().to_owned()), expected, "parent of {}", track.name());
        let counts = ["dirty pages", "free blocks"].iter().any(|name| track.name().starts_with(name));
        assert_eq!(track.counter.is_some(), counts);
    }
    assert_eq!(trace.packet[0].sequence_flags(), proto::INCREMENTAL_STATE_CLEARED);
    assert!(trace.packet.iter().all(|packet| packet.trusted_packet_sequence_id() == 1));
}

#[test]
fn slices_keep_name_time_arguments_and_flow() {
    let trace = written(|writer, tracks| {
        let request = writer.begin(tracks.host, "write", 100, &[("lba", 8), ("sectors", 16)], &[7]).unwrap();
        writer.slice(tracks.buses[1], "data in host", 100..150, &[], &[7]).unwrap();
        writer.slice(tracks.dies[2], "program host", 150..950, &[("lpn", 1)], &[7]).unwrap();
        writer.end(request, 950).unwrap();
        writer.slice(tracks.dies[2], "copy gc x17", 950..9_000, &[], &[]).unwrap();
        writer.slice(tracks.dies[2], "program host", 9_000..9_800, &[], &[]).unwrap();
    });
    let slices = ["write", "data in host", "program host", "copy gc x17", "program host"];
    assert_eq!(names_of_slices(&trace), slices);
    let times: Vec<_> = events(&trace).map(|(time, event)| (time, event.r#type())).collect();
    let expected = [
        (100, 1),
        (100, 1),
        (150, 2),
        (150, 1),
        (950, 2),
        (950, 2),
        (950, 1),
        (9_000, 2),
        (9_000, 1),
        (9_800, 2),
    ];
    assert_eq!(times, expected);
    let flows: Vec<_> =
        events(&trace).filter(|(_, event)| event.flow_ids == [7]).map(|(time, _)| time).collect();
    assert_eq!(flows, [100, 100, 150]);
    let values: Vec<_> = events(&trace)
        .flat_map(|(_, event)| &event.debug_annotations)
        .map(proto::DebugAnnotation::uint_value)
        .collect();
    assert_eq!(values, [8, 16, 1]);
    let names = trace.packet.iter().filter_map(|packet| packet.interned_data.as_ref());
    let names: Vec<_> =
        names.flat_map(|data| &data.debug_annotation_names).map(proto::InternedName::name).collect();
    assert_eq!(names, ["lba", "sectors", "lpn"]);
}

#[test]
fn what_overlaps_takes_lanes_and_lanes_are_used_again() {
    let trace = written(|writer, tracks| {
        for index in 0..100 {
            let start = index * 10;
            writer.slice(tracks.host, "read", start..start + 35, &[], &[]).unwrap();
        }
    });
    let lanes: Vec<_> = trace
        .packet
        .iter()
        .filter_map(|packet| packet.track_descriptor.as_ref())
        .filter(|track| track.name() == "host")
        .map(proto::TrackDescriptor::uuid)
        .collect();
    assert_eq!(lanes.len(), 4, "35 ns every 10 ns are four at a time");
    // On each lane: begin and end alternate, and time does not go back.
    for lane in lanes {
        let on_lane: Vec<_> = events(&trace).filter(|(_, event)| event.track_uuid() == lane).collect();
        assert_eq!(on_lane.len(), 50);
        assert!(on_lane.is_sorted_by_key(|(time, _)| *time));
        let types = on_lane.iter().map(|(_, event)| event.r#type());
        assert!(types.eq([proto::SLICE_BEGIN, proto::SLICE_END].into_iter().cycle().take(50)));
    }
}

#[test]
fn counters_write_changes_only() {
    let trace = written(|writer, tracks| {
        for (time, value) in [(0, 5), (10, 5), (20, 4), (30, 5), (40, 5)] {
            writer.counter(tracks.free_blocks, time, value).unwrap();
        }
        writer.counter(tracks.dirty_pages, 40, 5).unwrap();
    });
    let values: Vec<_> = events(&trace).map(|(time, event)| (time, event.counter_value())).collect();
    assert_eq!(values, [(0, 5), (20, 4), (30, 5), (40, 5)]);
}

#[test]
fn names_without_number_are_written_in_full() {
    let distinct = 20_000;
    let trace = written(|writer, tracks| {
        for index in 0..distinct {
            writer.slice(tracks.dies[0], &format!("copy gc x{index}"), index..index, &[], &[]).unwrap();
        }
    });
    let names = names_of_slices(&trace);
    assert_eq!(names.len() as u64, distinct);
    assert!(names.iter().enumerate().all(|(index, name)| *name == format!("copy gc x{index}")));
    let interned = trace.packet.iter().filter_map(|packet| packet.interned_data.as_ref()).count();
    assert!(interned < 20_000, "memory is bounded");
}

#[test]
fn a_slice_within_another_is_on_its_lane() {
    let trace = written(|writer, tracks| {
        let mut outer = writer.begin(tracks.paused[1], "erase gc", 100, &[], &[]).unwrap();
        writer.within(&mut outer, "suspended", 150..160).unwrap();
        writer.within(&mut outer, "suspended", 160..170).unwrap();
        writer.end(outer, 300).unwrap();
        writer.slice(tracks.paused[1], "erase gc", 300..310, &[], &[]).unwrap();
    });
    let times: Vec<_> = events(&trace).map(|(time, event)| (time, event.r#type())).collect();
    let expected = [(100, 1), (150, 1), (160, 2), (160, 1), (170, 2), (300, 2), (300, 1), (310, 2)];
    assert_eq!(times, expected);
    let tracks: BTreeSet<_> = events(&trace).map(|(_, event)| event.track_uuid()).collect();
    assert_eq!(tracks.len(), 1);
    let descriptors = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let names = descriptors.map(proto::TrackDescriptor::name);
    let on_demand: Vec<_> = names.filter(|name| name.starts_with("paused")).collect();
    assert_eq!(on_demand, ["paused 0.1"], "others are not declared");
}
