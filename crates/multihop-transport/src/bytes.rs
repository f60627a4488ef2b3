//! Application data in order: real bytes, and virtual stretches of which only the length matters.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::Payload;

/// A queue of application data. Virtual stretches take no memory, whatever their length.
#[derive(Clone, Debug, Default)]
pub struct ByteQueue {
    chunks: VecDeque<Chunk>,
    len: u64,
}

#[derive(Clone, Debug)]
enum Chunk {
    Bytes(VecDeque<u8>),
    Virtual(u64),
}

impl ByteQueue {
    /// Bytes in the queue.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Adds data at the end.
    pub fn push(&mut self, payload: Payload) {
        let bytes = match payload {
            Payload::Virtual(n) => return self.push_virtual(u64::from(n)),
            Payload::Bytes(bytes) => bytes,
        };
        self.len = self.len.saturating_add(bytes.len() as u64);
        match self.chunks.back_mut() {
            Some(Chunk::Bytes(last)) if last.len().min(bytes.len()) < WORTH_A_CHUNK => last.extend(bytes),
            _ if bytes.is_empty() => {}
            _ => self.chunks.push_back(Chunk::Bytes(bytes.into())),
        }
    }

    /// Adds a copy of these bytes at the end. If the queue is read empty between two calls, no memory is
    /// allocated.
    pub(crate) fn push_copy(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len() as u64);
        match self.chunks.back_mut() {
            Some(Chunk::Bytes(last)) => last.extend(bytes),
            _ => self.chunks.push_back(Chunk::Bytes(bytes.to_vec().into())),
        }
    }

    /// Adds `n` virtual bytes at the end.
    pub fn push_virtual(&mut self, n: u64) {
        self.len = self.len.saturating_add(n);
        match self.chunks.back_mut() {
            Some(Chunk::Virtual(last)) => *last = last.saturating_add(n),
            _ if n == 0 => {}
            _ => self.chunks.push_back(Chunk::Virtual(n)),
        }
    }

    /// Whether the queue has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes at most `max` bytes from the front.
    pub fn read(&mut self, max: u32) -> Payload {
        let len = u64::from(max).min(self.len);
        let data = self.slice(0, u32::try_from(len).unwrap_or(max));
        self.discard(len);
        data
    }

    /// Copies `len` bytes at `offset`, which the queue must contain, into a payload.
    pub fn slice(&self, offset: u64, len: u32) -> Payload {
        self.slice_in(offset, len, &mut None)
    }

    /// Copies `len` bytes from `offset` on into a payload, which reuses the buffer in `memory` if there is one.
    pub(crate) fn slice_in(&self, offset: u64, len: u32, memory: &mut Option<Vec<u8>>) -> Payload {
        let (mut skip, mut left) = (offset, u64::from(len));
        let mut copied: Option<Vec<u8>> = None;
        for chunk in &self.chunks {
            let size = chunk.len();
            if skip >= size {
                skip -= size;
                continue;
            }
            let take = left.min(size - skip);
            match (chunk, &mut copied) {
                (Chunk::Virtual(_), None) if take == left => return Payload::Virtual(len),
                _ => chunk.copy(skip, take, copied.get_or_insert_with(|| cleared(memory.take(), len))),
            }
            (skip, left) = (0, left - take);
            if left == 0 {
                break;
            }
        }
        debug_assert_eq!(left, 0, "data beyond the end of the queue");
        copied.map_or(Payload::EMPTY, Payload::Bytes)
    }

    /// Moves as many bytes as fit from the front of the queue into `into`; returns their number.
    pub fn read_into(&mut self, into: &mut [u8]) -> usize {
        let mut taken = 0;
        while taken < into.len()
            && let Some(chunk) = self.chunks.front_mut()
        {
            let rest = &mut into[taken..];
            let n = usize::try_from(chunk.len()).unwrap_or(usize::MAX).min(rest.len());
            chunk.read(&mut rest[..n]);
            taken += n;
            if chunk.len() > 0 || self.keeps_memory() {
                break;
            }
            self.chunks.pop_front();
        }
        self.len -= taken as u64;
        taken
    }

    /// Whether the only chunk, which is empty, is worth keeping.
    fn keeps_memory(&self) -> bool {
        match self.chunks.front() {
            Some(Chunk::Bytes(bytes)) => self.chunks.len() == 1 && bytes.capacity() <= MAX_KEPT,
            _ => false,
        }
    }

    /// Drops the first `n` bytes.
    pub fn discard(&mut self, n: u64) {
        let mut left = n.min(self.len);
        self.len -= left;
        while let Some(chunk) = self.chunks.front_mut() {
            let size = chunk.len();
            if size > left {
                chunk.drop_front(left);
                return;
            }
            left -= size;
            self.chunks.pop_front();
        }
    }

    /// Drops everything after the first `len` bytes.
    pub fn truncate(&mut self, len: u64) {
        while self.len > len {
            let excess = self.len - len;
            let Some(chunk) = self.chunks.back_mut() else { return };
            let size = chunk.len();
            if size <= excess {
                self.chunks.pop_back();
                self.len -= size;
            } else {
                chunk.drop_back(excess);
                self.len = len;
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "lengths of bytes that are in memory")]
impl Chunk {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Virtual(n) => *n,
        }
    }

    fn copy(&self, from: u64, len: u64, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => {
                let (front, back) = bytes.as_slices();
                let (from, to) = (from as usize, (from + len) as usize);
                out.extend_from_slice(&front[from.min(front.len())..to.min(front.len())]);
                out.extend_from_slice(
                    &back[from.saturating_sub(front.len())..to.saturating_sub(front.len())],
                );
            }
            Self::Virtual(_) => out.resize(out.len() + len as usize, 0),
        }
    }

    /// Moves the first bytes of the chunk into `into`, which must not be longer than the chunk.
    fn read(&mut self, into: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => {
                let (front, back) = bytes.as_slices();
                let (first, second) = into.split_at_mut(front.len().min(into.len()));
                first.copy_from_slice(&front[..first.len()]);
                second.copy_from_slice(&back[..second.len()]);
            }
            Self::Virtual(_) => into.fill(0),
        }
        self.drop_front(into.len() as u64);
    }

    fn drop_front(&mut self, n: u64) {
        match self {
            Self::Bytes(bytes) => drop(bytes.drain(..n as usize)),
            Self::Virtual(left) => *left -= n,
        }
    }

    fn drop_back(&mut self, n: u64) {
        match self {
            Self::Bytes(bytes) => bytes.truncate(bytes.len() - n as usize),
            Self::Virtual(left) => *left -= n,
        }
    }
}

