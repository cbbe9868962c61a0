//! Samples of a timeline that [`super::TimelineWriter`] wrote: the run is divided into [`SAMPLES`] equal parts, and a sample says what
//! had happened by the end of each. Memory depends on the number of dies, not on the length of the run.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use flashweir_ssd::{DieWork, DieWorkTimes};
use flashweir_trace::output::PartFile;
use prost::Message;
use serde_json::{Value, json};

use super::PACKET_KEY;
use super::proto::{self, TracePacket};
use crate::error::Error;
use crate::sample::{dies, upper_edge};

/// Parts that a run is divided into.
const SAMPLES: usize = 400;
/// The longest packet, bytes: those of a timeline have some hundred.
const MAX_PACKET: u64 = 1 << 20;

/// Contents of a track, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Host,
    Bus(usize),
    Die(usize, usize),
    FreeBlocks(usize),
    DirtyPages,
}

impl Role {
    fn of(name: &str) -> Option<Self> {
        match name {
            "host" => return Some(Self::Host),
            "dirty pages" => return Some(Self::DirtyPages),
            _ => {}
        }
        let (what, number) = name.rsplit_once(' ')?;
        match what {
            "channel" => number.parse().ok().map(Self::Bus),
            "free blocks" => number.parse().ok().map(Self::FreeBlocks),
            "die" => {
                let (channel, die) = number.split_once('.')?;
                Some(Self::Die(channel.parse().ok()?, die.parse().ok()?))
            }
            _ => None,
        }
    }
}

/// Events of a part of the run, added up.
#[derive(Clone, Debug, Default)]
struct Part {
    dies: BTreeMap<(usize, usize), DieWorkTimes>,
    buses: BTreeMap<usize, u64>,
    /// Latencies by operation and bucket, ns.
    latencies: BTreeMap<(String, u64), u64>,
    bytes: BTreeMap<String, u64>,
    /// Pages or blocks by purpose and kind.
    flash: BTreeMap<(String, &'static str), u64>,
    /// The last values of counters.
    free: BTreeMap<usize, i64>,
    dirty: Option<i64>,
}

/// A slice that has begun.
struct Begun {
    name: String,
    start_ns: u64,
    sectors: u64,
}

/// State of the reader.
struct Reader {
    start_ns: u64,
    width_ns: u64,
    roles: HashMap<u64, Role>,
    names: HashMap<u64, String>,
    args: HashMap<u64, String>,
    begun: HashMap<u64, Vec<Begun>>,
    parts: Vec<Part>,
}

/// Writes the samples of a timeline to a file, a line of JSON each.
pub fn samples_of_timeline(path: &Path, output: &Path) -> Result<(), Error> {
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    packets(path, |packet| {
        if let Some(time_ns) = packet.timestamp {
            (first_ns, last_ns) = (first_ns.min(time_ns), last_ns.max(time_ns));
        }
    })?;
    if last_ns <= first_ns {
        return Err(wrong(path, "nothing happens in it"));
    }
    let width_ns = (last_ns - first_ns).div_ceil(SAMPLES as u64).max(1);
    let mut found = Reader {
        start_ns: first_ns,
        width_ns,
        roles: HashMap::new(),
        names: HashMap::new(),
        args: HashMap::new(),
        begun: HashMap::new(),
        parts: vec![Part::default(); SAMPLES],
    };
    packets(path, |packet| found.take(packet))?;
    if !found.roles.values().any(|role| matches!(role, Role::Die(..))) {
        return Err(wrong(path, "it has no die"));
    }
    let mut file = PartFile::create(output)?;
    for sample in found.samples() {
        writeln!(file, "{sample}").map_err(|error| file.error(error))?;
    }
    Ok(file.finish()?)
}

fn wrong(path: &Path, detail: &str) -> Error {
    let expected = format!("{detail}; expected a timeline of `flashweir simulate --timeline`");
    Error::setting(path.display().to_string(), &expected)
}

/// Passes on the packets of a file, in its order.
fn packets(path: &Path, mut take: impl FnMut(TracePacket)) -> Result<(), Error> {
    let file = File::open(path).map_err(|error| wrong(path, &error.to_string()))?;
    let mut file = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        match next(&mut file, &mut bytes) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(wrong(path, &error.to_string())),
        }
        take(TracePacket::decode(&bytes[..]).map_err(|error| wrong(path, &error.to_string()))?);
    }
}

/// The next packet's bytes. Returns false at the end.
fn next(file: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let invalid = |detail: &str| Err(io::Error::new(io::ErrorKind::InvalidData, detail));
    match file.fill_buf()?.first() {
        None => return Ok(false),
        Some(&PACKET_KEY) => file.consume(1),
        Some(_) => return invalid("not a Perfetto trace"),
    }
    let (mut length, mut shift) = (0u64, 0);
    loop {
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        length |= u64::from(byte[0] & 0x7F) << shift;
        shift += 7;
        if byte[0] < 0x80 {
            break;
        }
        if shift > 28 {
            return invalid("a packet that is too long");
        }
    }
    if length > MAX_PACKET {
        return invalid("a packet that is too long");
    }
    bytes.resize(length as usize, 0);
    file.read_exact(bytes)?;
    Ok(true)
}

