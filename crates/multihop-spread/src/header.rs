//! The description of a file that the source signs, and the layout of its blocks.
//!
//! # Bytes
//!
//! | bytes of the header | field |
//! |---|---|
//! | 1 | version: 1 |
//! | 8 | size of the file |
//! | 32 | SHA-256 of the file |
//! | 32 | SHA-256 of the manifest |
//! | 2 | size of a symbol: 64 to 1400 bytes |
//! | 2 | symbols of a full block: 1 to 1024 |
//! | 32 | public key of the source |
//! | 1 to 255 | name of the file: UTF-8, without `/` and NUL, not `.` or `..` |
//!
//! The signature of an OFFER is Ed25519 over `multihop spread header 1` and the header. The verifying key is the
//! Edwards point with sign 0 of the source's X25519 key. The transfer is the first 8 bytes of the SHA-256 of the
//! header.
//!
//! Block 0 is the manifest: the SHA-256 of each following block. Blocks are consecutive parts of the file; the last
//! symbol of a block is padded with zeros. RaptorQ has one source block per block, one sub-block, and an alignment of
//! 1 byte.

use std::fmt;

use multihop_wire::reader::Reader;
use sha2::{Digest, Sha256};

/// Description of a file. The source signs its bytes ([`emit`](Self::emit)).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Header {
    /// Name of the file without folders.
    pub name: String,
    /// Size of the file, bytes.
    pub size: u64,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// SHA-256 of the manifest.
    pub manifest: [u8; 32],
    /// Size of a symbol, bytes.
    pub symbol: u16,
    /// Symbols of a full block.
    pub symbols: u16,
    /// Public key of the source.
    pub source: [u8; 32],
}

/// Identifier of a transfer: the first 8 bytes of the SHA-256 of its header.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TransferId(pub u64);

/// Reason why a header is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("invalid header: {0}")]
pub struct InvalidHeader(&'static str);

impl Header {
    /// Identifier of the transfer.
    pub fn id(&self) -> TransferId {
        let hash = Sha256::digest(self.emit());
        TransferId(u64::from_be_bytes(*hash.first_chunk().expect("a hash of 32 bytes")))
    }

    /// Bytes of the header.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.size.to_be_bytes());
        out.extend(self.sha256);
        out.extend(self.manifest);
        out.extend(self.symbol.to_be_bytes());
        out.extend(self.symbols.to_be_bytes());
        out.extend(self.source);
        out.extend(self.name.as_bytes());
        out
    }

    /// Parses the bytes of a header.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidHeader> {
        Self::read(bytes).ok_or(InvalidHeader("it is too short, or of another version"))?.check()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u8().ok()? != VERSION {
            return None;
        }
        let size = u64::from_be_bytes(reader.array().ok()?);
        let (sha256, manifest) = (reader.array().ok()?, reader.array().ok()?);
        let (symbol, symbols) = (reader.u16().ok()?, reader.u16().ok()?);
        let source = reader.array().ok()?;
        let name = String::from_utf8(reader.rest().to_vec()).ok()?;
        Some(Self { name, size, sha256, manifest, symbol, symbols, source })
    }

    /// Checks name and layout: names have no folders, and a node can hold the manifest.
    pub fn check(self) -> Result<Self, InvalidHeader> {
        if self.name.is_empty() || self.name.len() > MAX_NAME {
            return Err(InvalidHeader("the name must have 1 to 255 bytes"));
        }
        if matches!(&*self.name, "." | "..") || self.name.contains(['/', '\0']) {
            return Err(InvalidHeader("the name is not that of a file"));
        }
        if !(MIN_SYMBOL..=MAX_SYMBOL).contains(&self.symbol) {
            return Err(InvalidHeader("a symbol must have 64 to 1400 bytes"));
        }
        if !(1..=MAX_SYMBOLS).contains(&self.symbols) {
            return Err(InvalidHeader("a block must have 1 to 1024 symbols"));
        }
        let block = u64::from(self.symbol) * u64::from(self.symbols);
        if self.size.div_ceil(block) > block / HASH as u64 {
            return Err(InvalidHeader("the file is too large for its blocks"));
        }
        Ok(self)
    }

    /// Number of blocks, the manifest included; 0 for an empty file.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 1400 * 1024 / 32 hashes fit into the manifest"
    )]
    pub fn blocks(&self) -> u32 {
        let data = self.size.div_ceil(self.full()) as u32;
        if data == 0 { 0 } else { data + 1 }
    }

    /// Length of a block, bytes. Block 0 is the manifest.
    #[expect(clippy::cast_possible_truncation, reason = "a block has at most 1400 * 1024 bytes")]
    pub fn block_len(&self, block: u32) -> usize {
        if block == 0 {
            return HASH * self.blocks().saturating_sub(1) as usize;
        }
        self.full().min(self.size.saturating_sub(self.offset(block))) as usize
    }

    /// Number of symbols of a block.
    #[expect(clippy::cast_possible_truncation, reason = "a block has at most 1024 symbols")]
    pub fn block_symbols(&self, block: u32) -> u32 {
        self.block_len(block).div_ceil(usize::from(self.symbol)) as u32
    }

    /// Offset of a block in the file, bytes. Block 0 is not in the file.
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block.saturating_sub(1)) * self.full()
    }

    /// Length of a full block, bytes.
    fn full(&self) -> u64 {
        u64::from(self.symbol) * u64::from(self.symbols)
    }

    /// Whether these bytes are the block; `manifest` is needed for all blocks but the manifest itself.
    pub fn is_block(&self, block: u32, bytes: &[u8], manifest: &[u8]) -> bool {
        let hash = Sha256::digest(bytes);
        if block == 0 {
            return hash[..] == self.manifest;
        }
        let at = HASH * (block as usize - 1);
        manifest.get(at..at + HASH).is_some_and(|expected| expected == &hash[..])
    }
}

