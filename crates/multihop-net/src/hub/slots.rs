/// Names an entry of `Slots`; never one that took its place.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Id {
    slot: u32,
    generation: u32,
}

/// Entries with names that stay.
#[derive(Debug)]
pub(super) struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl Id {
    /// Where it is: below the most entries there ever were.
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
            let slot = u32::try_from(self.entries.len()).expect("limits are far below");
            self.entries.push(Entry { generation: 0, value: Some(value) });
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

    /// The first that is such.
    pub(super) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Id> {
        let slot = self.entries.iter().position(|entry| entry.value.as_ref().is_some_and(&is_it))?;
        Some(Id { slot: u32::try_from(slot).ok()?, generation: self.entries[slot].generation })
    }

    /// How many are such.
    pub(super) fn count(&self, is_it: impl Fn(&T) -> bool) -> usize {
        self.entries.iter().filter(|entry| entry.value.as_ref().is_some_and(&is_it)).count()
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
    fn an_old_name_names_nothing_after_its_place_is_taken() {
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
