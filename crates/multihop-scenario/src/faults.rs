//! State shared by all steps of reading and checking: the faults found so far, and the user-defined
//! protocols.

use super::document::Fault;
use super::extension::Extensions;

/// The faults found so far.
pub(crate) struct Faults<'a> {
    list: Vec<Fault>,
    /// The user-defined protocols that scenarios may use.
    pub(crate) extensions: &'a Extensions,
}

impl<'a> Faults<'a> {
    pub(crate) const fn new(extensions: &'a Extensions) -> Self {
        Self { list: Vec::new(), extensions }
    }

    pub(crate) fn push(&mut self, fault: Fault) {
        self.list.push(fault);
    }

    pub(crate) fn extend(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.list.extend(faults);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn into_list(self) -> Vec<Fault> {
        self.list
    }
}
