//! The interface between a driver and the transport of a flow.
//!
//! TCP, TPA, `mesh`, UDP and user-defined transports implement [`Connection`]. A driver (the simulator, or a
//! program on real sockets) holds a `Box<dyn Connection>` for each end of a flow and depends on nothing else
//! of the transport.

use alloc::vec::Vec;
use core::fmt;

use multihop_core::{Instant, Notice, Payload};
pub use multihop_wire::tcp::Ecn;

use crate::channel::Channels;
pub use crate::event::{Data, Event, SendError, Trip};
pub use crate::lifecycle::State;
pub use crate::observe::RoundTrip;
use crate::observe::{Quantity, Value};

mod endpoint;
mod flow;
mod mesh;
mod observed;
mod opened;
mod summary;
mod tcp;
mod tpa;
mod udp;

pub use flow::{ConnectionConfig, FlowSetup};
pub use observed::built_in_quantities;
pub use opened::{Opened, OpenedConfig};
pub use summary::{StreamCounters, Summary};
pub use udp::{UdpConfig, UdpReceiver, UdpSender};

/// One end of a flow, with any transport.
///
/// A driver follows every call that takes `&mut self` with a full drain of
/// [`poll_output`](Self::poll_output), then reads the next deadline from
/// [`poll_timeout`](Self::poll_timeout). `now` never goes backwards. The default methods suit a transport
/// without handshake, windows and timers; other transports override them.
pub trait Connection: Send {
    /// Waits for the other end to connect.
    fn listen(&mut self) {}

    /// Opens the connection to the other end.
    fn connect(&mut self) {}

    /// Takes data to send. A datagram is sent at once; a stream is queued.
    fn send(&mut self, _now: Instant, _data: Data) -> Result<(), SendError> {
        Err(SendError::Closed)
    }

    /// Takes at most `max` bytes that have arrived in order, unless the end is a sink.
    fn read(&mut self, _max: u32) -> Payload {
        Payload::EMPTY
    }

    /// Copies bytes that have arrived in order into `into`; returns their number.
    fn read_into(&mut self, into: &mut [u8]) -> usize {
        let max = u32::try_from(into.len()).unwrap_or(u32::MAX);
        let mut data = Vec::new();
        self.read(max).emit(&mut data);
        into[..data.len()].copy_from_slice(&data);
        data.len()
    }

    /// Limits new segments to `mss` bytes, which the path can transmit: payload of TPA, header and payload of
    /// other transports. Only drivers on real sockets call this.
    fn set_mss(&mut self, _mss: u16) {}

    /// Opens a second path to the peer, and returns whether the connection has a second path now. The driver
    /// must distinguish the paths by the flag [`second_path`](multihop_wire::mesh::Segment::second_path) of
    /// segments.
    fn add_path(&mut self) -> bool {
        false
    }

    /// Channels of the connection; `None` for a transport that has none.
    fn channels(&mut self) -> Option<&mut dyn Channels> {
        None
    }

    /// Closes this side once everything queued has been sent (an endless source stops here).
    fn shutdown(&mut self, _now: Instant) {}

    /// Closes this side as [`shutdown`](Self::shutdown) does, and reads no more. Unread data, and data that
    /// arrives later, reset the connection.
    fn close(&mut self, now: Instant) {
        self.shutdown(now);
    }

    /// Ends the connection at once with a reset to the peer.
    fn abort(&mut self) {}

    /// Retransmits the first SYN at once, because the driver has received a cookie for it.
    fn connect_again(&mut self) {}

    /// The state of the connection. Transports without handshake are always established.
    fn state(&self) -> State {
        State::Established
    }

    /// IP TTL of the peer's packets when they leave; `None` before the peer has announced it.
    fn peer_ttl(&self) -> Option<u8> {
        None
    }

    /// Whether `segment` opens a new connection that replaces this one. Only a connection in LINGER, which
    /// merely answers late segments, is replaced; the driver then creates a new end.
    fn gives_way_to(&self, _segment: &Segment) -> bool {
        false
    }

    /// Bytes that the application has queued and the peer has not acknowledged.
    fn unacked(&self) -> u64 {
        0
    }

    /// Bytes that have arrived in order and wait to be read.
    fn unread(&self) -> u64 {
        0
    }

    /// Processes a segment of the peer. `trip` is the driver's measurement of the round trip that the segment
    /// completes.
    fn receive(&mut self, now: Instant, segment: Segment, trip: Option<Trip>);

    /// Processes a message of the peer on a real network.
    fn receive_message(&mut self, now: Instant, header: &[u8], data: Payload) {
        self.receive(now, Segment::Custom(Message { header: header.to_vec(), data }), None);
    }

