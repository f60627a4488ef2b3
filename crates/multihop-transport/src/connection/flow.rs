//! Construction of both ends of a flow, for drivers that run a whole network.

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
    /// Creates the sender and the receiver of a flow.
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2];

    /// The quantity number `index` of the table that the ends declare, as [`Connection::quantity`] returns it, so that scenarios can
    /// record it.
    fn quantity(&self, _index: usize) -> Option<&'static Quantity> {
        None
    }

    /// Whether the ends open and close their connection with their own segments, in a format for real
    /// networks. For other transports, drivers on real networks use [`Opened`](super::Opened).
    fn opens_connections(&self) -> bool {
        false
    }

    /// Bytes that an end on a real network stores for its application before its buffer grows.
    /// [`Opened`](super::Opened) drops data beyond this size.
    fn receive_buffer(&self) -> u64 {
        USUAL_RECEIVE_BUFFER
    }

    /// Bytes of messages that an end on a real network stores in its first channels, before it takes memory from the pool;
    /// 0 without channels. `has_channels` permits channels that the configuration excludes.
    fn channel_buffer(&self, _has_channels: bool) -> u64 {
        0
    }
}

/// Properties of the flow for which [`ConnectionConfig`] creates both ends.
pub struct FlowSetup<'a> {
    /// Port number that both ends use.
    pub port: u16,
    /// Whether arriving data counts as read at once, as in a sink.
    pub sink: bool,
    /// Whether the ends may open message channels, if the transport supports channels.
    pub channels: bool,
    /// Bandwidth of the channel, by which pacing computes airtimes.
    pub bandwidth: BitRate,
    /// IP TTL of the packets that the ends send.
    pub initial_ttl: u8,
    /// Pool of memory from which buffers may grow; without a pool their size is fixed.
    pub pool: Option<Pool>,
    /// Parameters for opening, watching and closing connections; `None` if the transport has its own.
    pub lifecycle: Option<lifecycle::Config>,
    /// Length of the route in hops; `None` unless it never changes.
    pub hops: &'a mut dyn FnMut() -> Option<u32>,
    /// Returns the random stream for a purpose, at the sender (0) or the receiver (1).
    pub rng: &'a dyn Fn(&str, u32) -> Rng,
}

/// Default size of the receive buffer, bytes: 64 segments of an Ethernet frame each.
const USUAL_RECEIVE_BUFFER: u64 = 64 * 1460;

impl FlowSetup<'_> {
    /// Creates both ends, which differ only in their initial sequence numbers of `bits` bits.
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
