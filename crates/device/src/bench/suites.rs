//! Workloads of each suite, and the largest scale for which a drive has room.
//!
//! Five suites as in docs/guide/bench.md: transfer, buffer, mapping, collection (`gc`), and one that has all of it (`overall`). `linux` has
//! workloads of today, and `plain` the sweeps of sequential and random writes that data sheets are made of, for comparison;
//! neither counts for the score of all.

use flashweir_trace::generate::App;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The volume of the workloads at a scale of a hundredth, bytes.
const HUNDREDTH_BYTES: u64 = 160_000_000;
/// Space before a volume, and the loss by rounding, bytes.
const BEFORE_BYTES: u64 = 3 << 20;
/// The least scale, in hundredths.
const LEAST: u64 = 1;
/// Sizes of the plain sweeps, KiB.
const PLAIN_KIB: [u64; 5] = [4, 16, 64, 256, 1024];
/// Bytes that one plain sweep writes at scale 1.
const PLAIN_BYTES: u64 = 256 << 20;

/// A suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Long sequential writes.
    Transfer,
    /// More writes than a write buffer holds, with locality.
    Buffer,
    /// Small writes scattered over the drive.
    Mapping,
    /// Intense rewriting.
    Gc,
    /// Everything: an operating system is installed.
    Overall,
    /// Workloads of Linux systems of today.
    Linux,
    /// Sweeps of sequential and random writes.
    Plain,
}

impl Suite {
    /// All suites, in the order of the documentation.
    pub const ALL: [Suite; 7] = [
        Suite::Transfer,
        Suite::Buffer,
        Suite::Mapping,
        Suite::Gc,
        Suite::Overall,
        Suite::Linux,
        Suite::Plain,
    ];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Transfer => "transfer",
            Suite::Buffer => "buffer",
            Suite::Mapping => "mapping",
            Suite::Gc => "gc",
            Suite::Overall => "overall",
            Suite::Linux => "linux",
            Suite::Plain => "plain",
        }
    }

    /// True if its score is part of the score of all suites.
    pub const fn counts(self) -> bool {
        !matches!(self, Suite::Linux | Suite::Plain)
    }

    /// Its applications.
    const fn apps(self) -> &'static [App] {
        match self {
            Suite::Transfer => &[App::CopyMp3, App::Bittorrent],
            Suite::Buffer => &[App::Emule],
            Suite::Mapping => &[App::InstallLinux],
            Suite::Gc => &[App::Pcmark05, App::Email, App::Browser],
            Suite::Overall => &[App::InstallWindows],
            Suite::Linux => &[
                App::Ext4Install,
                App::PackageBuild,
                App::SqliteWal,
                App::Postgresql,
                App::Rocksdb,
                App::VmBoot,
            ],
            Suite::Plain => &[],
        }
    }

    /// Its workloads at a scale in hundredths.
    pub fn workloads(self, hundredths: u64, seed: u64) -> Vec<Workload> {
        let scale = hundredths as f64 / 100.0;
        if self == Suite::Plain {
            return plain(hundredths, seed);
        }
        let workload = |app: &App| {
            let name = app.name();
            // Only what fills chunks tests a buffer; the space for them has to be reserved first.
            let (setup, phase) = match app {
                App::Emule => {
                    (Some(format!("{name}:scale={scale},phase=reserve,seed={seed}")), ",phase=chunks")
                }
                _ => (None, ""),
            };
            let spec = format!("{name}:scale={scale}{phase},seed={seed}");
            Workload { suite: self, name: name.into(), setup, spec }
        };
        self.apps().iter().map(workload).collect()
    }
}

/// Workload: the unit that is run at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Suite that it belongs to.
    pub suite: Suite,
    /// Its name, once in a suite.
    pub name: String,
    /// Requests that come first and do not count.
    pub setup: Option<String>,
    /// The requests that count.
    pub spec: String,
}

fn plain(hundredths: u64, seed: u64) -> Vec<Workload> {
    let span = HUNDREDTH_BYTES * hundredths;
    let sweep = |kind: &str, kib: u64| {
        let size = kib << 10;
        let count = (PLAIN_BYTES / 100 * hundredths / size).max(16);
        let whole = span / size * size;
        let spec = format!("{kind}:size={size},span={whole},align={size},count={count},seed={seed}");
        Workload { suite: Suite::Plain, name: format!("{kind}-{kib}k"), setup: None, spec }
    };
    ["sequential", "random"].iter().flat_map(|kind| PLAIN_KIB.map(|kib| sweep(kind, kib))).collect()
}

/// The scale in hundredths: the one asked for, or the largest up to 1 that a drive has room for.
///
/// # Errors
/// [`Error::Setting`] if the drive has no room for it.
pub fn scale(asked: Option<f64>, name: &str, size_bytes: u64) -> Result<u64, Error> {
    let most = (size_bytes.saturating_sub(BEFORE_BYTES) / HUNDREDTH_BYTES).min(100);
    let wrong = |what: String, expected: String| Err(Error::Setting { what, expected });
    if most < LEAST {
        let expected = format!("has {} MB, expected at least 164", size_bytes / 1_000_000);
        return wrong(name.into(), expected);
    }
    let Some(asked) = asked else { return Ok(most) };
    let hundredths = (asked * 100.0).round();
    if !((0.999..=100.001).contains(&hundredths) && (asked * 100.0 - hundredths).abs() < 1e-6) {
        return wrong(format!("--scale {asked}"), "expected hundredths from 0.01 to 1".into());
    }
    #[expect(clippy::cast_sign_loss, reason = "checked above")]
    let hundredths = hundredths as u64;
    if hundredths > most {
        let expected = format!("{name} has room for at most --scale {}", most as f64 / 100.0);
        return wrong(format!("--scale {asked}"), expected);
    }
    Ok(hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashweir_trace::generate::Spec;

    #[test]
    fn every_workload_is_a_spec_that_fits() {
        for hundredths in [1, 7, 100] {
            for suite in Suite::ALL {
                let all = suite.workloads(hundredths, 3);
                assert!(!all.is_empty());
                for workload in &all {
                    for text in workload.setup.iter().chain([&workload.spec]) {
                        let spec = Spec::parse(text).unwrap();
                        let most = HUNDREDTH_BYTES * hundredths + BEFORE_BYTES;
                        assert!(spec.span_end_bytes() <= most, "{text}: {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_scale_is_what_fits_or_what_was_asked() {
        assert_eq!(scale(None, "sim:x", 1 << 40).unwrap(), 100);
        assert_eq!(scale(None, "sim:x", 2_000_000_000).unwrap(), 12);
        assert_eq!(scale(Some(0.05), "sim:x", 2_000_000_000).unwrap(), 5);
        for (asked, size) in
            [(Some(0.2), 2_000_000_000), (None, 1000), (Some(0.0), 1 << 40), (Some(f64::NAN), 1 << 40)]
        {
            let error = scale(asked, "sim:x", size).unwrap_err().to_string();
            assert!(error.contains("expected") || error.contains("at most"), "{error}");
        }
    }
}
