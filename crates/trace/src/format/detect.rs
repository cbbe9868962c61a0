//! Detection of a file's format: by its name first, else by its content.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use super::input::Input;
use super::report::Report;
use super::sink::{Sink, Want};
use super::{Format, binary, text};
use crate::TraceError;
use crate::output::is_standard;

/// Bytes of content looked at.
const SAMPLE: usize = 64 << 10;

/// Lines of it that must decode.
const SAMPLE_LINES: usize = 200;

/// The format that the content of `path` fits. Standard input is looked at where it is a file, and is then where it was.
pub(crate) fn by_content(path: &Path) -> Result<Format, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let pipe = || {
        let detail = "it is a pipe or a device, whose content can't be looked at beforehand".to_owned();
        TraceError::UnknownFormat { path: path.to_owned(), detail }
    };
    if is_standard(path) {
        let mut stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
        if !stdin.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(pipe());
        }
        let at = stdin.stream_position().map_err(failed)?;
        let found = by_sample(path);
        stdin.seek(SeekFrom::Start(at)).map_err(failed)?;
        return found;
    }
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Err(pipe());
    }
    by_sample(path)
}

/// The format that the start of a file fits.
fn by_sample(path: &Path) -> Result<Format, TraceError> {
    let mut input = Input::open(path)?;
    let sample = input.peek(SAMPLE)?;
    let sample = &sample[..sample.len().min(SAMPLE)];
    let unknown =
        |detail: &str| TraceError::UnknownFormat { path: path.to_owned(), detail: detail.to_owned() };
    if sample.is_empty() {
        return Err(unknown("it is empty"));
    }
    if let Some(format) = Format::ALL.into_iter().find(|format| binary::fits(*format, sample)) {
        return Ok(format);
    }
    if sample[..sample.len().min(1024)].contains(&0) {
        return Err(unknown("it is binary, and starts like none that is known"));
    }
    // A format that all lines fit, else one that all but a few fit: then reading says which line is bad.
    let fitting = |most_bad| Format::ALL.into_iter().find(|format| fits_lines(*format, sample, most_bad));
    fitting(0)
        .or_else(|| fitting(SAMPLE_LINES / 20))
        .ok_or_else(|| unknown(&format!("its first lines fit none, such as {}", quote_first_line(sample))))
}

/// True if all lines of `sample` but at most `most_bad` decode as `format`, and hold more requests than bad lines.
fn fits_lines(format: Format, sample: &[u8], most_bad: usize) -> bool {
    let Some(mut decoder) = text::decoder(format, None) else { return false };
    let mut sink = Sink::new(Want::Requests, Report::new(format, "content"), 0, None);
    let ends_within_line = sample.len() >= SAMPLE;
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let mut lines = sample.split(|byte| *byte == b'\n').collect::<Vec<_>>();
    if ends_within_line {
        lines.pop();
    }
    let tried: Vec<&[u8]> = lines
        .into_iter()
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty())
        .take(SAMPLE_LINES)
        .collect();
    if decoder.looks_ahead() {
        let start = Box::new(std::io::Cursor::new(tried.join(&b'\n')));
        if decoder.look_ahead(&mut Input::from_reader(Path::new("sample"), start, false)).is_err() {
            return false;
        }
    }
    let mut bad = 0;
    for line in tried {
        bad += usize::from(decoder.line(line, &mut sink).is_err());
        if bad > most_bad || sink.failed.is_some() {
            return false;
        }
    }
    sink.finish();
    sink.report.requests + sink.report.flushes > bad as u64
}

fn quote_first_line(sample: &[u8]) -> String {
    let line = sample.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    format!("\"{}\"", line[..line.len().min(80)].escape_ascii())
}
