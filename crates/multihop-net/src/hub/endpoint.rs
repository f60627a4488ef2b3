//! One end of a connection, as the hub drives it: that of TPA, or a user-defined one in a
//! [`Shim`].

use std::fmt;

use multihop_core::{Instant, SegmentId};
use multihop_transport::connection::Connection;
use multihop_transport::tpa::{self, State};
use multihop_wire::tpa::{Options, Segment};

use super::shim::Shim;
use crate::stats::Stats;

/// What the hub requires of an end besides [`Connection`]. Its segments are always
/// [`Tpa`](multihop_transport::connection::Segment::Tpa).
pub(super) trait Endpoint: Connection + fmt::Debug {
    /// The same connection, of which `inner` carries the data. It has sent nothing but its SYN.
    fn carried_by(self: Box<Self>, inner: Box<dyn Connection>) -> Box<dyn Endpoint>;

    /// The state of the connection.
    fn state(&self) -> State;

    /// What the peer announced in its SYN.
    fn peer(&self) -> &Options;

    /// Retransmits the SYN at once, because the protection now has a cookie for it.
    fn connect_again(&mut self);

    /// Whether `segment` opens a new connection in place of this one, which only lingers.
    fn gives_way_to(&self, segment: &Segment) -> bool;

    /// Closes our side, and reads no more.
    fn close(&mut self, now: Instant);

    /// Bytes queued and not acknowledged.
    fn unacked(&self) -> u64;

    /// Bytes that wait to be read.
    fn unread(&self) -> u64;

    /// The identification in notices of a segment that this end has sent.
    fn id_of(&self, segment: &Segment) -> SegmentId {
        segment.id()
    }

    /// The statistics, without those of datagrams.
    fn stats(&self) -> Stats;
}

impl Endpoint for tpa::Endpoint {
    fn carried_by(self: Box<Self>, inner: Box<dyn Connection>) -> Box<dyn Endpoint> {
        Box::new(Shim::new(*self, inner))
    }

    fn state(&self) -> State {
        self.state()
    }

    fn peer(&self) -> &Options {
        self.peer()
    }

    fn connect_again(&mut self) {
        self.connect_again();
    }

    fn gives_way_to(&self, segment: &Segment) -> bool {
        self.gives_way_to(segment)
    }

    fn close(&mut self, _now: Instant) {
        self.close();
    }

    fn unacked(&self) -> u64 {
        self.unacked()
    }

    fn unread(&self) -> u64 {
        self.unread()
    }

    fn stats(&self) -> Stats {
        Stats::of(self)
    }
}
