//! Dies and blocks that break while a drive is stepped.

use std::ops::Range;

use flashweir_ssd::Broken;

use super::Drive;
use crate::error::Error;

/// A part of the flash that breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashPart {
    /// A die, by its number in the drive.
    Die(u32),
    /// A block of a plane of a die.
    Block {
        /// The die, by its number in the drive.
        die: u32,
        /// The plane of the die.
        plane: u32,
        /// The block of the plane.
        block: u32,
    },
    /// The block that holds a sector at present.
    BlockOf(u64),
}

impl Drive {
    /// A part of the flash breaks at the present: what it holds can't be read any more. Returns the sectors that are lost, in order.
    ///
    /// With parity over dies nothing is lost as long as the rest of a stripe can be read: reads rebuild what they ask for. Blocks leave
    /// for good where the drive retires blocks (`ageing.retire`); elsewhere they are written again after their next erase, as spare
    /// flash in their place would be.
    ///
    /// Refuses a part that the drive does not have, and parity without cells that age, which it does not rebuild from.
    pub fn break_part(&mut self, part: FlashPart) -> Result<Vec<Range<u64>>, Error> {
        self.check_goes_on()?;
        let geometry = self.simulation.geometry();
        if geometry.parity > 0 && !self.config.ageing.is_on() {
            let expected = "expected ageing.kind=power-law with it, which says what must be rebuilt";
            return Err(Error::setting("alloc.parity with cells that don't age", expected));
        }
        let (dies, planes) = (geometry.total_dies(), geometry.planes);
        let of_die = |die: u32| {
            let expected = format!("expected a die from 0 to {}", dies - 1);
            if die < dies { Ok(die * planes) } else { Err(Error::setting(format!("die {die}"), expected)) }
        };
        let broken = match part {
            FlashPart::Die(die) => {
                let first = of_die(die)?;
                Broken { units: first..first + planes, block: None }
            }
            FlashPart::Block { die, plane, block } => {
                let first = of_die(die)?;
                if plane >= planes {
                    let expected = format!("expected a plane from 0 to {}", planes - 1);
                    return Err(Error::setting(format!("plane {plane}"), expected));
                }
                let (unit, blocks) = (first + plane, geometry.unit_blocks(first + plane));
                if u64::from(block) >= blocks {
                    let expected = format!("expected a block from 0 to {}", blocks - 1);
                    return Err(Error::setting(format!("block {block}"), expected));
                }
                Broken { units: unit..unit + 1, block: Some(block) }
            }
            FlashPart::BlockOf(lba) => {
                let Some((unit, block)) = self.simulation.block_of(lba) else {
                    let expected = "expected one with data on flash";
                    return Err(Error::setting(format!("sector {lba}"), expected));
                };
                Broken { units: unit..unit + 1, block: Some(block) }
            }
        };
        Ok(self.simulation.break_blocks(&broken))
    }
}
