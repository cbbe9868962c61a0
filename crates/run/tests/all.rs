//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

#[path = "activity.rs"]
mod activity;
#[path = "arbitration.rs"]
mod arbitration;
#[path = "drive/main.rs"]
mod drive;
#[path = "frozen/main.rs"]
mod frozen;
#[path = "golden/main.rs"]
mod golden;
#[path = "metamorphic/main.rs"]
mod metamorphic;
#[path = "mix.rs"]
mod mix;
#[path = "models/main.rs"]
mod models;
#[path = "power/main.rs"]
mod power;
#[path = "robust/main.rs"]
mod robust;
#[path = "tenants.rs"]
mod tenants;
#[path = "theory/main.rs"]
mod theory;
#[path = "timeline/main.rs"]
mod timeline;
#[path = "warmup.rs"]
mod warmup;
