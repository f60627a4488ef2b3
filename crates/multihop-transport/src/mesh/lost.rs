//! Segments that are considered lost, by class, and their share.

use super::channels::CLASSES;

/// Numbers of lost segments, and where a search for them begins.
#[derive(Debug)]
pub(super) struct Lost {
    total: usize,
    classes: [Class; CLASSES],
}

#[derive(Clone, Copy, Debug)]
struct Class {
    count: usize,
    /// Number of a segment before which no segment of this class is lost.
    search: u64,
}

impl Lost {
    /// Creates an empty set; `first` is the number of the first segment.
    pub(super) fn new(first: u64) -> Self {
        Self { total: 0, classes: [Class { count: 0, search: first }; CLASSES] }
    }

    /// Number of lost segments.
    pub(super) const fn len(&self) -> usize {
        self.total
    }

    /// Lowest class with a lost segment; lower classes have priority.
    pub(super) fn first_class(&self) -> Option<u8> {
        if self.total == 0 {
            return None;
        }
        (0..).zip(&self.classes).find(|(_, class)| class.count > 0).map(|(number, _)| number)
    }

    /// Number of the segment from which to search for a lost segment of a class.
    pub(super) fn search(&self, class: u8) -> u64 {
        self.classes[usize::from(class)].search
    }

    /// Records that no segment of a class before this number is lost.
    pub(super) fn set_search(&mut self, class: u8, number: u64) {
        self.classes[usize::from(class)].search = number;
    }

    /// Adds a lost segment.
    pub(super) fn add(&mut self, number: u64, class: u8) {
        let class = &mut self.classes[usize::from(class)];
        class.count += 1;
        class.search = class.search.min(number);
        self.total += 1;
    }

    /// Removes a segment of a class that was retransmitted or has arrived.
    pub(super) fn remove(&mut self, class: u8) {
        self.classes[usize::from(class)].count -= 1;
        self.total -= 1;
    }
}

/// Share of the segments that were lost, among the newest [`REMEMBERED`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    share: f64,
    segments: u32,
}

impl LossShare {
    /// Share of the segments that were lost, 0 to 1.
    pub(super) const fn share(&self) -> f64 {
        self.share
    }

    /// Adds the fate of a segment.
    pub(super) fn add(&mut self, is_lost: bool) {
        self.segments = (self.segments + 1).min(REMEMBERED);
        self.share += (f64::from(u8::from(is_lost)) - self.share) / f64::from(self.segments);
    }
}

/// Segments over which the share of losses is averaged.
const REMEMBERED: u32 = 32;
