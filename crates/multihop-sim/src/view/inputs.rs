//! The packets of real programs that enter a viewed run, from the part of a recording that has arrived.

use multihop_core::Instant;

use crate::live::read_head;
use crate::live::recording::{Entry, Format, read_entry};

/// Reader of the entries of a recording.
pub(crate) struct Inputs {
    format: Format,
    bytes: Vec<u8>,
    /// Number of bytes that have been taken.
    taken: usize,
    /// Length of all complete entries, bytes.
    whole: usize,
    /// Instant until which all entries have arrived.
    pub(crate) known: Instant,
    /// The end of the recorded run; `None` before it has arrived.
    pub(crate) end: Option<Instant>,
}

impl Inputs {
    /// Reads the bytes of the recording that have arrived, from its first byte on.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, String> {
        let mut rest = bytes;
        let format = read_head(&mut rest)?.format;
        let mut inputs =
            Self { format, bytes: Vec::new(), taken: 0, whole: 0, known: Instant::ZERO, end: None };
        inputs.feed(rest);
        Ok(inputs)
    }

    /// Takes in more bytes of the recording.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        while let Some((entry, length)) = next(&self.bytes[self.whole..], self.format) {
            self.whole += length;
            self.known = entry.at();
            if let Entry::End { at } = entry {
                self.end = Some(at);
            }
        }
    }

    /// Takes the next entry that is due at `until`.
    pub(crate) fn take(&mut self, until: Instant) -> Option<Entry> {
        let (entry, length) = next(&self.bytes[self.taken..self.whole], self.format)?;
        (entry.at() <= until).then(|| {
            self.taken += length;
            entry
        })
    }
}

/// The first entry and its length; `None` if it is incomplete.
fn next(bytes: &[u8], format: Format) -> Option<(Entry, usize)> {
    let mut rest = bytes;
    let entry = read_entry(&mut rest, format).ok()?;
    Some((entry, bytes.len() - rest.len()))
}
