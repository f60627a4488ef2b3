//! The hashes of a file and of its blocks.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Reads a file; returns its manifest, its SHA-256 and the SHA-256 of the manifest.
pub fn manifest(mut file: impl Read, symbol: u16, symbols: u16) -> io::Result<(Vec<u8>, [u8; 32], [u8; 32])> {
    let (mut manifest, mut whole) = (Vec::new(), Sha256::new());
    let mut block = Vec::with_capacity(usize::from(symbol) * usize::from(symbols));
    loop {
        block.clear();
        file.by_ref().take(u64::from(symbol) * u64::from(symbols)).read_to_end(&mut block)?;
        if block.is_empty() {
            let hash = Sha256::digest(&manifest).into();
            return Ok((manifest, whole.finalize().into(), hash));
        }
        whole.update(&block);
        manifest.extend(Sha256::digest(&block));
    }
}
