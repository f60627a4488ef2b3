use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, LostSegment, Machine, Notice, Payload, SegmentId};
use multihop_wire::tcp::{Segment as TcpSegment, SeqNumber};

use super::{
    Connection, ConnectionConfig, Counters, Data, FlowSetup, Message, Output, RoundTrip, Segment, Summary,
    endpoint::endpoint_calls,
};
use crate::event::{Ports, SendError};
use crate::observe::{Quantity, Value};
use crate::pacing::Pacer;
use crate::tcp::{self, Config, State, TcpEnd, Trip, window_for_hops};

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        let mut config = Self { sink: flow.sink, ..self.clone() };
        if config.window_by_hops
            && let Some(hops) = (flow.hops)()
        {
            config.window_max = window_for_hops(hops);
        }
        if let Some(pacing) = &mut config.pacing {
            pacing.pacer.bandwidth = flow.bandwidth;
        }
        flow.pair("tcp/iss", 32, |ports, initial| {
            let initial = u32::try_from(initial).expect("32 bits are left");
            TcpEnd::new(config.clone(), ports, SeqNumber(initial))
        })
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        self.quantity(index)
    }
}

impl Connection for TcpEnd {
    endpoint_calls!(Tcp, tcp);

    fn notice(&mut self, now: Instant, notice: Notice) {
        let notice = match notice {
            Notice::LinkFailed(lost) => Notice::LinkFailed(named_by_tcp(self.ports(), lost)),
            other => other,
        };
        self.handle(now, tcp::Input::Notice(notice));
    }

    fn set_mss(&mut self, mss: u16) {
        self.set_path_max(mss);
    }

    fn shutdown(&mut self, _now: Instant) {
        self.close();
    }

    fn receive(&mut self, now: Instant, segment: Segment, trip: Option<Trip>) {
        let segment = match segment {
            Segment::Tcp(segment) => segment,
            Segment::Custom(message) => match segment_of(&message) {
                Some(segment) => segment,
                None => return,
            },
            Segment::Tpa(_)
            | Segment::Mesh(_)
            | Segment::Datagram(_)
            | Segment::Opened(_)
            | Segment::Udp(_) => return,
        };
        self.handle(
            now,
            match trip {
                Some(trip) => tcp::Input::Timed(segment, trip),
                None => tcp::Input::Segment(segment),
            },
        );
    }

    fn summary(&self) -> Summary {
        let segments = |bytes: u32| bytes.div_ceil(self.mss().max(1));
        Summary {
            phase: self.state_name(),
            smoothed_rtt: self.rtt().srtt(),
            rto: self.rtt().rto(),
            window: segments(self.window()),
            flight: segments(self.flight()),
            mss: self.mss(),
            ssthresh: Some(self.ssthresh().into()),
            pacing_gap: self.pacer().and_then(Pacer::gap),
            ..Summary::of(self)
        }
    }

    fn wants_notices(&self) -> bool {
        self.config().elfn.is_some() || self.config().congestion.signals().notices
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        self.config().quantity(index)
    }

    fn value(&self, index: usize) -> Option<Value> {
        self.value(index)
    }
}

/// Converts a TCP segment into a message of a real network, whose header is the whole segment.
impl From<TcpSegment> for Message {
    fn from(segment: TcpSegment) -> Self {
        let mut header = Vec::with_capacity(segment.header_len() + segment.payload.len());
        segment.emit(NOWHERE, NOWHERE, &mut header);
        Self { header, data: Payload::EMPTY }
    }
}

/// The TCP segment in a message; `None` if the message contains none.
fn segment_of(message: &Message) -> Option<TcpSegment> {
    message.data.is_empty().then(|| TcpSegment::parse(&message.header, NOWHERE, NOWHERE).ok())?
}

/// Translates a driver's notice of a lost message into a notice of a lost TCP segment. The message begins
/// with the TCP header. The driver has found the connection, so that the ports need no check.
fn named_by_tcp(ports: Ports, lost: LostSegment) -> LostSegment {
    let SegmentId::Custom(header) = lost.segment else { return lost };
    let [_, _, _, _, a, b, c, d, ..] = header;
    let segment = SegmentId::Tcp(u32::from_be_bytes([a, b, c, d]));
    LostSegment { source: ports.local, destination: ports.remote, segment }
}

/// Address in the pseudo-header of a message's checksum: zero, because the enclosing segment protects the
/// real addresses.
const NOWHERE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
