//! Contents of flash at an instant, and the mapping that a rebuild finds there.
//!
//! After a power cut the drive reads the spare areas of all pages. For each logical page the image with the highest
//! sequence counts, with those in random write areas, unless the journal of discards has a higher one for it. Here the images of each logical page are kept
//! in a list, so that this is known after every change; [`Flash::rebuild`] does it from nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use flashweir_ssd::{Baseline, Image, Trim};

/// Result of a rebuild for a logical page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Page(Arc<Image>),
    Trimmed(Trim),
}

impl Found {
    /// Its sequence: different things have different ones.
    pub(super) fn sequence(&self) -> u64 {
        match self {
            Found::Nothing => 0,
            Found::Page(image) => image.sequence,
            Found::Trimmed(trim) => trim.sequence,
        }
    }

    /// The version of a sector.
    pub(super) fn version(&self, sector: usize) -> u64 {
        match self {
            Found::Nothing => Image::NOTHING,
            Found::Page(image) => image.version(sector),
            Found::Trimmed(trim) => trim.version,
        }
    }
}

/// No page: the end of a list.
const END: u32 = u32::MAX;

/// The pages that can be read, and the discards that are journalled.
#[derive(Clone, Debug)]
pub(super) struct Flash {
    /// By physical page.
    images: Vec<Option<Arc<Image>>>,
    /// By logical page: the physical page of its first image.
    first: Vec<u32>,
    /// By physical page: that of the next image of the same logical page.
    next: Vec<u32>,
    /// By logical page: the newest image in a random write area. One that was committed counts until its program has ended; then
    /// the one on flash is newer.
    held: BTreeMap<u64, Arc<Image>>,
    /// By logical page.
    trims: BTreeMap<u64, Trim>,
}

impl Flash {
    pub(super) fn new(baseline: Baseline) -> Self {
        let pages = baseline.images.len();
        let mut flash = Self {
            images: vec![None; pages],
            first: vec![END; baseline.logical_pages as usize],
            next: vec![END; pages],
            held: baseline.held.into_iter().map(|image| (image.lpn, image)).collect(),
            trims: baseline.trims,
        };
        for (page, image) in (0..).zip(baseline.images) {
            if let Some(image) = image {
                flash.program(page, image);
            }
        }
        flash
    }

    /// The image in a physical page.
    pub(super) fn image(&self, page: u64) -> Option<&Arc<Image>> {
        self.images[page as usize].as_ref()
    }

    /// A page can be read from now on.
    pub(super) fn program(&mut self, page: u64, image: Arc<Image>) {
        self.erase(page);
        self.next[page as usize] = std::mem::replace(&mut self.first[image.lpn as usize], page as u32);
        self.images[page as usize] = Some(image);
    }

    /// A page is in a random write area from now on.
    pub(super) fn hold(&mut self, image: Arc<Image>) {
        self.held.insert(image.lpn, image);
    }

    /// A page can't be read any more.
    pub(super) fn erase(&mut self, page: u64) {
        let Some(image) = self.images[page as usize].take() else { return };
        let after = self.next[page as usize];
        let first = &mut self.first[image.lpn as usize];
        let mut at = *first;
        if u64::from(at) == page {
            *first = after;
            return;
        }
        while at != END {
            let next = self.next[at as usize];
            if u64::from(next) == page {
                self.next[at as usize] = after;
                return;
            }
            at = next;
        }
    }

    /// A trim is journalled.
    pub(super) fn trim(&mut self, lpn: u64, trim: Trim) {
        self.trims.insert(lpn, trim);
    }

    /// Result of a rebuild for a logical page.
    pub(super) fn find(&self, lpn: u64) -> Found {
        let mut newest = self.held.get(&lpn);
        let mut at = self.first[lpn as usize];
        while at != END {
            let image = self.images[at as usize].as_ref();
            newest = newest.into_iter().chain(image).max_by_key(|image| image.sequence);
            at = self.next[at as usize];
        }
        match (newest, self.trims.get(&lpn)) {
            (Some(image), Some(trim)) if trim.sequence > image.sequence => Found::Trimmed(*trim),
            (Some(image), _) => Found::Page(Arc::clone(image)),
            (None, Some(trim)) => Found::Trimmed(*trim),
            (None, None) => Found::Nothing,
        }
    }

    /// Reads all spare areas: the sequence of what is found of each logical page that anything is found of.
    pub(super) fn rebuild(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut newest: Vec<Option<u64>> = vec![None; self.first.len()];
        let of_pages = self.images.iter().flatten().chain(self.held.values());
        let of_pages = of_pages.map(|image| (image.lpn, image.sequence));
        let of_trims = self.trims.iter().map(|(lpn, trim)| (*lpn, trim.sequence));
        for (lpn, sequence) in of_pages.chain(of_trims) {
            let found = &mut newest[lpn as usize];
            *found = (*found).max(Some(sequence));
        }
        (0..).zip(newest).filter_map(|(lpn, sequence)| Some((lpn, sequence?)))
    }
}
