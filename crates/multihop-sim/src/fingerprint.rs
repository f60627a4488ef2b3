//! Hash that identifies a text; also used by the build script.

/// FNV-1a with 128 bits. Not cryptographic: collisions can be constructed.
pub(crate) struct Fingerprint(u128);

impl Fingerprint {
    /// The hash of the empty text.
    pub(crate) const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Appends to the text.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }

    /// The fingerprint as 32 hexadecimal digits.
    pub(crate) fn digits(&self) -> String {
        format!("{:032x}", self.0)
    }
}
