//! Blocks and their symbols (RaptorQ, RFC 6330).

use std::collections::BTreeSet;

use multihop_core::Instant;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder,
};

/// A block of which symbols have arrived.
#[derive(Debug)]
pub(crate) struct OpenBlock {
    decoder: SourceBlockDecoder,
    /// Length of the block, bytes.
    length: usize,
    symbols: u32,
    received: BTreeSet<u32>,
    /// Contents of the block; `None` while symbols are missing.
    decoded: Option<Vec<u8>>,
    /// When the last symbol of the block arrived, new or not.
    pub(crate) heard: Instant,
}

impl OpenBlock {
    /// A block of `length` bytes in symbols of `symbol` bytes.
    pub(crate) fn new(now: Instant, length: usize, symbol: u16) -> Self {
        let padded = length.next_multiple_of(symbol.into());
        let symbols = u32::try_from(padded / usize::from(symbol)).expect("at most 1024 symbols");
        let decoder = SourceBlockDecoder::new(0, &coding(padded, symbol), padded as u64);
        Self { decoder, length, symbols, received: BTreeSet::new(), decoded: None, heard: now }
    }

    /// Adds a symbol to the block. Returns whether the contents have become known.
    pub(crate) fn add(&mut self, id: u32, data: &[u8]) -> bool {
        if self.decoded.is_some() || !self.received.insert(id) {
            return false;
        }
        let packet = EncodingPacket::new(PayloadId::new(0, id), data.to_vec());
        self.decoded = self.decoder.decode([packet]);
        if let Some(block) = &mut self.decoded {
            block.truncate(self.length);
        }
        self.decoded.is_some()
    }

    /// Contents of the block; `None` while symbols are missing.
    pub(crate) fn contents(&self) -> Option<&[u8]> {
        self.decoded.as_deref()
    }

    /// Contents of the block.
    pub(crate) fn into_contents(self) -> Option<Vec<u8>> {
        self.decoded
    }

    /// Number of symbols that are missing. One more symbol is needed if as many as the block has were not enough.
    pub(crate) fn lacks(&self) -> u32 {
        let received = u32::try_from(self.received.len()).unwrap_or(u32::MAX);
        match self.decoded {
            Some(_) => 0,
            None => self.symbols.saturating_sub(received).max(1),
        }
    }
}

/// A whole block, from which symbols are made.
pub(crate) struct WholeBlock {
    contents: Vec<u8>,
    symbol: usize,
    /// Makes repair symbols; absent until one is needed, because it takes a millisecond.
    encoder: Option<SourceBlockEncoder>,
}

impl WholeBlock {
    /// A block with these contents.
    pub(crate) fn new(mut contents: Vec<u8>, symbol: u16) -> Self {
        let symbol = usize::from(symbol);
        contents.resize(contents.len().next_multiple_of(symbol), 0);
        Self { contents, symbol, encoder: None }
    }

    /// The content symbol with this number; `None` after the last.
    pub(crate) fn content(&self, id: u32) -> Option<Vec<u8>> {
        self.contents.chunks(self.symbol).nth(id as usize).map(<[u8]>::to_vec)
    }

    /// The repair symbol with this number, from 0; its identifier is `number` plus the number of content symbols.
    pub(crate) fn repair(&mut self, number: u32) -> Vec<u8> {
        let encoder = self.encoder.get_or_insert_with(|| {
            let symbol = u16::try_from(self.symbol).expect("a symbol has at most 1400 bytes");
            SourceBlockEncoder::new(0, &coding(self.contents.len(), symbol), &self.contents)
        });
        let packet = encoder.repair_packets(number, 1).pop();
        packet.expect("one symbol was requested").split().1
    }
}

fn coding(padded: usize, symbol: u16) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(padded as u64, symbol, 1, 1, 1)
}

#[cfg(test)]
mod tests {
    use multihop_core::Rng;

    use super::*;

    #[test]
    fn a_block_is_restored_from_any_symbols() {
        let mut rng = Rng::stream(1, "test", 0);
        for (length, symbol) in [(1, 64), (32, 64), (1000, 64), (64 * 256, 64), (5000, 72)] {
            let contents: Vec<u8> = (0..length).map(|_| rng.next_u64().to_be_bytes()[0]).collect();
            let mut whole = WholeBlock::new(contents.clone(), symbol);
            let mut open = OpenBlock::new(Instant::ZERO, length, symbol);
            let symbols = open.lacks();
            assert_eq!(symbols as usize, length.div_ceil(symbol.into()));
            // Every second symbol of the contents is lost.
            let kept = (0..symbols).step_by(2);
            for id in kept {
                open.add(id, &whole.content(id).unwrap());
            }
            let first = rng.below(1 << 23);
            let needed = (first..first + 300).take_while(|number| {
                open.contents().is_none() && {
                    open.add(symbols + number, &whole.repair(*number));
                    true
                }
            });
            let needed = needed.count();
            assert!(needed <= symbols as usize / 2 + 3, "{needed} repair symbols for {symbols}");
            assert_eq!(open.into_contents(), Some(contents));
        }
    }

    #[test]
    fn a_symbol_counts_once() {
        let mut open = OpenBlock::new(Instant::ZERO, 640, 64);
        assert!(!open.add(0, &[1; 64]));
        assert!(!open.add(0, &[2; 64]));
        assert_eq!(open.lacks(), 9);
    }
}