impl Reader {
    fn take(&mut self, packet: TracePacket) {
        if let Some(track) = packet.track_descriptor
            && let (Some(uuid), Some(role)) = (track.uuid, track.name.as_deref().and_then(Role::of))
        {
            self.roles.insert(uuid, role);
        }
        if let Some(interned) = packet.interned_data {
            let pairs = |list: Vec<proto::InternedName>| {
                list.into_iter().filter_map(|one| Some((one.iid?, one.name?))).collect::<Vec<_>>()
            };
            self.names.extend(pairs(interned.event_names));
            self.args.extend(pairs(interned.debug_annotation_names));
        }
        let (Some(event), Some(time_ns)) = (packet.track_event, packet.timestamp) else { return };
        let Some(uuid) = event.track_uuid else { return };
        let Some(role) = self.roles.get(&uuid).copied() else { return };
        match event.r#type {
            Some(proto::SLICE_BEGIN) => {
                let interned = event.name_iid.and_then(|iid| self.names.get(&iid).cloned());
                let sectors = event.debug_annotations.iter().find(|one| {
                    one.name_iid.and_then(|iid| self.args.get(&iid)).is_some_and(|name| name == "sectors")
                });
                let sectors = sectors.and_then(|one| one.uint_value).unwrap_or(0);
                let name = event.name.or(interned).unwrap_or_default();
                self.begun.entry(uuid).or_default().push(Begun { name, start_ns: time_ns, sectors });
            }
            Some(proto::SLICE_END) => {
                if let Some(begun) = self.begun.get_mut(&uuid).and_then(Vec::pop) {
                    self.slice(role, &begun, time_ns);
                }
            }
            Some(proto::COUNTER) => self.counter(role, time_ns, event.counter_value.unwrap_or(0)),
            _ => {}
        }
    }

    fn at(&self, time_ns: u64) -> usize {
        (((time_ns - self.start_ns) / self.width_ns) as usize).min(SAMPLES - 1)
    }

    fn counter(&mut self, role: Role, time_ns: u64, value: i64) {
        let at = self.at(time_ns);
        match role {
            Role::FreeBlocks(channel) => _ = self.parts[at].free.insert(channel, value),
            Role::DirtyPages => self.parts[at].dirty = Some(value),
            _ => {}
        }
    }

    fn slice(&mut self, role: Role, begun: &Begun, end_ns: u64) {
        let (first, last) = (self.at(begun.start_ns), self.at(end_ns));
        let command = command(&begun.name);
        for at in first..=last {
            let from_ns = begun.start_ns.max(self.start_ns + at as u64 * self.width_ns);
            let to_ns = end_ns.min(self.start_ns + (at as u64 + 1) * self.width_ns);
            let time_ns = to_ns.saturating_sub(from_ns);
            match (role, &command) {
                (Role::Die(channel, die), Some((work, ..))) => {
                    let times = self.parts[at].dies.entry((channel, die)).or_default();
                    times[*work as usize] += time_ns;
                }
                (Role::Bus(channel), _) => *self.parts[at].buses.entry(channel).or_default() += time_ns,
                _ => {}
            }
        }
        let part = &mut self.parts[last];
        match (role, command) {
            (Role::Die(..), Some((_, purpose, kinds, pages))) => {
                for kind in kinds {
                    *part.flash.entry((purpose.clone(), kind)).or_default() += pages;
                }
            }
            (Role::Host, _) => {
                let latency = upper_edge(end_ns - begun.start_ns);
                *part.latencies.entry((begun.name.clone(), latency)).or_default() += 1;
                *part.bytes.entry(begun.name.clone()).or_default() += begun.sectors * 512;
            }
            _ => {}
        }
    }

    /// The samples: sums of the parts so far.
    fn samples(&self) -> impl Iterator<Item = Value> {
        let of_all = |role: &Role| match role {
            Role::Die(channel, die) => Some((*channel, *die)),
            _ => None,
        };
        let all: Vec<(usize, usize)> = self.roles.values().filter_map(of_all).collect();
        let channels = all.iter().map(|one| one.0 + 1).max().unwrap_or(0);
        let per_channel = all.iter().map(|one| one.1 + 1).max().unwrap_or(0);
        let mut sum = Part::default();
        self.parts.iter().enumerate().map(move |(at, part)| {
            sum.add(part);
            sum.sample((at as u64 + 1) * self.width_ns, channels, per_channel)
        })
    }
}

impl Part {
    fn add(&mut self, part: &Self) {
        for (die, times) in &part.dies {
            let own = self.dies.entry(*die).or_default();
            own.iter_mut().zip(times).for_each(|(own, time)| *own += time);
        }
        part.buses.iter().for_each(|(bus, ns)| *self.buses.entry(*bus).or_default() += ns);
        part.latencies.iter().for_each(|(key, n)| *self.latencies.entry(key.clone()).or_default() += n);
        part.bytes.iter().for_each(|(key, n)| *self.bytes.entry(key.clone()).or_default() += n);
        part.flash.iter().for_each(|(key, n)| *self.flash.entry(key.clone()).or_default() += n);
        self.free.extend(&part.free);
        self.dirty = part.dirty.or(self.dirty);
    }

