//! The file of a saved drive: a header that says whose it is, then the state in blocks (`blocks.rs`).
//!
//! The header is a magic number, the version of the format and the length of what follows, 4 bytes each, little-endian; JSON with the
//! engine, its build, the configuration and the options, for people and for [`Header`]; and the CRC-32 of all of it. The state is what
//! the drive and its engine hold in memory, so only the engine that wrote it reads it: another one is refused by its build.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use flashweir_ssd::StateReader;
use flashweir_trace::output::{OutputError, PartFile};
use flashweir_trace::reason::expecting;
use postcard::de_flavors::io::io::IOReader;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DriveOptions;
use super::blocks::{BlockReader, BlockWriter, cut_short, damaged};
use crate::error::Error;
use crate::{BUILD, VERSION};

/// The first bytes of the file.
const MAGIC: &[u8; 16] = b"flashweir drive\n";
/// The version of the format.
const FORMAT: u32 = 1;
/// The longest header.
const HEADER_BYTES: u32 = 1 << 24;
/// Bytes that reading the state holds beside it: more than any byte string of it has.
const SCRATCH_BYTES: usize = 1 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Whose state a file is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The version of the engine.
    engine: String,
    /// The fingerprint of its sources.
    build: String,
    /// The drive's configuration.
    pub(super) config: Value,
    pub(super) options: DriveOptions,
}

impl Header {
    pub(super) fn new(config: Value, options: DriveOptions) -> Self {
        Self { engine: VERSION.into(), build: BUILD.into(), config, options }
    }
}

/// A drive's file under construction, under another name until it is whole.
pub(super) struct Saving {
    path: std::path::PathBuf,
    blocks: BlockWriter<PartFile>,
}

impl Saving {
    /// Begins a file.
    pub(super) fn begin(path: &Path, header: &Header) -> Result<Self, Error> {
        let mut file = PartFile::create(path)?;
        let begun = put_header(&mut file, header);
        begun.map_err(|error| file.error(error))?;
        let failed = |source| OutputError { path: path.to_owned(), source };
        let blocks = BlockWriter::new(file).map_err(failed)?;
        Ok(Self { path: path.to_owned(), blocks })
    }

    /// Writes a part of the state.
    pub(super) fn put(&mut self, part: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let done = postcard::to_io(part, &mut self.blocks).map(drop);
        done.map_err(|error| {
            let failed = self.blocks.failed.take();
            let source = failed.unwrap_or_else(|| io::Error::other(error.to_string()));
            OutputError { path: self.path.clone(), source }.into()
        })
    }

    /// Gives the file its name, once it is on the disk.
    pub(super) fn finish(self) -> Result<(), Error> {
        let failed = |source| OutputError { path: self.path.clone(), source };
        let file = self.blocks.finish().map_err(failed)?;
        Ok(file.finish_synced()?)
    }
}

/// True if a file begins as that of a saved drive. A pipe is not opened: that would wait for a writer.
pub(super) fn is_saved(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *MAGIC
}

fn put_header(file: &mut impl Write, header: &Header) -> io::Result<()> {
    let json = serde_json::to_vec(header)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    file.write_all(&bytes)
}

/// A drive's file that is read.
pub(super) struct Loading {
    path: std::path::PathBuf,
    pub(super) header: Header,
    blocks: BlockReader<BufReader<File>>,
    scratch: Vec<u8>,
}

impl Loading {
    /// Opens a file. One that is no drive, or another engine's, is refused.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |detail: String| Error::DriveFile { path: path.to_owned(), detail };
        let file = File::open(path).map_err(|error| wrong(expecting(&error, "a saved drive").to_string()))?;
        let mut file = BufReader::with_capacity(READ_BYTES, file);
        let header = header(&mut file).map_err(wrong)?;
        let blocks = BlockReader::new(file).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { path: path.to_owned(), header, blocks, scratch: vec![0; SCRATCH_BYTES] })
    }

    /// Reads the next part of the state.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        self.with(|from| T::deserialize(from))
    }

    /// Lets a function read the next part of the state.
    pub(super) fn with<T>(
        &mut self,
        read: impl FnOnce(&mut StateReader<'_>) -> Result<T, postcard::Error>,
    ) -> Result<T, Error> {
        let flavor = IOReader::new(&mut self.blocks as &mut dyn Read, &mut self.scratch);
        let done = read(&mut postcard::Deserializer::from_flavor(flavor));
        done.map_err(|error| {
            let failed = self.blocks.failed.take();
            let detail =
                failed.map_or_else(|| format!("it is damaged: {error}"), |failed| failed.to_string());
            self.wrong(detail)
        })
    }

    /// Checks that nothing is left.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Self { path, blocks, .. } = self;
        blocks.finish().map_err(|error| Error::DriveFile { path, detail: error.to_string() })
    }

    pub(super) fn wrong(&self, detail: String) -> Error {
        Error::DriveFile { path: self.path.clone(), detail }
    }
}

