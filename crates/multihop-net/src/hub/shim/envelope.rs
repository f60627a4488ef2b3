//! The messages of another transport as segments, in the connection that TPA has opened.
//!
//! A message is a data segment at position 0, with LAST and ACK. Its two block numbers are those of the SYNs of
//! both ends, so that a late datagram of an earlier connection is not taken for one of this connection. The
//! payload is the length of the header (two bytes), the header, and the data.

use multihop_core::{Payload, SegmentId};
use multihop_transport::tpa;
use multihop_wire::tpa::{Ack, Body, MAX_BLOCK, Segment};

/// The segment that carries a message, in this memory; `None` for a header that is too long.
pub(super) fn put(
    control: &tpa::Endpoint,
    memory: Vec<u8>,
    emit_header: impl FnOnce(&mut Vec<u8>),
    data: &Payload,
) -> Option<Segment> {
    let mut payload = memory;
    payload.clear();
    payload.extend_from_slice(&[0; PREFIX as usize]);
    emit_header(&mut payload);
    let header_len = u16::try_from(payload.len() - usize::from(PREFIX)).ok()?;
    payload[..usize::from(PREFIX)].copy_from_slice(&header_len.to_be_bytes());
    data.emit(&mut payload);
    let (block, theirs) = control.syn_blocks();
    let ports = control.ports();
    Some(Segment {
        source: ports.local,
        destination: ports.remote,
        block,
        body: Body::Data { position: 0, last: true, payload: payload.into() },
        ack: Some(Ack { block: theirs, ..Ack::default() }),
        window: WINDOW,
        ..Segment::default()
    })
}

/// Whether a segment is an envelope of this connection.
pub(super) fn is_of(control: &tpa::Endpoint, segment: &Segment) -> bool {
    let (ours, theirs) = control.syn_blocks();
    segment.block == theirs && segment.ack.is_some_and(|ack| ack.block == ours)
}

/// The data of the message in the payload of an envelope, and its header in `into`; `None` if there is none.
pub(super) fn take(payload: Payload, into: &mut Vec<u8>) -> Option<Payload> {
    let Payload::Bytes(mut bytes) = payload else { return None };
    into.clear();
    into.extend_from_slice(header(&bytes)?);
    // The data, which is longer, keeps the memory.
    bytes.drain(..usize::from(PREFIX) + into.len());
    Some(bytes.into())
}

/// The identification of an envelope in notices: the start of the message's header.
pub(super) fn id(payload: &Payload) -> SegmentId {
    let Payload::Bytes(bytes) = payload else { return SegmentId::Other };
    let Some(header) = header(bytes) else { return SegmentId::Other };
    let mut start = [0; 16];
    let len = header.len().min(start.len());
    start[..len].copy_from_slice(&header[..len]);
    SegmentId::Custom(start)
}

fn header(envelope: &[u8]) -> Option<&[u8]> {
    let (len, rest) = envelope.split_first_chunk()?;
    rest.get(..usize::from(u16::from_be_bytes(*len)))
}

/// Bytes in front of a message.
pub(super) const PREFIX: u16 = 2;
/// The window of TPA's own stream, which is empty.
const WINDOW: u16 = MAX_BLOCK as u16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_is_no_message_is_rejected() {
        for bytes in [&[][..], &[0], &[0, 1], &[0, 3, 1, 2], &[255, 255, 1]] {
            assert_eq!(take(bytes.to_vec().into(), &mut Vec::new()), None, "{bytes:?}");
        }
        let mut header = vec![9; 9];
        assert_eq!(take(vec![0, 0].into(), &mut header), Some(vec![].into()));
        assert!(header.is_empty(), "{header:?}");
        assert_eq!(take(vec![0, 2, 7, 8, 9].into(), &mut header), Some(vec![9].into()));
        assert_eq!(header, [7, 8]);
    }

    #[test]
    fn a_notice_names_the_start_of_the_header() {
        let id_of = |header: &[u8]| id(&[&[0, 20][..], header].concat().into());
        let long: Vec<u8> = (1..=20).collect();
        assert_eq!(id_of(&long), SegmentId::Custom(*long.first_chunk().unwrap()));
        assert_eq!(
            id(&vec![0, 1, 9].into()),
            SegmentId::Custom([9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        );
    }
}
