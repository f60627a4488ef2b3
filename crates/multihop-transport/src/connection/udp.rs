//! UDP: each `send` is a datagram, and there are no ACKs.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use multihop_core::Instant;

use super::{Connection, ConnectionConfig, Counters, Data, Datagram, FlowSetup, Output, Segment};
use crate::event::{Event, SendError, Trip};

/// UDP, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct UdpConfig;

impl ConnectionConfig for UdpConfig {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        [Box::new(UdpSender::new(flow.port)), Box::new(UdpReceiver::default())]
    }
}

/// The sender of a flow of datagrams.
#[derive(Debug)]
pub struct UdpSender {
    port: u16,
    counters: Counters,
    out: VecDeque<Datagram>,
}

impl UdpSender {
    /// Creates a sender whose datagrams have `port` as source and destination port.
    pub fn new(port: u16) -> Self {
        Self { port, counters: Counters::default(), out: VecDeque::with_capacity(1) }
    }
}

impl Connection for UdpSender {
    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        let size = match data {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Virtual(size) => size,
            Data::Endless => return Err(SendError::Endless),
        };
        let (port, serial) = (self.port, self.counters.sent);
        self.counters.sent += 1;
        self.out.push_back(Datagram { port, serial, size: u32::try_from(size).unwrap_or(u32::MAX) });
        Ok(())
    }

    fn receive(&mut self, _now: Instant, _segment: Segment, _trip: Option<Trip>) {}

    fn wants_notices(&self) -> bool {
        false
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front().map(|datagram| Output::Segment(Segment::Datagram(datagram)))
    }

    fn is_acknowledged(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

/// The receiver of a flow of datagrams.
#[derive(Debug, Default)]
pub struct UdpReceiver {
    /// Number after the highest one that has arrived: `NextExp` of RFC 4737, section 3.3.
    expected: u64,
    /// Bytes that have arrived and were not reported yet.
    arrived: Option<u64>,
    counters: Counters,
}

impl Connection for UdpReceiver {
    fn receive(&mut self, _now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Datagram(datagram) = segment else { return };
        self.counters.out_of_order += u64::from(datagram.serial < self.expected);
        self.counters.delivered += 1;
        self.expected = self.expected.max(datagram.serial + 1);
        self.arrived = Some(self.arrived.unwrap_or(0) + u64::from(datagram.size));
    }

    fn wants_notices(&self) -> bool {
        false
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.arrived.take().map(|bytes| Output::Event(Event::Delivered(bytes)))
    }

    fn is_acknowledged(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_out_of_order_if_they_come_after_a_later_one_and_not_behind_a_gap() {
        let mut receiver = UdpReceiver::default();
        for serial in [0, 3, 4, 2, 7, 6, 8] {
            let datagram = Segment::Datagram(Datagram { port: 1, serial, size: 100 });
            receiver.receive(Instant::ZERO, datagram, None);
        }
        let counters = receiver.counters();
        assert_eq!((counters.delivered, counters.out_of_order), (7, 2), "2 comes after 4, and 6 after 7");
    }
}
