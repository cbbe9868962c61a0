//! Order of channels, chips, dies and planes that places pages as was seen.

use super::layout::{Layout, Shared};

/// The orders of `alloc.order`, the usual one first: digits of a page number from the fastest on.
const ORDERS: [&str; 6] = ["CDPW", "CPDW", "CDWP", "CPWD", "CWDP", "WDPC"];

/// A shape whose pages lie as was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) chips: u64,
    pub(super) dies: u64,
    pub(super) order: &'static str,
    /// True if it places every examined page as the drive does.
    pub(super) fits: bool,
}

/// The simplest shape that places pages as was seen: as few chips as possible, the usual order if it does.
pub(super) fn shape(layout: &Layout, planes: u64) -> Shape {
    let on_channel = (layout.dies / layout.channels).max(1);
    let chips = (1..=on_channel).filter(|chips| on_channel.is_multiple_of(*chips));
    let mut shapes = chips
        .flat_map(|chips| ORDERS.map(|order| Shape { chips, dies: on_channel / chips, order, fits: true }));
    let usual = Shape { chips: 1, dies: on_channel, order: ORDERS[0], fits: false };
    shapes.find(|shape| places(shape, layout, planes)).unwrap_or(usual)
}

fn places(shape: &Shape, layout: &Layout, planes: u64) -> bool {
    let all = layout.dies * planes;
    let period = layout.shared.len() as u64;
    (0..all.max(period)).all(|page| {
        let mut number = page % all;
        let (mut channel, mut die) = (0, 0);
        for digit in shape.order.bytes() {
            let extent = match digit {
                b'C' => layout.channels,
                b'W' => shape.chips,
                b'D' => shape.dies,
                _ => planes,
            };
            let value = number % extent;
            number /= extent;
            match digit {
                b'C' => channel = value,
                b'W' | b'D' => die += value,
                _ => {}
            }
        }
        let shared = match (channel, die) {
            (0, 0) => Shared::Die,
            (0, _) if layout.transfer_ns.is_some() => Shared::Channel,
            _ => Shared::Nothing,
        };
        layout.shared[(page % period) as usize] == shared
    })
}
