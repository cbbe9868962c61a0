//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

#[path = "device/main.rs"]
mod device;
#[path = "paths/main.rs"]
mod paths;
#[path = "tenants/main.rs"]
mod tenants;