    fn sample(&self, time_ns: u64, channels: usize, per_channel: usize) -> Value {
        let mut requests: BTreeMap<&str, u64> = BTreeMap::new();
        let mut latencies: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for ((op, ns), count) in &self.latencies {
            *requests.entry(op).or_default() += count;
            latencies.entry(op).or_default().push((*ns, *count));
        }
        let mut times = vec![DieWorkTimes::default(); channels * per_channel];
        self.dies.iter().for_each(|((channel, die), time)| times[channel * per_channel + die] = *time);
        let flash = |purpose: &str| {
            let of = |kind| self.flash.get(&(purpose.to_owned(), kind)).copied().unwrap_or(0);
            json!({"reads": of("reads"), "programs": of("programs"), "erases": of("erases")})
        };
        let buses: Vec<u64> = (0..channels).map(|bus| self.buses.get(&bus).copied().unwrap_or(0)).collect();
        json!({
            "time_s": time_ns as f64 / 1e9,
            "requests": requests,
            "bytes": self.bytes,
            "latency_ns": latencies,
            "flash": {"host": flash("host"), "gc": flash("gc"), "mapping": flash("mapping")},
            "dirty_pages": self.dirty.unwrap_or(0),
            "dies": dies(channels as u32, per_channel as u32, &times, &[]),
            "buses_ns": buses,
            "free_blocks": self.free.values().collect::<Vec<_>>(),
        })
    }
}

/// Work of a command by the name of its slice, its purpose, the operations that it makes, and of how many pages.
fn command(name: &str) -> Option<(DieWork, String, Vec<&'static str>, u64)> {
    let mut words = name.split(' ');
    let (kind, purpose) = (words.next()?, words.next()?);
    let pages = words.next().and_then(|count| count.strip_prefix('x')?.parse().ok()).unwrap_or(1);
    let (mut work, operations) = match kind {
        "read" => (DieWork::Read, vec!["reads"]),
        "program" => (DieWork::Program, vec!["programs"]),
        "read-modify-write" => (DieWork::Program, vec!["reads", "programs"]),
        "copy" => (DieWork::Copy, vec!["reads", "programs"]),
        "erase" => (DieWork::Erase, vec!["erases"]),
        _ => return None,
    };
    match purpose {
        "gc" if work != DieWork::Erase => work = DieWork::Copy,
        "mapping" => work = DieWork::Mapping,
        _ => {}
    }
    Some((work, purpose.to_owned(), operations, pages))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{DriveTracks, TimelineWriter};

    #[test]
    fn a_timeline_gives_back_what_was_written() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, out) = (dir.path().join("a.pftrace"), dir.path().join("a.jsonl"));
        let tracks = DriveTracks::new(2, 1);
        let mut writer = TimelineWriter::create(&path, tracks.list()).expect("made");
        let span = |writer: &mut TimelineWriter, track, name, span, args: &[_]| {
            writer.slice(track, name, span, args, &[]).expect("written");
        };
        writer.counter(tracks.free_blocks_of[1], 0, 7).expect("written");
        span(&mut writer, tracks.host, "write", 0..1_000_000, &[("sectors", 8)]);
        span(&mut writer, tracks.dies[0], "program host x2", 0..400_000, &[]);
        span(&mut writer, tracks.dies[1], "copy gc x3", 100_000..1_000_000, &[]);
        span(&mut writer, tracks.buses[1], "copy gc x3", 100_000..200_000, &[]);
        writer.finish().expect("whole");
        samples_of_timeline(&path, &out).expect("read");
        let text = std::fs::read_to_string(&out).expect("written");
        let samples: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(samples.len(), SAMPLES);
        let last = samples.last().expect("some");
        assert_eq!(last["requests"]["write"], 1);
        assert_eq!(last["bytes"]["write"], 4096);
        assert_eq!(last["dies"]["busy_ns"], json!([[0, 400_000, 0, 0, 0, 0], [0, 0, 900_000, 0, 0, 0]]));
        assert_eq!(last["buses_ns"], json!([0, 100_000]));
        assert_eq!(last["flash"]["gc"], json!({"reads": 3, "programs": 3, "erases": 0}));
        assert_eq!(samples[0]["free_blocks"], json!([7]));
        let half = &samples[SAMPLES / 2 - 1]["dies"]["busy_ns"];
        assert_eq!(*half, json!([[0, 400_000, 0, 0, 0, 0], [0, 0, 400_000, 0, 0, 0]]));
    }

    #[test]
    fn other_files_are_refused_in_one_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, out) = (dir.path().join("a.pftrace"), dir.path().join("a.jsonl"));
        for bytes in [&b""[..], b"nothing", b"\x0a\xff\xff\xff\xff\xff\x7f", b"\x0a\x05ab"] {
            std::fs::write(&path, bytes).expect("written");
            let error = samples_of_timeline(&path, &out).expect_err("refused").to_string();
            assert!(error.contains("expected a timeline"), "{error}");
            assert!(!out.exists());
        }
    }
}
