//! The look-alikes: DiskSim, SSDsim, MQSim and FlashSim all write `time device address size flags` between white
//! space, and differ in units only. Their content does not tell them apart, so reports say what was assumed.
//!
//! | format | time | size | flags |
//! |---|---|---|---|
//! | SSDsim | ns, whole | sectors | 1 read, 0 write; a sixth column (content hash of forks) is ignored |
//! | MQSim | ns, whole | sectors | 1 read, 0 write |
//! | MQSim with milliseconds | ms, decimal | sectors | 1 read, 0 write |
//! | DiskSim | ms, decimal | sectors | hexadecimal, bit 0 is 1 for a read |
//! | FlashSim | ms, decimal | 4 KiB pages | 1 read, 0 write |

use super::Format;
use super::line::{LineDecoder, Words};
use super::number::{hex, whole};
use super::op;
use super::sink::{Raw, Sink};
use crate::{FieldError, Op};

/// Decoder of one of the five-column formats.
#[derive(Debug)]
pub(crate) struct Columns5 {
    format: Format,
    /// Times are decimals of `10^time_power` ns; zero: whole nanoseconds.
    time_power: u32,
    /// Sectors in a unit of size.
    size_sectors: u64,
    hexadecimal_flags: bool,
    more_columns: bool,
}

impl Columns5 {
    /// SSDsim's columns.
    pub(crate) const SSDSIM: Self = Self {
        format: Format::Ssdsim,
        time_power: 0,
        size_sectors: 1,
        hexadecimal_flags: false,
        more_columns: true,
    };
    /// MQSim's columns.
    pub(crate) const MQSIM: Self = Self { format: Format::Mqsim, more_columns: false, ..Self::SSDSIM };
    /// MQSim's columns with times in milliseconds.
    pub(crate) const MQSIM_MS: Self = Self { format: Format::MqsimMs, time_power: 6, ..Self::MQSIM };
    /// DiskSim's columns.
    pub(crate) const DISKSIM: Self =
        Self { format: Format::Disksim, hexadecimal_flags: true, ..Self::MQSIM_MS };
    /// FlashSim's columns.
    pub(crate) const FLASHSIM: Self = Self { format: Format::Flashsim, size_sectors: 8, ..Self::MQSIM_MS };
}

impl LineDecoder for Columns5 {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), FieldError> {
        let mut words = Words::new(line);
        let time_ns =
            if self.time_power == 0 { words.whole("time") } else { words.decimal("time", self.time_power) }?;
        let device = words.next("device")?;
        whole("device", device)?;
        let lba = words.whole("address")?;
        let sectors = words.scaled("size", self.size_sectors)?;
        let flags = words.next("flags")?;
        let op = if !self.hexadecimal_flags {
            op::digit("flags", flags, b'1')?
        } else if hex("flags", flags)? & 1 == 1 {
            Op::Read
        } else {
            Op::Write
        };
        if !self.more_columns {
            words.end("5 fields")?;
        }
        sink.push(Raw { device, ..Raw::sectors(time_ns, op, lba, sectors) })
    }

    fn assumptions(&self) -> Vec<String> {
        let time = if self.time_power == 0 {
            "times are nanoseconds (copies in microseconds exist: rescale those)"
        } else {
            "times are milliseconds"
        };
        let size =
            if self.size_sectors == 1 { "512-byte sectors" } else { "4 KiB pages, addresses in sectors" };
        let alike = "ssdsim, mqsim, mqsim-ms, disksim and flashsim look alike";
        vec![format!("{alike}; read as {}: {time}, sizes are {size}, flag 1 is a read", self.format)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode, decode_err};
    use super::*;

    #[test]
    fn units_are_those_of_the_format() {
        for (decoder, line, time_ns, sectors) in [
            (Columns5::SSDSIM, "26214000 0 303574 7 0", 26_214_000, 7),
            (Columns5::SSDSIM, "26214000\t0\t303574\t7\t0\tdeadbeef", 26_214_000, 7),
            (Columns5::MQSIM, "26214000 0 303574 7 0", 26_214_000, 7),
            (Columns5::MQSIM_MS, "26.214000 0 303574 7 0", 26_214_000, 7),
            (Columns5::DISKSIM, "26.214 0 303574 7 2", 26_214_000, 7),
            (Columns5::FLASHSIM, "26.214000\t0\t303574\t1\t0", 26_214_000, 8),
        ] {
            let text = format!("0 0 0 8 1\n{line}\n");
            let (requests, _) = decode(Box::new(decoder), &text);
            assert_eq!(requests[0].op, Op::Read);
            let got = requests[1];
            assert_eq!(
                (got.time_ns, got.lba, got.sectors, got.op),
                (time_ns, 303_574, sectors, Op::Write),
                "{line}"
            );
        }
    }

    #[test]
    fn bad_fields_say_what_was_expected() {
        for (decoder, line, said) in [
            (Columns5::SSDSIM, "1.5 0 0 8 1", "time: found \"1.5\", expected a whole number"),
            (Columns5::SSDSIM, "1 0 0 8 2", "flags: found \"2\", expected 1 (read) or 0 (write)"),
            (Columns5::MQSIM, "1 0 0 8 1 6", "line end: found \"6\", expected 5 fields"),
            (Columns5::MQSIM, "1 0 0 8", "flags: found the end of the line"),
            (Columns5::DISKSIM, "1.0 0 0 -8 1", "size: found \"-8\", expected a number that is not negative"),
            (Columns5::DISKSIM, "1.0 0 0 8 z", "flags: found \"z\", expected a hexadecimal number"),
            (Columns5::FLASHSIM, "1.0 0 0 9999999999999999999 1", "below 2^64"),
            (Columns5::DISKSIM, "1.0 0 18446744073709551615 8 1", "ends below sector 2^64"),
        ] {
            let error = decode_err(Box::new(decoder), line);
            assert!(error.contains(said), "{line}: {error}");
        }
    }

    #[test]
    fn what_was_assumed_is_said() {
        assert!(Columns5::FLASHSIM.assumptions()[0].contains("4 KiB pages"));
        assert!(Columns5::MQSIM.assumptions()[0].contains("read as mqsim: times are nanoseconds"));
    }
}
