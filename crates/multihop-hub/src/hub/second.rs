//! The second path of a connection: another address of the caller, in addition to the address of the
//! handshake.
//!
//! docs/models/net.md describes it. The transport `multihop_transport::mesh` decides which segments leave on
//! the second path, and when.
//!
//! # Bytes
//!
//! A caller may use another of its addresses to the listener's address, if SYN and SYN ACK have the
//! *feature* (`docs/wire.md#options-of-a-control-syn`).
//!
//! | | rule |
//! |---|---|
//! | datagrams | have counters from 2^63 on, and the spare index; an end without a spare index uses the index of the first path |
//! | segments | of `mesh` have the bit of the second path, and are ignored on the wrong path. Control segments, keys and indices take the path of the other end's newest datagram |
//! | validation | The listener challenges the address of the first datagram of the second path. Before the response it sends there at most three times the bytes received from there. Later changes of address follow the rules of the first path |
//! | indices | The index of the second path is valid in addition to the three of the first path. A request names the newest index on either path |

use core::net::{IpAddr, SocketAddr};

use multihop_core::Instant;
use multihop_transport::connection::Segment;

use super::paths::Paths;
use super::{Hub, Id, USUAL_MTU, mss_of};
use crate::datagram::IncomingDatagram;
use crate::error::Error;
use crate::protection::{Freshness, Path};

/// Addresses of a second path.
#[derive(Debug)]
pub(super) struct SecondPath {
    pub(super) paths: Paths,
    /// The local address from which datagrams leave.
    pub(super) source: Option<IpAddr>,
}

impl SecondPath {
    /// Creates the path from another local address to a peer that has completed a handshake.
    pub(super) const fn to(peer: SocketAddr, source: IpAddr) -> Self {
        Self { paths: Paths::new(peer), source: Some(source) }
    }

    /// State of the path on which an authentic datagram arrived. The peer's address is not validated yet, and the
    /// datagram's bytes are not counted.
    pub(super) const fn of(datagram: &IncomingDatagram<'_>) -> Self {
        Self { paths: Paths::unproved(datagram.from), source: datagram.local }
    }
}

/// Whether a segment arrived on its path. Segments that belong to no path may arrive on either.
pub(super) fn is_on_its_path(segment: &Segment, freshness: Option<Freshness>, on_second: bool) -> bool {
    let own = is_of_second(segment);
    own.is_none_or(|own| own == (on_second && freshness.is_some()))
}

/// Whether a segment belongs to the second path; `None` if it may use either path.
pub(super) const fn is_of_second(segment: &Segment) -> Option<bool> {
    match segment {
        Segment::Mesh(segment) => segment.second_path(),
        _ => None,
    }
}

impl Hub {
    /// Sets the local addresses. The first one replaces the address that the system chooses. The second one
    /// is for a second path, which opens as soon as the peer has given an index for it. Only encrypted
    /// connections of `mesh` have a second path, and only if both ends support it.
    pub fn send_from(&mut self, id: Id, local: &[IpAddr]) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        connection.source = local.first().copied();
        connection.wanted = local.get(1).copied();
        Ok(())
    }

    /// Opens the second path that the application has requested, if that is possible now.
    pub(super) fn open_second(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(source) = connection.wanted.filter(|_| connection.protection.has_second_index()) else {
            return;
        };
        connection.wanted = None;
        if connection.end.add_path() {
            let peer = connection.peer();
            connection.second = Some(SecondPath::to(peer, source));
            self.bound_mss(id);
        }
    }

    /// Limits segments to the smaller MTU of both paths.
    pub(super) fn bound_mss(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(second) = &connection.second else { return };
        let peer = connection.peer();
        let paths = [(peer, connection.source), (second.paths.current(), second.source)];
        let mtu = paths.into_iter().map(|(to, from)| (self.path_mtu)(to, from).unwrap_or(USUAL_MTU)).min();
        let mtu = mtu.unwrap_or(USUAL_MTU);
        connection.end.set_mss(mss_of(self.transports, mtu, peer, &connection.protection));
    }

    /// Sends a challenge on the second path until the peer has proved that it receives datagrams there.
    pub(super) fn challenge_second(&mut self, now: Instant, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(second) = &mut connection.second else { return };
        let mut random = || {
            let mut number = [0; 8];
            (self.entropy)(&mut number);
            number
        };
        let Some((to, number)) = second.paths.take_challenge(now, &mut random) else { return };
        let source = second.source;
        if let Some(bytes) = connection.protection.challenge(now, Path::Second, &number) {
            self.reply(to, source, bytes);
        }
    }
}
