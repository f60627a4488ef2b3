//! The transport of a connection, and its name.
//!
//! # Bytes
//!
//! A listener with several transports reads a first datagram as a SYN of TPA if bytes 2 to 7 are 0, 2, 0, 0,
//! 0, 0. A SYN from the address and port of a lingering connection opens a new connection, of any transport.
//!
//! A *control SYN* (`docs/wire.md#control-segments`) names the caller's transports, the preferred one first. The
//! listener answers with the first one that it has and that a control SYN can open. Without a common
//! transport it answers with RST, cause 4, and its own transports, separated by blanks. A caller that has one
//! of these opens another connection, with a new connection number and handshake. A listener without TPA
//! refuses a SYN of TPA in the same way.
//!
//! | caller | listener: TPA only | `mesh` or TPA (default) | `mesh` only |
//! |---|---|---|---|
//! | TPA only | TPA | TPA | refused |
//! | `mesh` or TPA (default) | TPA, after an RST | `mesh` | `mesh` |
//! | `mesh` only | refused | `mesh` | `mesh` |
//!
//! A name has a version: `mesh/3`, `tcp/1`, `stop-and-wait/1`; TPA's is `tpa`.
//!
//! **Cookies.** A plain listener answers a control SYN without a valid cookie with a SYN ACK of 32 bytes,
//! with connection number 0, window 0, and the cookie as only option. The rules of TPA's cookies apply.
//!
//! **User-defined transports.** TCP (`tcp/1`) and *user-defined* (`docs/extending.md#on-real-sockets`)
//! transports use *messages* (`docs/wire.md#segments-of-user-defined-transports`). A header of TCP is a TCP
//! segment without data, with the checksum for addresses 0.0.0.0. An end sends a close when all its data is
//! acknowledged, and retransmits the close until it is acknowledged.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use multihop_transport::connection::ConnectionConfig;
use multihop_transport::{mesh, tpa};

use crate::segment::Format;

/// A transport with its parameters: TPA, `mesh`, TCP or a user-defined one.
#[derive(Clone, Debug)]
pub struct Transport {
    /// Name of the transport, on which both ends must agree.
    pub name: TransportName,
    /// Configuration that creates the ends of connections: the first end initiates, the second one listens.
    pub config: Arc<dyn ConnectionConfig>,
}

impl Transport {
    /// The transport TPA with these parameters. When a route of this host is restored, a frozen sender probes
    /// at once.
    pub fn tpa(config: tpa::Config) -> Self {
        let config = Arc::new(tpa::Config { probe_restored: true, ..config });
        Self { name: TransportName::TPA, config }
    }

    /// Transport `mesh` with these parameters.
    ///
    /// # Panics
    /// Never: the name of `mesh` is valid.
    pub fn mesh(config: mesh::Config) -> Self {
        let name = TransportName::new(mesh::NAME).expect("up to 28 visible characters");
        Self { name, config: Arc::new(config) }
    }

    /// Format of the transport's segments in datagrams.
    pub(crate) fn format(&self) -> Format {
        if self.name == TransportName::TPA {
            Format::Tpa
        } else if self.config.opens_connections() {
            Format::Mesh
        } else {
            Format::Custom
        }
    }
}

/// The name by which two ends check that they use the same transport.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct TransportName {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl TransportName {
    /// Largest length of a name, bytes. It ensures that an answer with the name is never longer than the
    /// hello.
    pub const MAX: usize = 28;

    /// Name of TPA, which SYNs of TPA do not contain.
    pub const TPA: Self = Self::of(b"tpa");

    /// Name for a transport that the peer does not state.
    pub(crate) const UNKNOWN: Self = Self::of(b"unknown");

    /// Creates a name from 1 to [`MAX`](Self::MAX) visible ASCII characters; `None` for any other text.
    pub fn new(name: &str) -> Option<Self> {
        Self::parse(name.as_bytes())
    }

    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let fits = (1..=Self::MAX).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
        fits.then(|| Self::of(name))
    }

    fn as_bytes(&self) -> &[u8] {
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
    /// Format of the preferred transport's segments.
    pub(crate) format: Format,
    /// Whether TPA is used if the peer supports no other transport.
    pub(crate) or_tpa: bool,
}

impl Transports {
    /// Names of all transports, the preferred one first.
    pub(crate) fn names(self) -> Vec<TransportName> {
        let tpa = Some(TransportName::TPA).filter(|tpa| self.or_tpa && self.preferred != *tpa);
        [self.preferred].into_iter().chain(tpa).collect()
    }

    /// Whether this end supports the transport with this name.
    pub(crate) fn has(self, name: TransportName) -> bool {
        name == self.preferred || (self.or_tpa && name == TransportName::TPA)
    }

    /// Format of the segments of a transport of this end.
    pub(crate) fn format_of(self, name: TransportName) -> Format {
        if name == TransportName::TPA { Format::Tpa } else { self.format }
    }

    /// Transport to try next after a listener that supports `theirs` has refused `tried`.
    pub(crate) fn after(self, tried: TransportName, theirs: &[TransportName]) -> Option<TransportName> {
        let untried = self.names().into_iter().skip_while(|name| *name != tried).skip(1);
        untried.into_iter().find(|name| theirs.contains(name))
    }
}

impl Default for TransportName {
    fn default() -> Self {
        Self::TPA
    }
}

impl fmt::Display for TransportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(self.as_bytes()).expect("names are ASCII"))
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
    fn a_refused_caller_tries_the_next_of_its_transports_that_the_listener_has() {
        let [tpa, mesh, other] = ["tpa", "mesh/3", "other/1"].map(|name| TransportName::new(name).unwrap());
        let ours = |or_tpa| Transports { preferred: mesh, format: Format::Mesh, or_tpa };
        for (or_tpa, tried, theirs, next) in [
            (true, mesh, &[tpa][..], Some(tpa)),
            (true, mesh, &[other, tpa], Some(tpa)),
            (true, mesh, &[other], None),
            (true, mesh, &[mesh], None),
            (true, tpa, &[mesh], None),
            (true, tpa, &[tpa], None),
            (false, mesh, &[tpa], None),
            (true, mesh, &[], None),
        ] {
            assert_eq!(ours(or_tpa).after(tried, theirs), next, "{tried} refused by {theirs:?}");
        }
        assert_eq!((ours(true).names(), ours(false).names()), (vec![mesh, tpa], vec![mesh]));
        assert_eq!([tpa, mesh, other].map(|name| ours(true).has(name)), [true, true, false]);
        assert_eq!([tpa, mesh].map(|name| ours(true).format_of(name)), [Format::Tpa, Format::Mesh]);
    }
}
