//! Pages that were there before the run (`page/lay.rs`). Their entries were on flash, in translation pages that were there
//! as well, so that a look-up takes as long as on a drive that was written.

use super::{Dftl, Frontier, Home, Ops, RunError};

impl Dftl {
    /// Gives a page of which there is no version a physical page, and its translation page one if it has none.
    pub(in crate::ftl) fn lay(&mut self, home: Home, ops: &mut Ops) -> Result<(), RunError> {
        let page = self.page_of(home.key);
        if self.translation_page(home.unit, page).is_none() {
            let at = self.unit_of(page, home.unit);
            // A collection that makes room may write it, too.
            self.make_map_room(at, ops)?;
            if self.translation_page(at, page).is_none() {
                self.lay_map_page(at, page, ops)?;
            }
        }
        let kept = self.reserve(home.unit);
        let logical = self.rules.logical;
        if !self.page.lay_apart(home, kept, ops) && !self.page.lay_on_die(home, logical, ops) {
            self.make_room(home.unit, ops)?;
            self.page.lay_at_host(home, ops);
        }
        Ok(())
    }

    fn lay_map_page(&mut self, unit: u32, page: u32, ops: &mut Ops) -> Result<(), RunError> {
        let rules = self.rules;
        let Frontier { block, next } = self.take_map_page(unit, ops)?;
        self.page.put(unit, block, next, rules.logical + page);
        self.units[unit as usize].translation_pages += 1;
        ops.laid(unit, block * rules.pages_per_block + next, true);
        Ok(())
    }
}
