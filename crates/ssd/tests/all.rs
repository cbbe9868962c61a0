//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

use flashweir_ssd::zones;

mod device;
mod paths;
mod tenants;
