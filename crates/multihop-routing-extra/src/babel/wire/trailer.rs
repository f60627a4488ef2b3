//! Unparsed TLVs by type: those that authenticate a packet, in its body and in the trailer after it.

use alloc::vec::Vec;

use super::{HEADER, PAD_1};

/// The unparsed TLVs of a body or a trailer.
#[derive(Clone, Copy, Debug)]
pub(in crate::babel) struct Trailer<'a>(&'a [u8]);

impl<'a> Trailer<'a> {
    /// A packet without its trailer, and the trailer; `None` if the body is longer than the datagram.
    pub(in crate::babel) fn split(bytes: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let [_, _, high, low] = *bytes.first_chunk::<HEADER>()?;
        let (packet, trailer) =
            bytes.split_at_checked(HEADER + usize::from(u16::from_be_bytes([high, low])))?;
        Some((packet, Self(trailer)))
    }

    /// The TLVs of the body.
    pub(in crate::babel) fn body(bytes: &'a [u8]) -> Option<Self> {
        let (packet, _) = Self::split(bytes)?;
        Some(Self(packet.get(HEADER..)?))
    }

    /// The values of all TLVs of a type, up to the first truncated TLV.
    pub(in crate::babel) fn values(self, kind: u8) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.0;
        let next = move || {
            loop {
                let (&found, after) = rest.split_first()?;
                if found == PAD_1 {
                    rest = after;
                    continue;
                }
                let (&len, after) = after.split_first()?;
                let (value, after) = after.split_at_checked(len.into())?;
                rest = after;
                return Some((found, value));
            }
        };
        core::iter::from_fn(next).filter(move |(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// Appends a TLV to the body of a packet without a trailer. A TLV that does not fit is left out.
    pub(in crate::babel) fn append(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
        let Ok(len) = u8::try_from(value.len()) else { return };
        let Ok(body) = u16::try_from(bytes.len() + 2 + value.len() - HEADER) else { return };
        bytes.extend([kind, len]);
        bytes.extend(value);
        bytes[HEADER - 2..HEADER].copy_from_slice(&body.to_be_bytes());
    }
}
