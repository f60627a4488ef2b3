//! Grouping of outgoing datagrams, so that one system call sends many.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use multihop_hub::Transmit;

/// Datagrams to send, grouped into those that one call can send.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Bytes of all datagrams, one after another.
    pub(crate) bytes: Vec<u8>,
    parcels: Vec<Parcel>,
}

/// Datagrams of equal length (the last may be shorter) between the same two addresses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Parcel {
    pub(crate) to: SocketAddr,
    /// Address from which the datagrams must be sent, if it matters.
    pub(crate) source: Option<IpAddr>,
    /// DSCP of the datagrams.
    pub(crate) dscp: u8,
    /// Range of the datagrams' bytes in the outbox.
    pub(crate) range: Range<usize>,
    /// Length of each datagram of the parcel, bytes.
    pub(crate) each: usize,
}

impl Outbox {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parcels.clear();
    }

    /// Records the datagram that has been appended to `bytes`.
    pub(crate) fn push(&mut self, transmit: &Transmit) {
        let Transmit { to, source, dscp, len } = *transmit;
        let end = self.bytes.len();
        match self.parcels.last_mut() {
            Some(parcel) if parcel.takes(transmit) => parcel.range.end = end,
            _ => self.parcels.push(Parcel { to, source, dscp, range: end - len..end, each: len }),
        }
    }

    /// Whether to send before adding more.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= ENOUGH
    }

    pub(crate) fn parcels(&self) -> &[Parcel] {
        &self.parcels
    }
}

impl Parcel {
    /// Number of datagrams in the parcel.
    pub(crate) fn count(&self) -> usize {
        self.range.len().div_ceil(self.each.max(1))
    }

    fn takes(&self, next: &Transmit) -> bool {
        let same = self.to == next.to && self.source == next.source && self.dscp == next.dscp;
        let whole = self.range.len().is_multiple_of(self.each.max(1));
        let fits = self.range.len() + next.len <= MAX_BYTES && self.count() < MAX_DATAGRAMS;
        same && whole && next.len <= self.each && fits
    }
}

/// Number of queued bytes from which on the outbox is sent.
const ENOUGH: usize = 128 * 1024;
/// The most bytes that Linux sends in one call: those of the longest datagram.
const MAX_BYTES: usize = 65_000;
/// The most datagrams (`UDP_MAX_SEGMENTS` of older kernels).
const MAX_DATAGRAMS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(datagrams: &[(u16, usize)]) -> Vec<(u16, usize, usize)> {
        let mut outbox = Outbox::default();
        for &(port, len) in datagrams {
            outbox.bytes.resize(outbox.bytes.len() + len, 0);
            let to = SocketAddr::new([10, 0, 0, 1].into(), port);
            outbox.push(&Transmit { to, source: None, dscp: 0, len });
        }
        outbox.parcels().iter().map(|p| (p.to.port(), p.range.len(), p.count())).collect()
    }

    #[test]
    fn datagrams_of_one_length_go_together_and_a_shorter_one_ends_the_parcel() {
        assert_eq!(outbox(&[(1, 10), (1, 10), (1, 4), (1, 10)]), [(1, 24, 3), (1, 10, 1)]);
        assert_eq!(outbox(&[(1, 10), (2, 10), (2, 11)]), [(1, 10, 1), (2, 10, 1), (2, 11, 1)]);
    }

    #[test]
    fn datagrams_of_one_dscp_go_together() {
        let mut outbox = Outbox::default();
        for dscp in [0, 0, 46] {
            outbox.bytes.resize(outbox.bytes.len() + 10, 0);
            let to = SocketAddr::new([10, 0, 0, 1].into(), 1);
            outbox.push(&Transmit { to, source: None, dscp, len: 10 });
        }
        let parcels: Vec<_> = outbox.parcels().iter().map(|parcel| (parcel.dscp, parcel.count())).collect();
        assert_eq!(parcels, [(0, 2), (46, 1)]);
    }

    #[test]
    fn a_parcel_has_at_most_64_datagrams_and_65_000_bytes() {
        assert_eq!(outbox(&[(1, 10); 65]), [(1, 640, 64), (1, 10, 1)]);
        assert_eq!(outbox(&[(1, 30_000); 3]), [(1, 60_000, 2), (1, 30_000, 1)]);
    }
}
