//! The part of a page that crosses the bus: all of it, or the codewords of the sectors that somebody asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
