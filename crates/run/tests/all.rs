//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

mod activity;
mod arbitration;
mod drain;
mod drive;
mod energy;
mod external;
mod frozen;
mod golden;
mod metamorphic;
mod mix;
mod models;
mod power;
mod robust;
mod spare;
mod tenants;
mod theory;
mod timeline;
mod warmup;
mod zones;
