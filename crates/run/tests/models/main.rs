//! Independent models of channel management, and the simulator against them.

mod lockstep;
mod log;
mod printed;
mod stream;
