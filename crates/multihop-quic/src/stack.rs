//! One end of a QUIC connection: an endpoint of a stack with at most one connection. The module above says which stack
//! it is, by the name `proto`, and has the calls in which the stacks differ.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use multihop_transport::connection::Ecn;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};

use super::{endpoint, handle, measure, poll_transmit, proto, write};
use crate::end::{Happening, Measures, PEER, QuicStack};
use crate::tls;

/// One end of a connection.
pub(crate) struct Stack {
    endpoint: proto::Endpoint,
    connection: Option<(proto::ConnectionHandle, proto::Connection)>,
    /// Configuration of a client before it connects.
    client: Option<proto::ClientConfig>,
    /// Datagrams that answer others and belong to no connection.
    answers: VecDeque<Vec<u8>>,
    /// Streams of the peer that have not been read to their end.
    incoming: Vec<proto::StreamId>,
}

impl Stack {
    /// Creates the end that opens the connection.
    pub(crate) fn client(seed: [u8; 32], transport: proto::TransportConfig, discovers_mtu: bool) -> Self {
        let tls = QuicClientConfig::try_from(tls::client()).expect("ring has the cipher of Initial packets");
        let mut client = proto::ClientConfig::new(Arc::new(tls));
        client.transport_config(Arc::new(transport));
        Self { client: Some(client), ..Self::new(seed, None, discovers_mtu) }
    }

    /// Creates the end that accepts the first connection.
    pub(crate) fn server(seed: [u8; 32], transport: proto::TransportConfig, discovers_mtu: bool) -> Self {
        let tls = QuicServerConfig::try_from(tls::server()).expect("ring has the cipher of Initial packets");
        let mut server = proto::ServerConfig::with_crypto(Arc::new(tls));
        server.transport_config(Arc::new(transport));
        Self::new(seed, Some(server), discovers_mtu)
    }

    fn new(seed: [u8; 32], server: Option<proto::ServerConfig>, discovers_mtu: bool) -> Self {
        let mut config = proto::EndpointConfig::default();
        config.rng_seed(Some(seed));
        Self {
            endpoint: endpoint(config, server, discovers_mtu),
            connection: None,
            client: None,
            answers: VecDeque::new(),
            incoming: Vec::new(),
        }
    }

    fn connection(&mut self) -> Option<&mut proto::Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Exchanges events between endpoint and connection.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    fn accept(&mut self, now: Instant, incoming: proto::Incoming) {
        let mut answer = Vec::new();
        if self.connection.is_some() {
            return self.endpoint.ignore(incoming);
        }
        self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
        self.answers.extend((!answer.is_empty()).then_some(answer));
    }

    fn accept_streams(&mut self) {
        while let Some(stream) =
            self.connection().and_then(|connection| connection.streams().accept(proto::Dir::Uni))
        {
            self.incoming.push(stream);
        }
    }
}

/// The n-th stream that the client opens.
fn stream(index: u64) -> proto::StreamId {
    proto::StreamId::new(proto::Side::Client, proto::Dir::Uni, index)
}

impl QuicStack for Stack {
    fn connect(&mut self, now: Instant) {
        if let Some(client) = self.client.take() {
            let connected = self.endpoint.connect(now, client, PEER, tls::SERVER_NAME);
            self.connection = Some(connected.expect("a valid address, name and version"));
        }
    }

    fn receive(&mut self, now: Instant, data: &[u8], ecn: Ecn) {
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(proto::EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(proto::EcnCodepoint::Ect1),
            Ecn::Ce => Some(proto::EcnCodepoint::Ce),
        };
        let mut answer = Vec::new();
        match handle(&mut self.endpoint, now, ecn, BytesMut::from(data), &mut answer) {
            Some(proto::DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some(connection) = self.connection() {
                    connection.handle_event(event);
                }
            }
            Some(proto::DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(proto::DatagramEvent::Response(_)) => self.answers.push_back(answer),
            None => {}
        }
        self.settle();
    }

    fn transmit(&mut self, now: Instant) -> Option<(Vec<u8>, Ecn)> {
        if let Some(answer) = self.answers.pop_front() {
            return Some((answer, Ecn::NotEct));
        }
        let mut out = Vec::new();
        let transmit = poll_transmit(self.connection()?, now, &mut out)?;
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(proto::EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(proto::EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(proto::EcnCodepoint::Ce) => Ecn::Ce,
        };
        out.truncate(transmit.size);
        Some((out, ecn))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection()?.poll_timeout()
    }

    fn poll(&mut self) -> Option<Happening> {
        self.settle();
        loop {
            let event = self.connection()?.poll()?;
            return Some(match event {
                proto::Event::Connected => Happening::Connected,
                proto::Event::ConnectionLost { reason } => match reason {
                    proto::ConnectionError::ApplicationClosed(_) => Happening::PeerClosed,
                    proto::ConnectionError::TimedOut => Happening::TimedOut,
                    _ => Happening::Reset,
                },
                proto::Event::Stream(proto::StreamEvent::Finished { id }) => Happening::Finished(id.index()),
                _ => continue,
            });
        }
    }

    fn open(&mut self) -> Option<u64> {
        Some(self.connection()?.streams().open(proto::Dir::Uni)?.index())
    }

    fn write(&mut self, index: u64, bytes: u64) -> u64 {
        let Some(connection) = self.connection() else { return 0 };
        let mut written = 0;
        while written < bytes {
            let chunk = usize::try_from(bytes - written).unwrap_or(usize::MAX).min(ZEROS.len());
            let taken = write(connection.send_stream(stream(index)), &ZEROS[..chunk]);
            if taken == 0 {
                break;
            }
            written += taken as u64;
        }
        written
    }

    fn finish(&mut self, index: u64) {
        if let Some(connection) = self.connection() {
            // A stream that the peer has stopped needs no end.
            let _ = connection.send_stream(stream(index)).finish();
        }
    }

    fn read(&mut self, max: u64) -> u64 {
        self.accept_streams();
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut read = 0;
        self.incoming.retain(|&id| {
            let (taken, is_over) = read_stream(connection, id, max - read);
            read += taken;
            !is_over
        });
        read
    }

    fn close(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.close(now, proto::VarInt::from_u32(0), Bytes::new());
        }
    }

    fn is_over(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
    }

    fn measures(&mut self) -> Option<Measures> {
        self.connection().map(measure)
    }
}

/// Reads at most `max` bytes of a stream; returns their number, and whether the stream has ended.
fn read_stream(connection: &mut proto::Connection, id: proto::StreamId, max: u64) -> (u64, bool) {
    let mut read = 0;
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return (0, true) };
    let is_over = loop {
        let left = usize::try_from(max - read).unwrap_or(usize::MAX);
        if left == 0 {
            break false;
        }
        match chunks.next(left) {
            Ok(Some(chunk)) => read += chunk.bytes.len() as u64,
            Ok(None) => break true,
            Err(proto::ReadError::Blocked) => break false,
            Err(_) => break true,
        }
    };
    let _ = chunks.finalize();
    (read, is_over)
}

/// Data of streams, whose contents do not matter.
static ZEROS: [u8; 65_536] = [0; 65_536];