/// Returns the given buffer, emptied, or a new one with room for `len` bytes.
fn cleared(memory: Option<Vec<u8>>, len: u32) -> Vec<u8> {
    let mut memory = memory.unwrap_or_default();
    memory.clear();
    memory.reserve(len as usize);
    memory
}

/// Largest capacity that an empty queue keeps, bytes.
const MAX_KEPT: usize = 128 * 1024;
/// Shortest stretch that is kept without copying, bytes; shorter ones are merged.
const WORTH_A_CHUNK: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> ByteQueue {
        let mut queue = ByteQueue::default();
        queue.push(Payload::Bytes(alloc::vec![1, 2]));
        queue.push(Payload::Bytes(alloc::vec![3]));
        queue.push(Payload::Virtual(2));
        queue.push_virtual(1 << 40);
        queue
    }

    #[test]
    fn slices_cross_chunks_and_stay_virtual_where_they_can() {
        let queue = mixed();
        assert_eq!(queue.slice(1, 4), Payload::Bytes(alloc::vec![2, 3, 0, 0]));
        assert_eq!(queue.slice(3, 1460), Payload::Virtual(1460));
        assert_eq!(queue.slice(0, 3), Payload::Bytes(alloc::vec![1, 2, 3]));
        assert_eq!(queue.chunks.len(), 2);
    }

    #[test]
    fn bytes_come_out_as_they_went_in_wherever_the_chunks_end() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        for piece in [1, 7, 255, 256, 1000] {
            let mut queue = ByteQueue::default();
            let (mut pushed, mut out) = (bytes.chunks(piece), Vec::new());
            while out.len() < bytes.len() {
                for part in pushed.by_ref().take(3) {
                    queue.push(Payload::Bytes(part.to_vec()));
                }
                let (len, skip) = (queue.len(), queue.len() / 3);
                let part = queue.slice(skip, u32::try_from(len - skip).unwrap());
                let from = out.len() + usize::try_from(skip).unwrap();
                let to = out.len() + usize::try_from(len).unwrap();
                assert_eq!(part, Payload::Bytes(bytes[from..to].to_vec()));
                let mut some = [0; 500];
                let n = queue.read_into(&mut some);
                assert_eq!(n as u64, len.min(500));
                out.extend_from_slice(&some[..n]);
                assert_eq!(queue.len(), len - n as u64);
            }
            assert!(out == bytes, "in pieces of {piece}");
        }
    }

    #[test]
    fn copies_are_appended_to_what_there_is() {
        let mut queue = ByteQueue::default();
        queue.push_copy(&[1, 2]);
        queue.push_copy(&[3]);
        let mut some = [0; 2];
        assert_eq!((queue.read_into(&mut some), some), (2, [1, 2]));
        assert_eq!((queue.read_into(&mut some), some[0], queue.len()), (1, 3, 0));
        assert_eq!(queue.read_into(&mut some), 0, "nothing is left but memory");
        queue.push_virtual(2);
        queue.push_copy(&[4]);
        assert_eq!(queue.slice(1, 2), Payload::Bytes(alloc::vec![0, 4]));
        queue.push(Payload::Bytes(alloc::vec![9; 300]));
        assert_eq!((queue.read(400).len(), queue.is_empty()), (303, true));
        queue.push_copy(&[5]);
        assert_eq!((queue.read_into(&mut some), some[0]), (1, 5));
    }

    #[test]
    fn discard_and_truncate_count() {
        let mut queue = mixed();
        queue.discard(2);
        assert_eq!(queue.slice(0, 2), Payload::Bytes(alloc::vec![3, 0]));
        queue.truncate(3);
        assert_eq!(queue.len(), 3);
        queue.truncate(1);
        assert_eq!((queue.len(), queue.slice(0, 1)), (1, Payload::Bytes(alloc::vec![3])));
        queue.discard(9);
        assert_eq!((queue.len(), queue.slice(0, 0)), (0, Payload::EMPTY));
    }
}
