//! Contents of a file that have reached the disk.

use multihop_core::Rng;

use super::trace::{Event, Kind, NodeId, SyncScope, Trace};

/// A change of a file's contents.
enum Change<'a> {
    Write(usize, &'a [u8]),
    Resize(usize),
}

impl Change<'_> {
    fn apply(&self, contents: &mut Vec<u8>) {
        match *self {
            Self::Write(offset, data) => {
                let end = offset + data.len();
                contents.resize(contents.len().max(end), 0);
                contents[offset..end].copy_from_slice(data);
            }
            Self::Resize(size) => contents.resize(size, 0),
        }
    }
}

/// Which of the unsynced changes have reached the disk.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Luck {
    Everything,
    Nothing,
    /// The new size of the file has reached the disk, but only a part of its pages.
    Some,
}

impl Trace {
    /// The contents of a file after a loss of power before event `at`, and whether some of them are lost.
    pub(super) fn contents_at(&self, file: NodeId, at: usize, rng: &mut Rng) -> (Vec<u8>, bool) {
        let (safe, changes) = self.unsynced(file, at);
        let mut now = safe.clone();
        changes.iter().for_each(|change| change.apply(&mut now));
        if changes.is_empty() {
            return (safe, false);
        }
        let found = match [Luck::Everything, Luck::Nothing, Luck::Some, Luck::Some][rng.below(4) as usize] {
            Luck::Everything => now.clone(),
            Luck::Nothing => safe,
            Luck::Some => partly(safe, &changes, rng),
        };
        let is_lost = found != now;
        (found, is_lost)
    }

    /// The contents of a file at its latest sync, and the later changes.
    fn unsynced(&self, file: NodeId, at: usize) -> (Vec<u8>, Vec<Change<'_>>) {
        let Kind::File(before) = &self.nodes[file].kind else { panic!("contents of what is no file") };
        let (mut safe, mut changes) = (before.clone(), Vec::new());
        for event in &self.events[..at] {
            match event {
                Event::Write(id, offset, data) if *id == file => changes.push(Change::Write(*offset, data)),
                Event::Resize(id, size) if *id == file => changes.push(Change::Resize(*size)),
                Event::SyncAll => changes.drain(..).for_each(|change| change.apply(&mut safe)),
                Event::Sync(id, _) if *id == file => {
                    changes.drain(..).for_each(|change| change.apply(&mut safe));
                }
                _ => {}
            }
        }
        (safe, changes)
    }

    /// Mode of a node as it is on the disk, and whether the loss of power undoes a change of the mode.
    pub(super) fn mode_at(&self, node: NodeId, at: usize, rng: &mut Rng) -> (u32, bool) {
        let mut modes = vec![self.nodes[node].mode];
        for event in &self.events[..at] {
            match event {
                Event::Mode(id, mode) if *id == node => modes.push(*mode),
                Event::Sync(id, SyncScope::All) if *id == node => drop(modes.drain(..modes.len() - 1)),
                Event::SyncAll => drop(modes.drain(..modes.len() - 1)),
                _ => {}
            }
        }
        let chosen = pick(0, modes.len() - 1, rng);
        (modes[chosen], modes[chosen] != modes[modes.len() - 1])
    }
}

/// The contents if only a part of the changes has reached the disk. Truncations take effect in order: data written before a
/// truncation does not reappear behind the new end.
fn partly(safe: Vec<u8>, changes: &[Change<'_>], rng: &mut Rng) -> Vec<u8> {
    let mut versions = vec![safe];
    let mut shortened = vec![0];
    for change in changes {
        let mut next = versions[versions.len() - 1].clone();
        change.apply(&mut next);
        if next.len() < versions[versions.len() - 1].len() {
            shortened.push(versions.len());
        }
        versions.push(next);
    }
    // The last truncation that is on the disk, and the last version before the first truncation that is not.
    let chosen = pick(0, shortened.len() - 1, rng);
    let (first, last) =
        (shortened[chosen], shortened.get(chosen + 1).map_or(versions.len(), |next| *next) - 1);
    let size = versions[pick(first, last, rng)].len();
    let mut found = vec![0; size];
    for page in 0..size.div_ceil(PAGE) {
        let pair = [pick(first, last, rng), pick(first, last, rng)];
        let is_torn = rng.chance(0.5);
        for sector in (page * PAGE..size.min((page + 1) * PAGE)).step_by(SECTOR) {
            let version = &versions[pair[if is_torn { rng.below(2) as usize } else { 0 }]];
            let end = size.min(sector + SECTOR).min(version.len());
            if sector < end {
                found[sector..end].copy_from_slice(&version[sector..end]);
            }
        }
    }
    found
}

/// A random number from `low` to `high`; half of the time it is one of these two.
fn pick(low: usize, high: usize, rng: &mut Rng) -> usize {
    let more = u32::try_from(high - low + 1).expect("few changes");
    match rng.below(4) {
        0 => low,
        1 => high,
        _ => low + rng.below(more) as usize,
    }
}

const PAGE: usize = 4096;
const SECTOR: usize = 512;
