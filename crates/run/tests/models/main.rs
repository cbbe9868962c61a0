//! Independent models of channel management, and the simulator against them.

mod channels;
mod fast;
mod ftl;
mod lockstep;
mod log;
mod page;
mod printed;
mod stream;
mod worked;
