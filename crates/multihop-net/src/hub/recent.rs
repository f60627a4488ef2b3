use std::net::Ipv4Addr;

use multihop_core::{Notice, Quoted};
use multihop_transport::tpa::Ports;
use multihop_wire::tpa::{BlockSeq, Body, Segment};
use multihop_wire::udp;

/// How the last datagrams began, to know them again when a router quotes one.
#[derive(Debug, Default)]
pub(super) struct Recent {
    all: [Sent; KEPT],
    next: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    start: [u8; START],
    len: u8,
    /// Which segment it was, if it had data or FIN.
    place: Option<(BlockSeq, u8)>,
}

impl Recent {
    /// Notes a datagram, and the segment that it carries.
    pub(super) fn push(&mut self, segment: Option<&Segment>, datagram: &[u8]) {
        let place = segment.and_then(|segment| match segment.body {
            Body::Data { position, .. } | Body::Fin { position } => Some((segment.block, position)),
            _ => None,
        });
        let len = datagram.len().min(START);
        let sent = &mut self.all[self.next];
        sent.start[..len].copy_from_slice(&datagram[..len]);
        sent.len = u8::try_from(len).unwrap_or(u8::MAX);
        sent.place = place;
        self.next = (self.next + 1) % KEPT;
    }

    /// Whether a datagram that began so was sent of late; if it had data or FIN, the notice for the endpoint.
    pub(super) fn find(&self, quoted: &[u8], ports: Ports) -> Option<Option<Notice>> {
        let newest_first = (1..=KEPT).map(|back| &self.all[(self.next + KEPT - back) % KEPT]);
        let sent = newest_first.into_iter().find(|sent| sent.len > 0 && sent.is(quoted))?;
        Some(sent.place.map(|(block, position)| notice(ports, block, position)))
    }
}

impl Sent {
    /// Some routers quote no more than the ports: then the newest will do, and they were checked by the
    /// system.
    fn is(&self, quoted: &[u8]) -> bool {
        let len = quoted.len().min(usize::from(self.len));
        quoted[..len] == self.start[..len]
    }
}

/// As ICMP would quote it in the clear. The endpoint reads ports, block and position; the addresses are those
/// by which the connection was found.
fn notice(ports: Ports, block: BlockSeq, position: u8) -> Notice {
    let mut transport = [0; 20];
    transport[..2].copy_from_slice(&ports.local.to_be_bytes());
    transport[2..4].copy_from_slice(&ports.remote.to_be_bytes());
    transport[8..10].copy_from_slice(&block.0.to_be_bytes());
    // BitmapData: 12 bits, of which the most significant is position 0.
    transport[10..12].copy_from_slice(&(0x8000_u16 >> position).to_be_bytes());
    let (source, destination) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
    Notice::LinkFailed(Quoted { source, destination, protocol: udp::PROTOCOL, transport })
}

/// More than a window, what was sent again and ACKs in between.
const KEPT: usize = 16;
/// A header, or what a sealed datagram has in front.
const START: usize = 16;

#[cfg(test)]
mod tests {
    use multihop_core::Payload;
    use multihop_wire::tpa::Framing;

    use super::*;

    const PORTS: Ports = Ports { local: 7, remote: 9 };

    fn send(recent: &mut Recent, position: u8) -> Vec<u8> {
        let payload = Payload::Bytes(vec![position; 100]);
        let body = Body::Data { position, last: false, payload };
        let segment = Segment { block: BlockSeq(0xabc), body, ..Segment::default() };
        let mut datagram = Vec::new();
        segment.emit_in_udp(&mut datagram);
        recent.push(Some(&segment), &datagram);
        datagram
    }

    fn place(found: Option<Option<Notice>>) -> Option<(u16, u8)> {
        let Some(Some(Notice::LinkFailed(quoted))) = found else { return None };
        let quote = Framing::Udp.quoted(&quoted.transport).unwrap();
        assert_eq!(quote.ports, (7, 9));
        Some((quote.block.0, quote.position))
    }

    #[test]
    fn a_quote_of_any_length_finds_the_newest_datagram_that_began_so() {
        let mut recent = Recent::default();
        assert_eq!(place(recent.find(&[], PORTS)), None);
        let first = send(&mut recent, 0);
        send(&mut recent, 11);
        assert_eq!(place(recent.find(&first, PORTS)), Some((0xabc, 0)));
        assert_eq!(place(recent.find(&first[..8], PORTS)), Some((0xabc, 0)));
        assert_eq!(place(recent.find(&[], PORTS)), Some((0xabc, 11)));
    }

    #[test]
    fn what_was_not_sent_or_long_ago_is_not_found() {
        let mut recent = Recent::default();
        let first = send(&mut recent, 0);
        let mut other = first.clone();
        other[0] ^= 1;
        assert!(recent.find(&other, PORTS).is_none());
        for _ in 0..KEPT - 1 {
            send(&mut recent, 1);
        }
        assert!(recent.find(&first, PORTS).is_some());
        send(&mut recent, 1);
        assert!(recent.find(&first, PORTS).is_none());
    }

    #[test]
    fn a_segment_without_data_is_found_but_is_no_notice() {
        let mut recent = Recent::default();
        let mut datagram = Vec::new();
        Segment::default().emit_in_udp(&mut datagram);
        recent.push(None, &datagram);
        assert!(matches!(recent.find(&datagram, PORTS), Some(None)));
    }
}