fn header(file: &mut impl Read) -> Result<Header, String> {
    let text = |error: io::Error| cut_short(error).to_string();
    let mut start = [0; 24];
    let mut read = 0;
    while read < start.len() {
        match file.read(&mut start[read..]).map_err(text)? {
            0 => break,
            more => read += more,
        }
    }
    if !start[..read].starts_with(MAGIC) {
        return Err("this is no saved drive; expected a file that a drive was saved to".into());
    }
    if read < start.len() {
        return Err("it is cut short".into());
    }
    let number = |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
    let (format, len) = (number(16), number(20));
    if format != FORMAT {
        return Err(format!(
            "a drive in format {format}, and this is flashweir {VERSION}, which reads format {FORMAT}"
        ));
    }
    if len > HEADER_BYTES {
        return Err(damaged().to_string());
    }
    let mut json = vec![0; len as usize];
    file.read_exact(&mut json).map_err(text)?;
    let mut crc = [0; 4];
    file.read_exact(&mut crc).map_err(text)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&start);
    hasher.update(&json);
    if hasher.finalize() != u32::from_le_bytes(crc) {
        return Err(damaged().to_string());
    }
    // Only who wrote it is known of another engine's.
    let value: Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let (engine, build) = (value["engine"].as_str().unwrap_or("?"), value["build"].as_str().unwrap_or("?"));
    if (engine, build) != (VERSION, BUILD) {
        return Err(format!(
            "saved by engine {engine} (build {build}), and this is {VERSION} (build {BUILD}): expected the engine that saved it"
        ));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn header_of(build: &str) -> Header {
        let header = Header::new(json!({"channels": 2}), DriveOptions::default());
        Header { build: build.into(), ..header }
    }

    fn save(path: &Path, header: &Header) {
        let mut saving = Saving::begin(path, header).expect("begun");
        saving.put("a part of the state").expect("written");
        saving.put(&vec![7u64; 100_000]).expect("written");
        saving.finish().expect("finished");
    }

    fn load(path: &Path) -> Result<(String, Vec<u64>), String> {
        let load = || -> Result<_, Error> {
            let mut loading = Loading::open(path)?;
            let state = (loading.take()?, loading.take()?);
            loading.finish()?;
            Ok(state)
        };
        load().map_err(|error| {
            assert_eq!(error.kind(), crate::ErrorKind::Config);
            error.to_string().replace(&path.display().to_string(), "FILE")
        })
    }

    #[test]
    fn a_file_comes_back_and_another_engines_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("aged.drive");
        save(&path, &header_of(BUILD));
        assert_eq!(load(&path), Ok(("a part of the state".into(), vec![7; 100_000])));
        assert_eq!(Loading::open(&path).expect("open").header, header_of(BUILD));

        save(&path, &header_of("0123456789abcdef"));
        let expected = format!(
            "FILE: saved by engine {VERSION} (build 0123456789abcdef), and this is {VERSION} (build {BUILD}): expected the engine \
             that saved it"
        );
        assert_eq!(load(&path), Err(expected));
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn what_is_no_whole_drive_is_refused_in_one_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("aged.drive");
        save(&path, &header_of(BUILD));
        let file = std::fs::read(&path).expect("a file");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            let error = load(&path).expect_err("refused");
            assert!(error.starts_with("FILE: ") && error.lines().count() == 1, "{error}");
            error
        };
        assert_eq!(
            refused(b"channels = 2\n"),
            "FILE: this is no saved drive; expected a file that a drive was saved to"
        );
        for end in (0..file.len()).step_by(37) {
            let error = refused(&file[..end]);
            assert!(
                error.ends_with("it is cut short") || (end < 16 && error.contains("no saved drive")),
                "{end}: {error}"
            );
        }
        for at in 0..file.len() {
            let mut other = file.clone();
            other[at] ^= 0x10;
            refused(&other);
        }
        let mut newer = file.clone();
        newer[16] = 9;
        let expected =
            format!("FILE: a drive in format 9, and this is flashweir {VERSION}, which reads format 1");
        assert_eq!(refused(&newer), expected);
        assert!(refused(&[&file[..], b"x"].concat()).ends_with("there is more in it than there should be"));
        std::fs::remove_file(&path).expect("removed");
        assert!(load(&path).expect_err("none").contains("No such file"));
        assert!(Saving::begin(Path::new("/nowhere/aged.drive"), &header_of(BUILD)).is_err());
    }
}
