//! What both transports with connections have in common: ports, data, outputs, events, and why data cannot be
//! sent.

use alloc::vec::Vec;
use core::{error, fmt};

use multihop_core::{Duration, LostSegment, Payload};

/// The two ports of a connection, as seen from one end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ports {
    /// This end's.
    pub local: u16,
    /// The peer's; a listening endpoint replaces it with that of the first SYN.
    pub remote: u16,
}

impl Ports {
    /// Whether this end transmitted the segment.
    pub(crate) fn have_sent(self, lost: LostSegment) -> bool {
        (lost.source, lost.destination) == (self.local, self.remote)
    }
}

/// What an application has to send.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Data {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This many bytes whose contents do not matter.
    Virtual(u64),
    /// Virtual bytes until the application closes.
    Endless,
}

impl From<Payload> for Data {
    fn from(payload: Payload) -> Self {
        match payload {
            Payload::Bytes(bytes) => Self::Bytes(bytes),
            Payload::Virtual(len) => Self::Virtual(len.into()),
        }
    }
}

/// A driver's measurement of a round trip, in its parts. Transports that do not need it ignore it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Trip {
    /// From the departure of the data segment that made an ACK to its arrival.
    pub there: Duration,
    /// From the departure of that ACK to its arrival.
    pub back: Duration,
    /// Between the two.
    pub held: Duration,
    /// Links that the ACK crossed.
    pub hops: u8,
}

/// Output of an endpoint.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output<S> {
    /// A segment for the peer.
    Segment(S),
    /// An event for the application.
    Event(Event),
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// Data can flow.
    Connected,
    /// This many more bytes have arrived in order; they can be read, unless the endpoint is a sink.
    Delivered(u64),
    /// The peer has acknowledged this many more bytes.
    Acked(u64),
    /// The peer closed its side: nothing follows what has been delivered.
    PeerClosed,
    /// Both sides closed in order, and the connection is gone.
    Closed,
    /// The connection was reset, or refused, by the peer.
    Reset,
    /// The peer did not answer for too long, and the connection is gone.
    TimedOut,
}

/// Why data cannot be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SendError {
    /// The connection, or this side of it, is closed.
    Closed,
    /// An endless source was queued before it.
    Endless,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("connection is closed for sending"),
            Self::Endless => f.write_str("an endless source is sending"),
        }
    }
}

impl error::Error for SendError {}
