//! Send queue of a transport: data to be sent, and data not yet acknowledged.

use alloc::vec::Vec;

use multihop_core::Payload;

use crate::bytes::ByteQueue;
use crate::event::{Data, SendError};

/// Data that the peer has not acknowledged, by position in the stream (the first byte is at 1).
#[derive(Clone, Debug)]
pub struct SendQueue {
    first: u64,
    data: ByteQueue,
    /// Whether the queued data ends in an endless source.
    endless: bool,
}

impl SendQueue {
    /// Creates an empty queue, whose first byte will have position 1.
    pub fn new() -> Self {
        Self { first: 1, data: ByteQueue::default(), endless: false }
    }

    /// Position after the last byte.
    pub fn end(&self) -> u64 {
        self.first + self.data.len()
    }

    /// Bytes that the peer has not acknowledged.
    pub(crate) fn len(&self) -> u64 {
        self.data.len()
    }

    /// Adds data at the end.
    pub fn push(&mut self, data: Data) {
        match data {
            Data::Bytes(bytes) => self.data.push(Payload::Bytes(bytes)),
            Data::Virtual(n) => self.data.push_virtual(n.min(ENDLESS.saturating_sub(self.data.len()))),
            Data::Endless => {
                self.push(Data::Virtual(ENDLESS));
                self.endless = true;
            }
        }
    }

    /// Returns the queue, unless the connection is closed for sending or an endless source is queued.
    pub(crate) fn if_open(&mut self, is_open: bool) -> Result<&mut Self, SendError> {
        match is_open {
            true if self.endless => Err(SendError::Endless),
            true => Ok(self),
            false => Err(SendError::Closed),
        }
    }

    /// Closes the queue: no further data can be added. Of an endless source, bytes from `sent` on are not
    /// sent.
    pub fn finish(&mut self, sent: u64) {
        if self.endless {
            self.data.truncate(sent.saturating_sub(self.first));
            self.endless = false;
        }
    }

    /// Copies at most `len` bytes at `position` into a payload.
    pub fn payload(&self, position: u64, len: u32) -> Payload {
        self.data.slice(position - self.first, len)
    }

    /// Copies `len` bytes from `position` on into a payload, which reuses the buffer in `memory` if there is one.
    pub(crate) fn payload_in(&self, position: u64, len: u32, memory: &mut Option<Vec<u8>>) -> Payload {
        self.data.slice_in(position - self.first, len, memory)
    }

    /// Removes the data before `position`, which has arrived. Returns the number of removed bytes.
    pub fn release(&mut self, position: u64) -> u64 {
        let freed = position.min(self.end()).saturating_sub(self.first);
        self.data.discard(freed);
        self.first += freed;
        freed
    }

    /// Removes the data that has not arrived, so that it is no longer sent.
    pub fn forget(&mut self) {
        *self = Self { first: self.end(), ..Self::new() };
    }
}

impl Default for SendQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// Length of an endless transfer, bytes: more than any connection can send, and small enough for sums not to overflow.
const ENDLESS: u64 = 1 << 62;