impl fmt::Display for TransferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Length of a hash in the manifest, bytes.
pub const HASH: usize = 32;
/// Size of a symbol unless a program chooses another, bytes.
pub const SYMBOL: u16 = 1280;
/// Symbols of a full block unless a program chooses another number.
pub const SYMBOLS: u16 = 256;
const MIN_SYMBOL: u16 = 64;
/// Largest size of a symbol, bytes: a sealed packet with it fits into an IPv6 packet of 1500 bytes.
pub const MAX_SYMBOL: u16 = 1400;
const MAX_SYMBOLS: u16 = 1024;
const MAX_NAME: usize = 255;
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn header(size: u64) -> Header {
        let [sha256, manifest, source] = [[1; 32], [2; 32], [3; 32]];
        Header { name: "map".to_owned(), size, sha256, manifest, symbol: SYMBOL, symbols: SYMBOLS, source }
    }

    #[test]
    fn blocks_cover_the_file() {
        for size in [1, 1280, 327_680, 327_681, 100_000_000] {
            let header = header(size);
            let lengths: usize = (1..header.blocks()).map(|block| header.block_len(block)).sum();
            assert_eq!(lengths as u64, size);
            let last = header.blocks() - 1;
            assert_eq!(header.offset(last) + header.block_len(last) as u64, size);
        }
        assert_eq!(header(0).blocks(), 0);
        assert_eq!(header(100_000_000).blocks(), 307);
    }

    #[test]
    fn a_header_that_a_node_cannot_hold_is_refused() {
        let refused = |change: &dyn Fn(&mut Header)| {
            let mut header = header(1000);
            change(&mut header);
            Header::parse(&header.emit()).is_err()
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|header| header.name = "../map".to_owned()));
        assert!(refused(&|header| header.name = "..".to_owned()));
        assert!(refused(&|header| header.name = String::new()));
        assert!(refused(&|header| header.name = "n".repeat(256)));
        assert!(refused(&|header| header.symbol = 63));
        assert!(refused(&|header| header.symbol = 1401));
        assert!(refused(&|header| header.symbols = 0));
        assert!(refused(&|header| header.symbols = 1025));
        assert!(refused(&|header| header.size = u64::MAX));
    }

    proptest! {
        #[test]
        fn a_header_survives_its_bytes(size in 0_u64..2_000_000_000, name in "[a-z]{1,20}") {
            let header = Header { name, ..header(size) };
            prop_assert_eq!(Header::parse(&header.emit()), Ok(header));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(header) = Header::parse(&bytes) {
                prop_assert_eq!(header.emit(), bytes);
            }
        }
    }
}
