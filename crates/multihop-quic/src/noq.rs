//! The stack noq, a fork of quinn: what its interface has otherwise than quinn's.

use std::num::NonZeroUsize;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use noq_proto as proto;

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
    proto::Endpoint::new(config.into(), server.map(Into::into), discovers_mtu)
}

fn handle(
    endpoint: &mut proto::Endpoint,
    now: Instant,
    ecn: Option<proto::EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<proto::DatagramEvent> {
    endpoint.handle(now, proto::FourTuple::new(PEER, None), ecn, data, answer)
}

fn poll_transmit(
    connection: &mut proto::Connection,
    now: Instant,
    out: &mut Vec<u8>,
) -> Option<proto::Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, out)
}

/// Queues data; returns the number of bytes for which there was room.
fn write(mut stream: proto::SendStream<'_>, data: &'static [u8]) -> usize {
    stream.write_chunks(&mut &mut [Bytes::from_static(data)][..]).unwrap_or(0)
}

/// Measures the only path of a connection.
fn measure(connection: &mut proto::Connection) -> Measures {
    let path = proto::PathId::ZERO;
    let (stats, paths) = (connection.stats(), connection.path_stats(path).unwrap_or_default());
    let control = connection.congestion_state(path);
    Measures {
        cwnd: control.map_or(0, |control| control.window()),
        ssthresh: control.and_then(|control| control.metrics().ssthresh),
        mtu: paths.current_mtu,
        round_trip: paths.rtt,
        acks: stats.frame_rx.acks,
        lost: stats.lost_packets,
        stream_frames: [stats.frame_tx.stream, stats.frame_rx.stream],
    }
}
