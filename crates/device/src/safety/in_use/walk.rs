//! The way from a target to its users: up through what stands on it, and down to the ground and up from there.

use super::Node;
use super::block::{Block, Span};
use super::loops::Loop;
use super::system::System;

/// Users of a target, each as the end of a sentence about it.
pub(super) fn users(system: &System, target: Node) -> Vec<String> {
    let mut walk = Walk { system, way: vec![target], seen: Vec::new(), found: Vec::new() };
    walk.up(target, "");
    walk.down(target, Span::ALL);
    walk.found
}

struct Walk<'a> {
    system: &'a System,
    /// The target and what it stands on, as far as that was followed.
    way: Vec<Node>,
    /// Nodes that were followed up.
    seen: Vec<Node>,
    found: Vec<String>,
}

impl Walk<'_> {
    fn tell(&mut self, what: String) {
        if !self.found.contains(&what) {
            self.found.push(what);
        }
    }

    /// Tells of all that stands on a node. `prefix` is what it is to the target: "has a partition, sda1, that ".
    fn up(&mut self, node: Node, prefix: &str) {
        if self.seen.contains(&node) {
            return;
        }
        self.seen.push(node);
        self.direct(node, prefix);
        if let Node::Block(device) = node {
            let block = Block::of(&self.system.root, device);
            for part in block.partitions() {
                self.up(Node::Block(part.device), &format!("{prefix}has a partition, {}, that ", part.name));
            }
            for holder in block.holders() {
                self.held(&holder, prefix);
            }
        }
        for one in self.loops_on(node) {
            self.shown(&one, prefix);
        }
    }

    fn held(&mut self, holder: &Block, prefix: &str) {
        self.tell(format!("{prefix}is in use by {} (a volume, an array or encryption)", holder.name));
        self.up(Node::Block(holder.device), &format!("{prefix}is under {}, which ", holder.name));
    }

    fn shown(&mut self, one: &Loop, prefix: &str) {
        self.tell(format!("{prefix}is in use by /dev/{}", one.block.name));
        self.up(Node::Block(one.block.device), &format!("{prefix}is under /dev/{}, which ", one.block.name));
    }

    fn loops_on(&self, node: Node) -> Vec<Loop> {
        let is_on = |one: &&Loop| {
            one.backing.is_some_and(|backing| backing == node || self.system.may_be_one(backing, node))
        };
        let not_on_the_way = |one: &&Loop| !self.way.contains(&Node::Block(one.block.device));
        self.system.loops().iter().filter(is_on).filter(not_on_the_way).cloned().collect()
    }

    /// Tells of mounts, swap and live pools on a node itself.
    fn direct(&mut self, node: Node, prefix: &str) {
        let system = self.system;
        let swaps = system
            .swaps()
            .iter()
            .filter(|swap| swap.node.is_some_and(|swap| swap == node || system.may_be_one(swap, node)));
        if swaps.count() > 0 {
            self.tell(format!("{prefix}is active swap"));
        }
        let Node::Block(device) = node else { return };
        let points = system.mounted_at(device);
        if !points.is_empty() {
            self.tell(format!("{prefix}is mounted at {}", points.join(", ")));
        }
        for swap in system.swaps().iter().filter(|swap| swap.file_system == Some(device)) {
            self.tell(format!("{prefix}holds {}, an active swap file", swap.path.display()));
        }
        for one in system.loops().iter().filter(|one| one.file_system == Some(device)) {
            self.tell(format!("{prefix}holds {}, the file behind /dev/{}", one.path, one.block.name));
        }
        let block = Block::of(&system.root, device);
        if let Some(point) = super::pools::btrfs_with(&system.root, &block.name) {
            self.tell(format!("{prefix}is a member of a mounted btrfs ({point})"));
        }
    }

    /// Follows a target to what it stands on, of which it covers `span`, and tells who else uses those bytes.
    fn down(&mut self, node: Node, span: Span) {
        for (lower, part, name) in self.lower(node, span) {
            if self.way.contains(&lower) {
                continue;
            }
            self.way.push(lower);
            let is_part = part != Span::ALL;
            let prefix = format!("{} {name}, which ", if is_part { "is part of" } else { "stands on" });
            self.direct(lower, &prefix);
            if self.system.is_claimed(node, lower) {
                self.tell(format!("{prefix}somebody has opened exclusively"));
            }
            for one in self.loops_on(lower).into_iter().filter(|one| one.place.overlaps(part)) {
                self.tell(format!("shares {name} with /dev/{}", one.block.name));
                let prefix = format!("shares {name} with /dev/{}, which ", one.block.name);
                self.up(Node::Block(one.block.device), &prefix);
            }
            if let Node::Block(device) = lower {
                self.beside(&Block::of(&self.system.root, device), node, part);
            }
            self.down(lower, part);
        }
    }

    /// Tells who else uses a disk, of which the target covers `part` by way of `node`.
    fn beside(&mut self, disk: &Block, node: Node, part: Span) {
        let is_node = |block: &Block| node == Node::Block(block.device);
        for other in disk.partitions().iter().filter(|other| !is_node(other) && other.place().overlaps(part))
        {
            let prefix = format!("shares sectors of {} with {}, which ", disk.name, other.name);
            self.up(Node::Block(other.device), &prefix);
        }
        let Node::Block(device) = node else { return };
        let own = Block::of(&self.system.root, device);
        for holder in disk.holders().iter().filter(|holder| !is_node(holder) && !holder.is_beside(&own)) {
            self.tell(format!(
                "shares {} with {} (a volume, an array or encryption)",
                disk.name, holder.name
            ));
            let prefix = format!("shares {} with {}, which ", disk.name, holder.name);
            self.up(Node::Block(holder.device), &prefix);
        }
    }

    /// Nodes that a node stands on, each with the span on it and its name. `span` is the part of the node that the
    /// target covers.
    fn lower(&self, node: Node, span: Span) -> Vec<(Node, Span, String)> {
        let Node::Block(device) = node else { return Vec::new() };
        let block = Block::of(&self.system.root, device);
        let mut lower = Vec::new();
        if let Some((disk, place)) = block.disk() {
            lower.push((Node::Block(disk.device), span.within(place), disk.name));
        }
        let own = self.system.loops().iter().find(|one| one.block.device == device);
        if let Some((backing, one)) = own.and_then(|one| one.backing.zip(Some(one))) {
            lower.push((backing, span.within(one.place), one.path.clone()));
        }
        let slaves =
            block.slaves().into_iter().map(|slave| (Node::Block(slave.device), Span::ALL, slave.name));
        lower.extend(slaves);
        lower
    }
}
