//! One end of a connection, as the hub drives it: that of TPA, or a user-defined one in a
//! [`Shim`].

use std::fmt;

use multihop_core::SegmentId;
use multihop_transport::connection::Connection;
use multihop_transport::tpa;
use multihop_wire::tpa::Segment;

use super::shim::Shim;

/// What the hub requires of an end besides [`Connection`]. Its segments are always
/// [`Tpa`](multihop_transport::connection::Segment::Tpa).
pub(super) trait Endpoint: Connection + fmt::Debug {
    /// The same connection, of which `inner` carries the data. It has sent nothing but its SYN.
    fn carried_by(self: Box<Self>, inner: Box<dyn Connection>) -> Box<dyn Endpoint>;

    /// The identification in notices of a segment that this end has sent.
    fn id_of(&self, segment: &Segment) -> SegmentId {
        segment.id()
    }
}

impl Endpoint for tpa::Endpoint {
    fn carried_by(self: Box<Self>, inner: Box<dyn Connection>) -> Box<dyn Endpoint> {
        Box::new(Shim::new(*self, inner))
    }
}