    /// Takes back the buffer of a sent segment for the next segment.
    fn reuse(&mut self, _memory: Vec<u8>) {}

    /// Buffer of a segment that this end has received, for reuse.
    fn spare(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Takes a notice from the layers below.
    fn notice(&mut self, _now: Instant, _notice: Notice) {}

    /// Whether notices of lost segments have an effect.
    fn wants_notices(&self) -> bool {
        true
    }

    /// Runs every timer due at `now`.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// The next segment or event, or `None` once drained.
    fn poll_output(&mut self, now: Instant) -> Option<Output>;

    /// Priority of the channel whose messages the latest segment has; `None` for a segment without messages.
    fn segment_priority(&self) -> Option<u8> {
        None
    }

    /// Next instant at which `handle_timeout` has work to do.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Whether there is no connection, either not yet or no longer. Transports without handshake are never
    /// closed.
    fn is_closed(&self) -> bool {
        false
    }

    /// Whether the sender learns from acknowledgements which data was delivered.
    fn is_acknowledged(&self) -> bool {
        true
    }

    /// The counters of this end, with all data received so far.
    fn counters(&self) -> Counters;

    /// Bytes that this end may store. A driver uses them if they exceed its own limit per connection.
    fn buffers(&self) -> Buffers {
        Buffers::default()
    }

    /// The newest round-trip sample; `None` before the first.
    fn round_trip(&self) -> Option<RoundTrip> {
        None
    }

    /// The quantity number `index` of the table that this end declares; the quantities number 0, 1, ... up to the first `None`.
    /// The table never changes.
    fn quantity(&self, _index: usize) -> Option<&'static Quantity> {
        None
    }

    /// Value of the quantity with this index; `None` if it has no value at the moment.
    fn value(&self, _index: usize) -> Option<Value> {
        None
    }

    /// Current value of the quantity with this name. A caller that reads a value often should look up its
    /// index once.
    fn observed(&self, name: &str) -> Option<Value> {
        let mut quantities = (0..).map_while(|index| self.quantity(index));
        self.value(quantities.position(|quantity| quantity.name == name)?)
    }

    /// State and counters of this end, for displays of programs on real networks.
    fn summary(&self) -> Summary {
        Summary::of(self)
    }
}

impl fmt::Debug for dyn Connection + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// A segment between the two ends of a flow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// A segment of TCP.
    Tcp(multihop_wire::tcp::Segment),
    /// A segment of TPA.
    Tpa(multihop_wire::tpa::Segment),
    /// A datagram of UDP.
    Datagram(Datagram),
    /// A segment of `mesh`.
    Mesh(multihop_wire::mesh::Segment),
    /// A message of a user-defined transport.
    Custom(Message),
    /// A segment of a user-defined transport whose connection [`Opened`] opens, on real networks.
    Opened(multihop_wire::custom::Segment),
    /// A UDP datagram of a user-defined transport, such as QUIC, that has its own format above UDP.
    Udp(UdpDatagram),
}

/// A UDP datagram of a simulated application.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Datagram {
    /// Port number that both ends use.
    pub port: u16,
    /// Serial number in the flow, from 0.
    pub serial: u64,
    /// Length of the application data, bytes.
    pub size: u32,
}

/// A UDP datagram of a user-defined transport. Simulated networks add the headers of UDP and IP, 28 bytes, and write
/// both in captures.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UdpDatagram {
    /// Payload of the datagram.
    pub payload: Payload,
    /// ECN field of the IP header, which queues with active management may set to [`Ecn::Ce`].
    pub ecn: Ecn,
}

/// A segment of a user-defined transport.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Bytes of the message's header.
    pub header: Vec<u8>,
    /// Application data after the header.
    pub data: Payload,
}

/// Output of a connection.
pub type Output = crate::event::Output<Segment>;

/// Bytes that one end may store.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Buffers {
    /// Largest amount of unsent and unacknowledged data, bytes.
    pub send: u64,
    /// Largest amount of received unread data, bytes.
    pub receive: u64,
}

/// Counters of one end. A sender counts the first three, a receiver the others.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Segments with data, or datagrams, sent.
    pub sent: u64,
    /// Segments with data that were sent again.
    pub retransmitted: u64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Segments or datagrams with new data.
    pub delivered: u64,
    /// Stream segments that arrived while an earlier one was missing. A datagram counts if one with a higher
    /// number has arrived before it (RFC 4737).
    pub out_of_order: u64,
}

impl Counters {
    /// The increase of all counters since the earlier counters `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            retransmitted: self.retransmitted - before.retransmitted,
            timeouts: self.timeouts - before.timeouts,
            delivered: self.delivered - before.delivered,
            out_of_order: self.out_of_order - before.out_of_order,
        }
    }
}
