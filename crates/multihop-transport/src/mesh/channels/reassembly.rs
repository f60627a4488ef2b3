//! A message of which chunks arrive in any order.

use alloc::collections::BTreeMap;

use multihop_core::{Instant, Payload};

use super::Violation;
use crate::bytes::ByteQueue;

/// The bytes of a message that have arrived and were not read.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// Bytes that were read.
    read: u64,
    /// Bytes behind those that were read, without a gap.
    prefix: ByteQueue,
    /// Bytes behind a gap, by their place in the message.
    later: BTreeMap<u64, Payload>,
    /// Largest end of a chunk that has arrived.
    end: u64,
    /// Length of the message, once its last chunk has arrived.
    len: Option<u64>,
    /// Time after which the message is worthless, by the clock of this end.
    pub(super) expires: Option<Instant>,
}

impl Partial {
    /// Largest end of a chunk that has arrived.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes that were read.
    pub(super) fn was_read(&self) -> u64 {
        self.read
    }

    /// Bytes from the start of the message without a gap.
    pub(super) fn contiguous(&self) -> u64 {
        self.read + self.prefix.len()
    }

    /// Whether all bytes have arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.len == Some(self.contiguous())
    }

    /// Whether a message of which at most `whole` bytes are delivered at once has something to deliver.
    pub(super) fn is_deliverable(&self, whole: u64) -> bool {
        self.is_complete() || (self.contiguous() > whole && !self.prefix.is_empty())
    }

    /// Takes a chunk; fails if it contradicts an earlier one.
    pub(super) fn add(&mut self, offset: u64, data: Payload, is_last: bool) -> Result<(), Violation> {
        let len = data.len() as u64;
        let end = offset + len;
        let is_beyond = self.len.is_some_and(|total| end > total || (is_last && end != total));
        if is_beyond || (is_last && end < self.end) {
            return Err("two ends of one message");
        }
        if is_last {
            self.len = Some(end);
        }
        self.end = self.end.max(end);
        let before = self.later.range(..end).next_back().map(|(at, data)| at + data.len() as u64);
        if len > 0 && (offset < self.contiguous() || before.is_some_and(|before| before > offset)) {
            return Err("chunks that overlap");
        }
        if offset > self.contiguous() {
            if len > 0 {
                self.later.insert(offset, data);
            }
            return Ok(());
        }
        self.prefix.push(data);
        while let Some(entry) = self.later.first_entry()
            && *entry.key() == self.read + self.prefix.len()
        {
            self.prefix.push(entry.remove());
        }
        Ok(())
    }

    /// Takes the bytes without a gap; returns their place, and whether the message ends with them.
    pub(super) fn take(&mut self) -> (u64, Payload, bool) {
        let offset = self.read;
        let data = self.prefix.read(u32::MAX);
        self.read += data.len() as u64;
        (offset, data, self.len == Some(self.read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(from: u8, to: u8) -> Payload {
        Payload::Bytes((from..to).collect())
    }

    #[test]
    fn chunks_in_any_order_become_the_message() {
        let mut message = Partial::default();
        for (from, to) in [(5, 9), (2, 5), (9, 12)] {
            assert_eq!(message.add(from.into(), bytes(from, to), to == 12), Ok(()));
            assert_eq!((message.contiguous(), message.is_complete()), (0, false));
        }
        assert_eq!(message.add(0, bytes(0, 2), false), Ok(()));
        assert!(message.is_complete());
        assert_eq!(message.take(), (0, bytes(0, 12), true));
    }

    #[test]
    fn an_empty_end_may_come_before_or_after_the_data() {
        for is_first in [true, false] {
            let mut message = Partial::default();
            if is_first {
                assert_eq!(message.add(3, Payload::EMPTY, true), Ok(()));
            }
            assert_eq!(message.add(0, bytes(0, 3), false), Ok(()));
            assert_eq!(message.is_complete(), is_first);
            assert_eq!(message.add(3, Payload::EMPTY, true), Ok(()));
            assert!(message.is_complete());
        }
    }

    #[test]
    fn a_long_message_is_taken_in_parts() {
        let mut message = Partial::default();
        assert_eq!(message.add(0, bytes(0, 4), false), Ok(()));
        assert!(!message.is_deliverable(4) && message.is_deliverable(3));
        assert_eq!(message.take(), (0, bytes(0, 4), false));
        assert!(!message.is_deliverable(3), "nothing is left");
        assert_eq!(message.add(4, bytes(4, 6), true), Ok(()));
        assert_eq!(message.take(), (4, bytes(4, 6), true));
    }

    #[test]
    fn chunks_that_contradict_each_other_are_refused() {
        let with = |later: &[(u8, u8, bool)]| {
            let mut message = Partial::default();
            assert_eq!(message.add(0, bytes(0, 2), false), Ok(()));
            assert_eq!(message.add(6, bytes(6, 8), false), Ok(()));
            let add =
                |&(from, to, is_last): &(u8, u8, bool)| message.add(from.into(), bytes(from, to), is_last);
            later.iter().map(add).find(Result::is_err).unwrap_or(Ok(()))
        };
        assert_eq!(with(&[(2, 6, false), (8, 9, true)]), Ok(()));
        for overlap in [(1, 3, false), (5, 7, false), (7, 9, false), (3, 9, false), (6, 8, false)] {
            assert_eq!(with(&[overlap]), Err("chunks that overlap"), "{overlap:?}");
        }
        for ends in
            [[(4, 5, true)].as_slice(), &[(8, 9, true), (9, 10, false)], &[(9, 10, true), (8, 9, true)]]
        {
            assert_eq!(with(ends), Err("two ends of one message"), "{ends:?}");
        }
    }
}
