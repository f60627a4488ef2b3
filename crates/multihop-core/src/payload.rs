use alloc::vec::Vec;

/// Application data in a packet: bytes, or only a length if the contents do not matter.
///
/// Virtual data becomes zeros where bytes are needed, for example in a capture file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Payload {
    /// Application data as real bytes.
    Bytes(Vec<u8>),
    /// Payload of this many bytes whose contents do not matter; it uses no memory.
    Virtual(u32),
}

impl Payload {
    /// A payload without data, which needs no memory.
    pub const EMPTY: Self = Self::Virtual(0);

    /// Length of the application data, bytes; virtual data counts as if it were there.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Virtual(len) => *len as usize,
        }
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the data; of virtual data, zeros.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Virtual(len) => alloc::vec![0; len as usize],
        }
    }

    /// The memory of the data, for other data.
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(mut bytes) => {
                bytes.clear();
                Some(bytes)
            }
            Self::Virtual(_) => None,
        }
    }

    /// Appends the data to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Virtual(len) => out.resize(out.len() + *len as usize, 0),
        }
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_data_is_emitted_as_zeros() {
        let mut out = alloc::vec![7];
        Payload::Virtual(2).emit(&mut out);
        Payload::from(alloc::vec![9]).emit(&mut out);
        assert_eq!(out, [7, 0, 0, 9]);
    }
}
