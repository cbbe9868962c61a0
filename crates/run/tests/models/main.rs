//! Independent models of channel management, and the simulator against them.

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
