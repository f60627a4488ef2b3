//! Changes of names that have reached the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use multihop_core::Rng;

use super::trace::{Event, Name, NodeId, Trace};

/// The order in which a file system writes changes of names.
#[derive(Clone, Copy)]
enum Order {
    /// All changes of names reach the disk in their order, as with a journal.
    Journal,
    /// Changes of one folder reach the disk in their order.
    Folder,
    /// Changes of one name reach the disk in their order.
    Name,
}

/// Part of the file system whose changes reach the disk in their order.
type Part = (Option<NodeId>, Option<OsString>);

impl Order {
    fn parts(self, event: &Event) -> Vec<Part> {
        let part = |(folder, name): &Name| match self {
            Self::Journal => (None, None),
            Self::Folder => (Some(*folder), None),
            Self::Name => (Some(*folder), Some(name.clone())),
        };
        event.names().into_iter().map(part).collect()
    }
}

impl Trace {
    /// The names on the disk after a loss of power before event `at`, and the changes that are lost.
    pub(super) fn names_at(&self, at: usize, rng: &mut Rng) -> (BTreeMap<Name, NodeId>, Vec<usize>) {
        let order = [Order::Journal, Order::Folder, Order::Name][rng.below(3) as usize];
        let loss = [0.02, 0.1, 0.5, 0.9][rng.below(4) as usize];
        let written = self.written_names(at, order);
        let (mut names, mut lost) = (self.names.clone(), Vec::new());
        let mut stuck = BTreeSet::new();
        for (index, event) in self.events[..at].iter().enumerate() {
            let parts = order.parts(event);
            if parts.is_empty() {
                continue;
            }
            let waits = parts.iter().any(|part| stuck.contains(part));
            if written.contains(&index) || !waits && !rng.chance(loss) {
                event.apply(&mut names);
            } else {
                stuck.extend(parts);
                lost.push(index);
            }
        }
        (names, lost)
    }

    /// Indices of the changes of names that have certainly reached the disk: those that were synced, and the
    /// changes before them in the order of the file system.
    fn written_names(&self, at: usize, order: Order) -> BTreeSet<usize> {
        let (mut written, mut parts) = (BTreeSet::new(), BTreeSet::new());
        let (mut all, mut synced) = (false, BTreeSet::new());
        for (index, event) in self.events[..at].iter().enumerate().rev() {
            match event {
                Event::SyncAll => all = true,
                Event::Sync(id, _) => {
                    synced.insert(*id);
                }
                _ => {}
            }
            let touched = order.parts(event);
            let is_synced = all || event.names().iter().all(|(folder, _)| synced.contains(folder));
            if !touched.is_empty() && (is_synced || touched.iter().any(|part| parts.contains(part))) {
                parts.extend(touched);
                written.insert(index);
            }
        }
        written
    }
}
