//! Independent models of channel management, and the simulator against them.
//!
//! The models are written straight from the papers and share no code with the simulator but the generator of requests:
//! [`lockstep`] over [`log`] blocks, and asynchronous [`channels`] over [`fast`], [`page`] and [`dftl`]. They are held
//! to the papers' [`worked`] examples and [`printed`] results and to closed forms ([`theory`]); the simulator is held
//! to them over grids of drives that no paper prints.

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
mod simulator;
mod stream;
mod theory;
mod worked;
