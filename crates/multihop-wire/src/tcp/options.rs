//! Options on the wire: kind, length, value, and padding to whole words.

use alloc::vec::Vec;

use super::{NetworkState, Options, SackBlocks, SeqNumber, StateOption, Timestamps};
use crate::ParseError;
use crate::reader::Reader;

impl Options {
    /// Length of the options, bytes, with padding: a multiple of 4, at most 40. SACK blocks that do not fit
    /// are left out, beginning with the last.
    pub fn wire_len(&self) -> usize {
        let blocks = self.sack_sent().len();
        let sack = if blocks == 0 { 0 } else { SACK_HEADER + blocks * SACK_BLOCK };
        (self.len_without_sack() + sack).next_multiple_of(4)
    }

    /// Parses the options of a segment; options of unknown kind or wrong length are skipped.
    pub(super) fn parse(mut bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        while let Some((&kind, after)) = bytes.split_first() {
            bytes = match kind {
                END => break,
                NOP => after,
                _ => {
                    let mut r = Reader::new(after);
                    let len = r.u8()?;
                    let Some(value_len) = len.checked_sub(2) else {
                        let found = u32::from(len);
                        return Err(ParseError::Field { name: "option length", found, allowed: "2 or more" });
                    };
                    options.take_in(kind, r.take(usize::from(value_len))?);
                    r.rest()
                }
            };
        }
        Ok(options)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let end = start + self.wire_len();
        if let Some(mss) = self.mss {
            put(out, MSS, &[&mss.to_be_bytes()]);
        }
        if let Some(shift) = self.window_scale {
            put(out, WINDOW_SCALE, &[&[shift]]);
        }
        if self.sack_permitted {
            put(out, SACK_PERMITTED, &[]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            put(out, TIMESTAMPS, &[&value.to_be_bytes(), &echo.to_be_bytes()]);
        }
        if let Some(StateOption { kind, state }) = self.state {
            put(out, kind, &[&[state.bits()]]);
        }
        let edges: Vec<_> =
            self.sack_sent().iter().flat_map(|(l, r)| [l.0.to_be_bytes(), r.0.to_be_bytes()]).collect();
        if !edges.is_empty() {
            put(out, SACK, &[edges.as_flattened()]);
        }
        // Padding comes first, so that timestamps alone are aligned as in RFC 7323 appendix A.
        let padding = end - out.len();
        out.splice(start..start, core::iter::repeat_n(NOP, padding));
    }

    fn take_in(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                let (value, echo) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                self.timestamps = Some(Timestamps { value, echo });
            }
            (SACK, blocks) => self.sack = sack_blocks(blocks),
            (kind, &[bits]) if StateOption::KINDS.contains(&kind) => {
                self.state = Some(StateOption { kind, state: NetworkState::from_bits(bits) });
            }
            _ => {}
        }
    }

    fn len_without_sack(&self) -> usize {
        let lens = [
            (self.mss.is_some(), 4),
            (self.window_scale.is_some(), 3),
            (self.sack_permitted, 2),
            (self.timestamps.is_some(), 10),
            (self.state.is_some(), 3),
        ];
        lens.iter().filter(|(present, _)| *present).map(|(_, len)| len).sum()
    }

    /// SACK blocks that fit into the header.
    fn sack_sent(&self) -> &[(SeqNumber, SeqNumber)] {
        let room = (MAX_LEN - self.len_without_sack() - SACK_HEADER) / SACK_BLOCK;
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(room)]
    }
}

fn put(out: &mut Vec<u8>, kind: u8, values: &[&[u8]]) {
    let len = 2 + values.iter().map(|value| value.len()).sum::<usize>();
    out.extend_from_slice(&[kind, u8::try_from(len).expect("all options together have 40 bytes")]);
    values.iter().for_each(|value| out.extend_from_slice(value));
}

fn sack_blocks(value: &[u8]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    let (blocks, partial) = value.as_chunks::<SACK_BLOCK>();
    if partial.is_empty() {
        for &[a, b, c, d, e, f, g, h] in blocks {
            let (left, right) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
            sack.push(SeqNumber(left), SeqNumber(right));
        }
    }
    sack
}

/// Maximum length of all options, bytes: the longest header has 60, of which 20 are fixed.
const MAX_LEN: usize = 40;
/// Length of the SACK option's kind and length fields, bytes.
const SACK_HEADER: usize = 2;
/// Length of a SACK block, bytes: its two sequence numbers.
const SACK_BLOCK: usize = 8;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
