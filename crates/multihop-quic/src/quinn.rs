//! The stack quinn: what its interface has otherwise than noq's.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto as proto;

use crate::end::{Measures, PEER};

#[expect(
    clippy::duplicate_mod,
    reason = "one driver for two stacks, whose types have the same names and methods"
)]
#[path = "stack.rs"]
mod stack;

pub(crate) use stack::Stack;

fn endpoint(
    config: proto::EndpointConfig,
    server: Option<proto::ServerConfig>,
    discovers_mtu: bool,
) -> proto::Endpoint {
    proto::Endpoint::new(config.into(), server.map(Into::into), discovers_mtu, None)
}

fn handle(
    endpoint: &mut proto::Endpoint,
    now: Instant,
    ecn: Option<proto::EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<proto::DatagramEvent> {
    endpoint.handle(now, PEER, None, ecn, data, answer)
}

fn poll_transmit(
    connection: &mut proto::Connection,
    now: Instant,
    out: &mut Vec<u8>,
) -> Option<proto::Transmit> {
    connection.poll_transmit(now, 1, out)
}

/// Queues data; returns the number of bytes for which there was room.
fn write(mut stream: proto::SendStream<'_>, data: &'static [u8]) -> usize {
    stream.write_chunks(&mut [Bytes::from_static(data)]).map_or(0, |written| written.bytes)
}

fn measure(connection: &mut proto::Connection) -> Measures {
    let stats = connection.stats();
    Measures {
        cwnd: connection.congestion_state().window(),
        ssthresh: connection.congestion_state().metrics().ssthresh,
        mtu: connection.current_mtu(),
        round_trip: connection.rtt(),
        acks: stats.frame_rx.acks,
        lost: stats.path.lost_packets,
        stream_frames: [stats.frame_tx.stream, stats.frame_rx.stream],
    }
}
