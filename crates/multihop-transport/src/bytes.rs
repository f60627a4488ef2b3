use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::Payload;

/// A queue of application data. Virtual stretches cost nothing, however long.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteQueue {
    chunks: VecDeque<Chunk>,
    len: u64,
}

#[derive(Clone, Debug)]
enum Chunk {
    Bytes(VecDeque<u8>),
    Virtual(u64),
}

impl ByteQueue {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, payload: Payload) {
        let bytes = match payload {
            Payload::Virtual(n) => return self.push_virtual(u64::from(n)),
            Payload::Bytes(bytes) => bytes,
        };
        self.len = self.len.saturating_add(bytes.len() as u64);
        match self.chunks.back_mut() {
            Some(Chunk::Bytes(last)) => last.extend(bytes),
            _ if bytes.is_empty() => {}
            _ => self.chunks.push_back(Chunk::Bytes(bytes.into())),
        }
    }

    pub(crate) fn push_virtual(&mut self, n: u64) {
        self.len = self.len.saturating_add(n);
        match self.chunks.back_mut() {
            Some(Chunk::Virtual(last)) => *last = last.saturating_add(n),
            _ if n == 0 => {}
            _ => self.chunks.push_back(Chunk::Virtual(n)),
        }
    }

    /// A copy of `len` bytes from `offset`, which must be there.
    pub(crate) fn slice(&self, offset: u64, len: u32) -> Payload {
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
                _ => chunk.copy(skip, take, copied.get_or_insert_default()),
            }
            (skip, left) = (0, left - take);
            if left == 0 {
                break;
            }
        }
        debug_assert_eq!(left, 0, "data beyond the end of the queue");
        copied.map_or(Payload::EMPTY, Payload::Bytes)
    }

    /// Drops the first `n` bytes.
    pub(crate) fn discard(&mut self, n: u64) {
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
    pub(crate) fn truncate(&mut self, len: u64) {
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
            Self::Bytes(bytes) => out.extend(bytes.range(from as usize..(from + len) as usize)),
            Self::Virtual(_) => out.resize(out.len() + len as usize, 0),
        }
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
