//! The link between host and drive: how many bytes a second it carries, and when a transfer is done.
//!
//! Each direction is a pipe: transfers take it one after the other, in the order in which they become ready. PCI Express carries both
//! directions at the same time; SATA is half duplex, so both share one pipe.
//!
//! The rate counts data alone. PCI Express: lanes x transfers a second x encoding (8b/10b, from generation 3 on 128b/130b) x packets:
//! 256 bytes of data in each, with 24 bytes around them (framing, sequence number, header of four words, link CRC: Intel AN 708,
//! "Understanding PCI Express Throughput"). Acknowledgements and flow control are left out. SATA: 6 Gbit/s x 8b/10b x frames: 8192
//! bytes of data in each, with 16 bytes around them (SOF, FIS header, CRC, EOF: Serial ATA 3.0, chapter 10). Handshakes are left out.

use std::borrow::Cow;

use flashweir_trace::quantity::{format_bytes, parse_bytes};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Transfers a second and lane of PCI Express, in millions, by generation from 1.
const MEGATRANSFERS: [u64; 5] = [2_500, 5_000, 8_000, 16_000, 32_000];
/// Lanes that a link can have.
const LANES: [u64; 5] = [1, 2, 4, 8, 16];
/// Bytes of data in a packet of PCI Express, and with what is around them.
const PACKET: [u64; 2] = [256, 280];
/// The same in a frame of SATA.
const FRAME: [u64; 2] = [8192, 8208];
/// The highest rate that can be given, bytes a second.
const MAX_RATE: u64 = 1_000_000_000_000;

/// A link. In configuration: `none`, `pcie3x4` (generation and lanes), `sata3`, or bytes a second each way such as `3.2GB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Data take no time.
    #[default]
    None,
    /// Bytes a second, each way at the same time.
    Rate(u64),
    /// PCI Express.
    Pcie {
        /// 1 to 5.
        generation: u8,
        /// 1, 2, 4, 8 or 16.
        lanes: u8,
    },
    /// SATA of 6 Gbit/s.
    Sata3,
}

impl Link {
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "none" => Some(Self::None),
            "sata3" => Some(Self::Sata3),
            text => {
                let Some(pcie) = text.strip_prefix("pcie") else {
                    let rate = parse_bytes(text.strip_suffix("/s").unwrap_or(text))?;
                    return (1..=MAX_RATE).contains(&rate).then_some(Self::Rate(rate));
                };
                let (generation, lanes) = pcie.split_once('x')?;
                let (generation, lanes) = (generation.parse().ok()?, lanes.parse().ok()?);
                let is_known = (1..=MEGATRANSFERS.len() as u8).contains(&generation)
                    && LANES.contains(&u64::from(lanes));
                is_known.then_some(Self::Pcie { generation, lanes })
            }
        }
    }

    /// Bytes of data a second, each way; `None` if data take no time.
    pub fn bytes_per_second(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Rate(rate) => Some(rate),
            Self::Pcie { generation, lanes } => {
                let transfers = MEGATRANSFERS[usize::from(generation) - 1] * 1_000_000 * u64::from(lanes);
                let (data, coded) = if generation < 3 { (8, 10) } else { (128, 130) };
                Some(transfers * data * PACKET[0] / (8 * coded * PACKET[1]))
            }
            Self::Sata3 => Some(600_000_000 * FRAME[0] / FRAME[1]),
        }
    }

    /// True if only one direction goes at a time.
    fn is_half_duplex(self) -> bool {
        self == Self::Sata3
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Sata3 => serializer.serialize_str("sata3"),
            Self::Pcie { generation, lanes } => {
                serializer.serialize_str(&format!("pcie{generation}x{lanes}"))
            }
            Self::Rate(rate) => serializer.serialize_str(&format!("{}/s", format_bytes(*rate))),
        }
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A bare rate is a number.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(u64),
            Fraction(f64),
            Text(String),
        }
        let link = match Raw::deserialize(deserializer) {
            Ok(Raw::Number(rate)) => Self::parse(&rate.to_string()),
            Ok(Raw::Fraction(rate)) => Self::parse(&rate.to_string()),
            Ok(Raw::Text(text)) => Self::parse(&text),
            Err(_) => None,
        };
        link.ok_or_else(|| {
            D::Error::custom(
                "expected none, sata3, pcie3x4 and the like (generation 1 to 5, 1, 2, 4, 8 or 16 lanes), or bytes a second \
                 each way, up to 1TB/s, such as \"3.2GB/s\"",
            )
        })
    }
}

impl JsonSchema for Link {
    fn schema_name() -> Cow<'static, str> {
        "Link".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"],
            "description": "none, pcie3x4 and the like, sata3, or bytes a second each way such as \"3.2GB/s\""})
    }
    fn inline_schema() -> bool {
        true
    }
}

/// A direction of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Direction {
    /// From the host to the drive: what is written.
    ToDrive,
    /// From the drive to the host: what is read.
    ToHost,
}

/// The pipes of a link, busy until a time each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pipes {
    rate: u64,
    half_duplex: bool,
    /// By direction; of a half-duplex link the first serves both.
    free_ns: [u64; 2],
}

impl Pipes {
    pub(super) fn new(link: Link) -> Option<Self> {
        let rate = link.bytes_per_second()?;
        Some(Self { rate, half_duplex: link.is_half_duplex(), free_ns: [0; 2] })
    }

    /// Time of a transfer, ns, rounded up: the link never carries more than its rate.
    pub(super) fn transfer_ns(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.rate)) as u64
    }

    /// A transfer is ready at `now_ns`: it goes when those before it are done. Returns its start and end, ns.
    pub(super) fn take(&mut self, direction: Direction, now_ns: u64, bytes: u64) -> (u64, u64) {
        let duration_ns = self.transfer_ns(bytes);
        let free_ns = &mut self.free_ns[if self.half_duplex { 0 } else { direction as usize }];
        let start_ns = now_ns.max(*free_ns);
        *free_ns = start_ns + duration_ns;
        (start_ns, *free_ns)
    }
}
