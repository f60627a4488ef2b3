use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Payload;

use crate::ParseError;

/// Reads fields from the front of a packet; numbers are big-endian, as in all Internet protocols.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], ParseError> {
        let end = self.at + len;
        let taken = self
            .bytes
            .get(self.at..end)
            .ok_or(ParseError::Truncated { found: self.bytes.len(), needed: end })?;
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        Ok(self.take(N)?.try_into().expect("take returns N bytes"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ParseError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ParseError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ParseError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn address(&mut self) -> Result<Ipv4Addr, ParseError> {
        Ok(Ipv4Addr::from(self.array()?))
    }

    /// Skips padding up to the next multiple of `alignment` bytes from the front.
    pub(crate) fn align(&mut self, alignment: usize) -> Result<(), ParseError> {
        self.take(self.at.next_multiple_of(alignment) - self.at).map(drop)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The rest as payload.
    pub(crate) fn payload(self) -> Payload {
        self.payload_in(&mut None)
    }

    /// The same, in this memory if there is some.
    pub(crate) fn payload_in(self, memory: &mut Option<Vec<u8>>) -> Payload {
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
