//! Independent models of channel management and of scheduling, and the simulator against them.
//!
//! The models are written straight from the papers and share no code with the simulator but the generator of requests:
//! [`lockstep`] over [`log`] blocks, and asynchronous [`channels`] over [`fast`], [`page`] and [`dftl`]. They are held
//! to the papers' [`worked`] examples and [`printed`] results and to closed forms ([`theory`]); the simulator is held
//! to them over grids of drives that no paper prints. Scheduling below the FTL has models of its own, [`read_first`] and [`suspend`],
//! to which [`sched_grid`] holds every completion of random streams; so have the host, [`arbitration`] and [`arbitration_grid`],
//! and the [`allocation`] of channels to tenants.

mod allocation;
mod allocation_grid;
mod arbitration;
mod arbitration_grid;
mod channels;
mod channels_grid;
mod dftl;
mod fast;
mod ftl;
mod lockstep;
mod lockstep_grid;
mod log;
mod page;
mod printed;
mod read_first;
mod sched_grid;
mod simulator;
mod stream;
mod suspend;
mod theory;
mod worked;
