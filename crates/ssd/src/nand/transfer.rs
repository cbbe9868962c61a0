//! The part of a page that crosses the bus: all of it, or the codewords of the sectors that somebody asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Bytes;

/// Unit of a transfer out of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// Whole pages cross the bus.
    #[default]
    Page,
    /// The codewords cross the bus that hold sectors which are asked for. The array senses the whole page.
    Codeword,
}

/// Transfers out of the flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NandConfig {
    /// Part of a page that a read of the host, or of a read-modify-write, brings over the bus.
    pub transfer: Transfer,
    /// Data of one codeword of the error-correcting code, a multiple of 512 bytes that divides `page`. It is decoded, and
    /// so transferred, as a whole.
    pub codeword: Bytes,
}

impl Default for NandConfig {
    fn default() -> Self {
        Self { transfer: Transfer::default(), codeword: Bytes(1024) }
    }
}
