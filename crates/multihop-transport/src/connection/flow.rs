//! Both ends of a flow, for drivers that run a whole network.

use alloc::boxed::Box;
use core::fmt;

use multihop_core::{BitRate, Rng};

use super::Connection;
use crate::event::Ports;
use crate::lifecycle;
use crate::observe::Quantity;
use crate::pool::Pool;

/// A transport with its parameters.
pub trait ConnectionConfig: fmt::Debug + Send + Sync {
    /// The sender and the receiver of a flow.
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2];

    /// The quantity number `index` of the table that the ends declare, as [`Connection::quantity`] returns it, so that scenarios can
    /// record it.
    fn quantity(&self, _index: usize) -> Option<&'static Quantity> {
        None
    }

    /// Whether the ends open and close their connection themselves, with segments that real networks carry. For others,
    /// drivers on real networks use [`Opened`](super::Opened).
    fn opens_connections(&self) -> bool {
        false
    }

    /// Bytes that an end on a real network keeps for its application, before its buffers grow. Above it, [`Opened`](super::Opened)
    /// drops further data.
    fn receive_buffer(&self) -> u64 {
        USUAL_RECEIVE_BUFFER
    }
}

/// The flow for which [`ConnectionConfig`] makes both ends.
pub struct FlowSetup<'a> {
    /// Port number that both ends use.
    pub port: u16,
    /// Whether data counts as read as soon as it arrives.
    pub sink: bool,
    /// Whether the ends may have channels of messages, if the transport has any.
    pub channels: bool,
    /// Bandwidth of the channel, for pacing.
    pub bandwidth: BitRate,
    /// The TTL with which packets leave.
    pub initial_ttl: u8,
    /// Pool from which buffers may grow; without it they do not.
    pub pool: Option<Pool>,
    /// How connections are opened, watched and closed; `None` leaves that to the transport.
    pub lifecycle: Option<lifecycle::Config>,
    /// Length of the route, if it never changes.
    pub hops: &'a mut dyn FnMut() -> Option<u32>,
    /// The random stream of a purpose, at the sender (0) or the receiver (1).
    pub rng: &'a dyn Fn(&str, u32) -> Rng,
}

/// Receive buffer by default, bytes: 64 segments of an Ethernet frame.
const USUAL_RECEIVE_BUFFER: u64 = 64 * 1460;

impl FlowSetup<'_> {
    /// Makes both ends, which differ only in their initial sequence numbers of `bits` bits.
    pub(super) fn pair<C: Connection + 'static>(
        &self,
        purpose: &str,
        bits: u32,
        make: impl Fn(Ports, u64) -> C,
    ) -> [Box<dyn Connection>; 2] {
        let ports = Ports { local: self.port, remote: self.port };
        [0, 1].map(|end| {
            let initial = (self.rng)(purpose, end).next_u64() >> (u64::BITS - bits);
            Box::new(make(ports, initial)) as Box<dyn Connection>
        })
    }
}
