//! Device tests: every timing rule at t - 1 and at t, the order and the gaps of commands. Times are worked out by hand
//! from four numbers, and both time paths must give them where both apply.

mod ageing;
mod arbitration;
mod background;
mod backpressure;
mod buffer;
mod bus;
mod cells;
mod codewords;
mod commands;
mod destage;
mod dynamic;
mod flin;
mod host;
mod interface;
mod limits;
mod map_unit;
mod mapping;
mod pages;
mod placement;
mod presets;
mod records;
mod refresh;
mod rig;
mod schedules;
mod scheduling;
mod single;
mod slc;
mod slc_map;
mod slc_superblocks;
mod superblocks;
mod suspension;
mod targets;
mod trim;
mod victims;
mod zones;
