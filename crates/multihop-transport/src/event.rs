//! Types that all transports with connections share: ports, data, outputs, events, and reasons why data cannot be sent.

use alloc::vec::Vec;
use core::{error, fmt};

use multihop_core::{Duration, LostSegment, Payload};

/// The two ports of a connection, as seen from one end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ports {
    /// Port of this end.
    pub local: u16,
    /// Port of the peer; a listening endpoint replaces it with the source port of the first SYN.
    pub remote: u16,
}

impl Ports {
    /// Whether this end transmitted the lost segment.
    pub(crate) fn have_sent(self, lost: LostSegment) -> bool {
        (lost.source, lost.destination) == (self.local, self.remote)
    }
}

/// Data that an application sends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Data {
    /// Real bytes, which the peer receives unchanged.
    Bytes(Vec<u8>),
    /// This number of bytes whose contents do not matter, for simulations.
    Virtual(u64),
    /// Virtual bytes without end, until the application closes the connection.
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

/// Parts of a round trip, as measured by a driver. Transports that need no such measurement ignore it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Trip {
    /// Time from the departure of a data segment to its arrival.
    pub there: Duration,
    /// Time from the departure of the segment's ACK to its arrival.
    pub back: Duration,
    /// Time for which the peer delayed the ACK.
    pub held: Duration,
    /// Number of links that the ACK crossed.
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

/// Event that the driver reports to the application of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The connection is open, and data can flow.
    Connected,
    /// This many more bytes have arrived in order; they can be read, unless the endpoint is a sink.
    Delivered(u64),
    /// The peer has acknowledged this many more bytes.
    Acked(u64),
    /// A channel has a message to read, or has room again.
    Channels,
    /// The peer closed its side: no data follows the delivered data.
    PeerClosed,
    /// Both sides closed in order, and the connection is gone.
    Closed,
    /// The connection was reset, or refused, by the peer.
    Reset,
    /// The peer did not answer for too long, and the connection is gone.
    TimedOut,
}

/// Reason for which data cannot be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SendError {
    /// The connection, or this side of the connection, is closed.
    Closed,
    /// Error if an endless source was queued before.
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
