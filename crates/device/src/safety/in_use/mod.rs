//! Users of a target, as the kernel knows them. What stands on a target is followed up (partitions, volumes, arrays,
//! loop devices, and what is mounted or swaps on them). What a target stands on is followed down to its disk or file,
//! and from there up to all that share its bytes.

mod block;
mod loops;
mod mounts;
mod pools;
mod system;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::File;
use std::path::Path;

use super::{Finding, Weight};
use block::Block;
use pools::Member;
use system::System;

/// A thing with bytes: a block device by its number, or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Block(u64),
    File { device: u64, inode: u64 },
}

/// Reasons not to write a target: its users, and what kept us from looking for them. `open` is the target, opened, if it could be.
pub(super) fn findings(node: Node, open: Option<(&File, u64)>) -> Vec<Finding> {
    of_root(Path::new("/"), node, open)
}

/// The same, with `/proc`, `/sys` and `/dev` below `root`.
fn of_root(root: &Path, node: Node, open: Option<(&File, u64)>) -> Vec<Finding> {
    let system = System::read(root);
    let mut findings: Vec<Finding> =
        walk::users(&system, node).into_iter().map(|what| Finding::new(Weight::Use, what)).collect();
    if let Some((file, size_bytes)) = open {
        // Read errors are reported where the content is examined.
        let members = Member::of(file, size_bytes).unwrap_or_default();
        let live = members.iter().filter_map(|member| member.live(root));
        findings.extend(live.map(|what| Finding::new(Weight::Use, what)));
    }
    let mut unseen = system.unseen(node);
    unseen.dedup();
    if !unseen.is_empty() {
        let what = format!("may be in use, which can't be seen here ({})", unseen.join("; "));
        findings.push(Finding::new(Weight::Unknown, what));
    }
    findings
}

/// Names of the partitions that the kernel knows on a block device.
pub(super) fn partitions(device: u64) -> Vec<String> {
    Block::of(Path::new("/"), device).partitions().into_iter().map(|block| block.name).collect()
}

/// True if a block device has zones, as far as the kernel says.
pub(super) fn is_zoned(device: u64) -> bool {
    Block::of(Path::new("/"), device).is_zoned()
}

/// True if a block device takes TRIMs, or if the kernel does not say.
pub(super) fn discards(device: u64) -> bool {
    Block::of(Path::new("/"), device).discards()
}
