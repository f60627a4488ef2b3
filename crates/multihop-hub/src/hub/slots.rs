//! Storage for connections, whose identifiers are never reused for a later connection.

use alloc::vec::Vec;

/// Identifies an entry of `Slots`, and never a later entry in the same slot.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Id {
    slot: u32,
    generation: u32,
}

/// Table of entries whose identifiers stay valid when other entries are removed.
#[derive(Debug)]
pub(super) struct Slots<T> {
    entries: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl Id {
    /// Index of the slot, less than the largest number of entries so far.
    pub fn index(self) -> usize {
        self.slot as usize
    }
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> Id {
        let Some(slot) = self.free.pop() else {
            let slot = u32::try_from(self.entries.len()).expect("the limits are far below");
            self.entries.push(Slot { generation: 0, value: Some(value) });
            return Id { slot, generation: 0 };
        };
        let entry = &mut self.entries[slot as usize];
        entry.value = Some(value);
        Id { slot, generation: entry.generation }
    }

    pub(super) fn get(&self, id: Id) -> Option<&T> {
        self.entries.get(id.index()).filter(|entry| entry.generation == id.generation)?.value.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.entries.get_mut(id.index()).filter(|entry| entry.generation == id.generation)?.value.as_mut()
    }

    /// All entries, with their identifiers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Id, &mut T)> {
        let numbered = (0..).zip(&mut self.entries);
        numbered.filter_map(|(slot, entry)| {
            Some((Id { slot, generation: entry.generation }, entry.value.as_mut()?))
        })
    }

    /// The first entry that matches.
    pub(super) fn find(&self, matches: impl Fn(&T) -> bool) -> Option<Id> {
        let slot = self.entries.iter().position(|entry| entry.value.as_ref().is_some_and(&matches))?;
        Some(Id { slot: u32::try_from(slot).ok()?, generation: self.entries[slot].generation })
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<T> {
        let entry = self.entries.get_mut(id.index()).filter(|entry| entry.generation == id.generation)?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_id_finds_nothing_after_its_slot_is_reused() {
        let mut slots = Slots::new();
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_eq!((slots.get(a), slots.get(b), slots.len()), (Some(&'a'), Some(&'b'), 2));
        assert_eq!(slots.remove(a), Some('a'));
        assert_eq!((slots.get(a), slots.len()), (None, 1));
        assert_eq!(slots.remove(a), None);
        let c = slots.insert('c');
        assert_eq!((c.index(), slots.get(a), slots.get(c)), (a.index(), None, Some(&'c')));
    }
}
