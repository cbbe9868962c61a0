//! libblkid, loaded at run time where it is installed: it knows more formats than our tables, and knows them better.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::{add, words};

/// Its name since version 2.15 of util-linux (2008).
const NAME: &str = "libblkid.so.1";
/// `BLKID_SUBLKS_TYPE`, `BLKID_SUBLKS_USAGE`.
const SUPERBLOCK_FLAGS: c_int = (1 << 5) | (1 << 7);
/// Maximum number of formats that are reported for one drive.
const MAX_FORMATS: usize = 64;

/// `blkid_probe`.
type Probe = *mut c_void;

/// The functions that are called, with the library that holds them.
struct Blkid {
    new_probe: unsafe extern "C" fn() -> Probe,
    free_probe: unsafe extern "C" fn(Probe),
    set_device: unsafe extern "C" fn(Probe, c_int, i64, i64) -> c_int,
    enable_superblocks: unsafe extern "C" fn(Probe, c_int) -> c_int,
    set_superblocks_flags: unsafe extern "C" fn(Probe, c_int) -> c_int,
    enable_partitions: unsafe extern "C" fn(Probe, c_int) -> c_int,
    do_probe: unsafe extern "C" fn(Probe) -> c_int,
    lookup_value: unsafe extern "C" fn(Probe, *const c_char, *mut *const c_char, *mut usize) -> c_int,
    _library: Library,
}

impl Blkid {
    fn load() -> Option<Self> {
        // SAFETY: its initialisers only set up its own memory. Names and types of all functions are those of blkid.h, which has not
        // changed them since they were introduced; `blkid_loff_t` is 64 bits wide everywhere. They are not called after the library is gone.
        unsafe {
            let library = Library::new(NAME).ok()?;
            Some(Self {
                new_probe: *library.get("blkid_new_probe").ok()?,
                free_probe: *library.get("blkid_free_probe").ok()?,
                set_device: *library.get("blkid_probe_set_device").ok()?,
                enable_superblocks: *library.get("blkid_probe_enable_superblocks").ok()?,
                set_superblocks_flags: *library.get("blkid_probe_set_superblocks_flags").ok()?,
                enable_partitions: *library.get("blkid_probe_enable_partitions").ok()?,
                do_probe: *library.get("blkid_do_probe").ok()?,
                lookup_value: *library.get("blkid_probe_lookup_value").ok()?,
                _library: library,
            })
        }
    }

    /// A value of what was found last.
    fn value(&self, probe: Probe, name: &CStr) -> Option<String> {
        let mut text: *const c_char = ptr::null();
        // SAFETY: `probe` is alive, and what a lookup gives is a string of C that lasts until the next call of `do_probe`.
        unsafe {
            let missing = (self.lookup_value)(probe, name.as_ptr(), &raw mut text, ptr::null_mut()) != 0;
            (!missing && !text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    fn names(&self, file: BorrowedFd<'_>) -> Option<Vec<String>> {
        // SAFETY: takes nothing.
        let probe = unsafe { (self.new_probe)() };
        if probe.is_null() {
            return None;
        }
        let mut found = Vec::new();
        // SAFETY: `probe` is alive until it is freed here, once; the descriptor is open and is only read.
        unsafe {
            if (self.set_device)(probe, file.as_raw_fd(), 0, 0) == 0 {
                (self.enable_superblocks)(probe, 1);
                (self.set_superblocks_flags)(probe, SUPERBLOCK_FLAGS);
                (self.enable_partitions)(probe, 1);
                while found.len() < MAX_FORMATS && (self.do_probe)(probe) == 0 {
                    if let Some(kind) = self.value(probe, c"TYPE") {
                        let usage = self.value(probe, c"USAGE");
                        add(&mut found, words::superblock(&kind, usage.as_deref()));
                    } else if let Some(name) =
                        self.value(probe, c"PTTYPE").and_then(|kind| words::partition_table(&kind))
                    {
                        add(&mut found, name);
                    }
                }
            }
            (self.free_probe)(probe);
        }
        Some(found)
    }
}

/// Names that libblkid has for what is on `file`; `None` where it is not installed.
pub(super) fn names(file: BorrowedFd<'_>) -> Option<Vec<String>> {
    static LOADED: OnceLock<Option<Blkid>> = OnceLock::new();
    LOADED.get_or_init(Blkid::load).as_ref()?.names(file)
}
