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

/// The transports that one end can use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transports {
    pub(crate) preferred: TransportName,
    /// Whether TPA is as good if the peer has nothing else.
    pub(crate) or_tpa: bool,
}

impl Transports {
    /// The transport that our SYN names.
    pub(crate) fn named(self) -> TransportName {
        if self.or_tpa { TransportName::TPA } else { self.preferred }
    }

    /// The transport that our SYN offers in place of the named one.
    pub(crate) fn offered(self) -> Option<TransportName> {
        Some(self.preferred).filter(|_| self.or_tpa)
    }

    /// Whether this end can use this one.
    pub(crate) fn has(self, name: TransportName) -> bool {
        name == self.preferred || name == self.named()
    }

    /// The answer to a SYN that names and offers these: our own if we have neither, and the caller refuses it.
    pub(crate) fn choose(self, named: TransportName, offered: Option<TransportName>) -> TransportName {
        let known = offered.into_iter().chain([named]).find(|name| self.has(*name));
        known.unwrap_or(self.preferred)
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

    #[test]
    fn a_listener_takes_the_offer_then_the_name_then_its_own() {
        let [tpa, mesh, other] = ["tpa", "mesh/2", "other/1"].map(|name| TransportName::new(name).unwrap());
        let listeners = [(tpa, false), (mesh, false), (mesh, true)]
            .map(|(preferred, or_tpa)| Transports { preferred, or_tpa });
        for (named, offered, chosen) in [
            (tpa, None, [tpa, mesh, tpa]),
            (tpa, Some(mesh), [tpa, mesh, mesh]),
            (tpa, Some(other), [tpa, mesh, tpa]),
            (mesh, None, [tpa, mesh, mesh]),
            (other, None, [tpa, mesh, mesh]),
        ] {
            assert_eq!(listeners.map(|ours| ours.choose(named, offered)), chosen, "{named}, {offered:?}");
        }
    }
}
