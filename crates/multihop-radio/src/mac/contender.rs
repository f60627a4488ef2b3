//! A contender for the medium: the whole station under DCF, an access category under EDCA.

use super::aggregation::Batch;
use super::{MacConfig, Queue, Service};
use crate::frame::Outgoing;
use crate::params::MacParams;

/// The packets of one contender, its contention window and its retry counters.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    /// The packet in service.
    pub(super) service: Option<Service>,
    /// Packets that wait for service.
    pub(super) queue: Queue,
    /// Current contention window, in slots.
    pub(super) contention_window: u32,
    /// Number of failed transmissions of RTS, and of data without RTS.
    pub(super) short_count: u32,
    /// Number of failed transmissions of data after RTS.
    pub(super) long_count: u32,
    /// The packets in service if there can be several; `None` if the station does not aggregate.
    pub(super) batch: Option<Box<Batch>>,
}

impl Contender {
    /// A contender without packets, whose contention window has `cw_min` slots.
    pub(super) fn new(params: &MacParams, cw_min: u32, aggregates: bool) -> Self {
        Self {
            service: None,
            queue: Queue::new(params.queue_kind, params.queue),
            contention_window: cw_min,
            short_count: 0,
            long_count: 0,
            batch: aggregates.then(Box::default),
        }
    }

    /// Whether a packet waits and none is in service.
    #[inline]
    pub(super) fn is_unserved(&self) -> bool {
        self.service.is_none() && !self.queue.is_empty()
    }

    /// The packets in service.
    pub(super) fn in_service(&self) -> impl Iterator<Item = &Outgoing> {
        let batch = self.active_batch();
        let only = self.service.as_ref().filter(|_| batch.is_none());
        let aggregated = batch.map_or(&[][..], Batch::packets);
        aggregated.iter().map(|packed| &packed.out).chain(only.map(|service| &service.out))
    }

    /// The packets in service, then the packets in the queue.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Outgoing> {
        self.in_service().chain(self.queue.iter())
    }

    /// The batch of packets in service; `None` unless they can be aggregated.
    #[inline]
    pub(super) fn active_batch(&self) -> Option<&Batch> {
        self.batch.as_deref().filter(|batch| batch.is_active())
    }

    /// Whether the station waits for another packet to aggregate: the first frame of the service is not transmitted
    /// yet and has room for more packets than the MAC has.
    pub(super) fn collects(&self, config: &MacConfig) -> bool {
        let Some(batch) = self.active_batch().filter(|batch| batch.is_fresh()) else { return false };
        let held = batch.packets().len() + self.queue.len();
        // Before its first frame is composed, the batch contains only its first packet.
        let bytes = self.queue.bytes() + self.in_service().map(|out| out.bytes).sum::<u32>();
        let service = self.service.as_ref().expect("a batch is the packets of a service");
        held < config.most_packets() && self.queue.room() > 0 && config.fits_in_frame(service.rate, bytes)
    }
}
