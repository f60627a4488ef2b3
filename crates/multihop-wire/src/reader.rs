//! Fields read from the front of a packet.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Payload;

use crate::ParseError;

/// Reads fields from the front of a packet; numbers are big-endian, as in all Internet protocols.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], ParseError> {
        let end = self.at + len;
        let taken = self
            .bytes
            .get(self.at..end)
            .ok_or(ParseError::Truncated { found: self.bytes.len(), needed: end })?;
        self.at = end;
        Ok(taken)
    }

    /// The next `N` bytes, as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        Ok(self.take(N)?.try_into().expect("take returns N bytes"))
    }

    /// An unsigned number of one byte.
    pub fn u8(&mut self) -> Result<u8, ParseError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    /// An unsigned number of two bytes.
    pub fn u16(&mut self) -> Result<u16, ParseError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// An unsigned number of four bytes.
    pub fn u32(&mut self) -> Result<u32, ParseError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// An IPv4 address of four bytes.
    pub fn address(&mut self) -> Result<Ipv4Addr, ParseError> {
        Ok(Ipv4Addr::from(self.array()?))
    }

    /// Skips padding up to the next multiple of `alignment` bytes from the front.
    pub fn align(&mut self, alignment: usize) -> Result<(), ParseError> {
        self.take(self.at.next_multiple_of(alignment) - self.at).map(drop)
    }

    /// Whether all bytes have been read.
    pub const fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// All bytes that have not been read yet.
    pub fn rest(self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Takes all remaining bytes as a payload.
    pub fn payload(self) -> Payload {
        self.payload_in(&mut None)
    }

    /// Takes all remaining bytes as a payload, which reuses the buffer in `memory` if there is one.
    pub fn payload_in(self, memory: &mut Option<Vec<u8>>) -> Payload {
        match self.rest() {
            [] => Payload::EMPTY,
            bytes => {
                let mut payload = memory.take().unwrap_or_default();
                payload.clear();
                payload.extend_from_slice(bytes);
                Payload::Bytes(payload)
            }
        }
    }
}
