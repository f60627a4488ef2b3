//! Segments that are considered lost, by class.

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
