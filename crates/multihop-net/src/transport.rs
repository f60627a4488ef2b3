//! The transport of a connection: TPA, or another one.

use std::fmt;
use std::sync::Arc;

use multihop_transport::connection::ConnectionConfig;

/// `mesh` or a user-defined transport in place of TPA.
#[derive(Clone, Debug)]
pub struct CustomTransport {
    /// What both ends must agree on.
    pub name: TransportName,
    /// Makes the ends of connections: the first one initiates, the second one listens.
    pub config: Arc<dyn ConnectionConfig>,
}

/// The name by which two ends check that they use the same transport.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct TransportName {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl TransportName {
    /// The most bytes of a name: an answer with it is never longer than the hello that it answers.
    pub const MAX: usize = 28;

    /// TPA, whose SYNs have no name.
    pub const TPA: Self = Self::of(b"tpa");

    /// A name that this end cannot read.
    pub(crate) const UNREADABLE: Self = Self::of(b"unknown");

    /// The name with these bytes, from 1 to [`MAX`](Self::MAX) visible ASCII characters.
    pub fn new(name: &str) -> Option<Self> {
        Self::parse(name.as_bytes())
    }

    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let fits = (1..=Self::MAX).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
        fits.then(|| Self::of(name))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most MAX")]
    const fn of(name: &[u8]) -> Self {
        let mut bytes = [0; Self::MAX];
        let (start, _) = bytes.split_at_mut(name.len());
        start.copy_from_slice(name);
        Self { bytes, len: name.len() as u8 }
    }
}

impl Default for TransportName {
    fn default() -> Self {
        Self::TPA
    }
}

impl fmt::Display for TransportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(self.as_bytes()).expect("names are ASCII"))
    }
}

impl fmt::Debug for TransportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_visible() {
        for name in ["x", "stop-and-wait/1", &"n".repeat(28)] {
            assert_eq!(TransportName::new(name).unwrap().to_string(), name);
        }
        for name in ["", "two words", "\u{1b}[2J", "é", &"n".repeat(29)] {
            assert_eq!(TransportName::new(name), None, "{name:?}");
        }
        assert_eq!(TransportName::default(), TransportName::new("tpa").unwrap());
    }
}
