//! Packets of spread: a parsed one emits the same bytes, and no sequence of packets makes a node panic or its output
//! endless.

use multihop_core::{Duration, Instant};
use multihop_spread::{Body, Config, Event, Header, Input, Node, Packet, SYMBOLS, manifest};

pub fn fuzz(data: &[u8]) {
    if let Ok(packet) = Packet::parse(data) {
        assert_eq!(packet.emit(), data);
    }
    let file = [5; 1000];
    let (list, sha256, hash) = manifest(&file[..], 64, SYMBOLS).expect("bytes can be read");
    let (name, source) = ("a".to_owned(), [0; 32]);
    let header = Header { name, size: 1000, sha256, manifest: hash, symbol: 64, symbols: SYMBOLS, source };
    let id = header.id().0.to_be_bytes();
    let mut nodes = [Node::new(Config::new(1, "a"), 1), Node::new(Config::new(2, "b"), 2)];
    let mut now = Instant::ZERO;
    nodes[0].offer(now, header, [0; 64], list, 1);
    let mut rest = data;
    while let Some((&[end, length, wait], after)) = rest.split_first_chunk() {
        let (bytes, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        now += Duration::from_micros(u64::from(wait) * u64::from(wait) * 50);
        // A fuzzer cannot guess the transfer.
        let mut bytes = bytes.to_vec();
        if end & 2 != 0 && bytes.len() >= 11 {
            bytes[3..11].copy_from_slice(&id);
        }
        if let Ok(packet) = Packet::parse(&bytes) {
            nodes[usize::from(end % 2)].handle(now, Input::Packet { from: 9, packet });
        }
        for this in 0..2 {
            turn(&mut nodes, this, now, &file);
        }
    }
}

/// One node handles time and events, and sends to the other.
fn turn(nodes: &mut [Node; 2], this: usize, now: Instant, file: &[u8]) {
    nodes[this].handle_timeout(now);
    let mut events = 0;
    while let Some(event) = nodes[this].poll_output() {
        events += 1;
        assert!(events < 1000, "the events do not end");
        let answer = match event {
            Event::Offered { transfer, .. } => Input::Accept(transfer),
            Event::Survey { transfer } => Input::Surveyed { transfer, whole: Vec::new() },
            Event::Read { transfer, block } => Input::Contents { transfer, block, contents: Some(file.to_vec()) },
            Event::Complete(transfer) => Input::Stored(transfer),
            _ => continue,
        };
        nodes[this].handle(now, answer);
    }
    for _ in 0..100 {
        let Some(packet) = nodes[this].poll_transmit(now) else { return };
        assert!(Packet::parse(&packet.emit()).as_ref() == Ok(&packet) || matches!(packet.body, Body::Report { .. }));
        nodes[1 - this].handle(now, Input::Packet { from: this as u64, packet });
    }
}
