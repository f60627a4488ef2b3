//! Aggregation of 802.11n: several packets in one MPDU (A-MSDU), several MPDUs in one frame (A-MPDU), and the block ACK
//! that answers it (IEEE 802.11n-2009 §9.7c, §9.7d and §9.10.7).
//!
//! The packets in service all have the same receiver. When the backoff ends, the station chooses packets for
//! the next frame. Acknowledged packets are done, the others stay in service. The neighbour delivers packets
//! in order.
//!
//! A [`Frame`](crate::frame::Frame) has no list of packets. Its contents are a [`Load`], which the driver
//! fetches when the frame begins, and passes to each receiving station.

mod bitmap;
mod block_ack;
mod exchange;
mod receiver;
mod sender;
mod sizes;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use self::bitmap::{Bitmap, MAX_MPDUS};
pub use self::block_ack::BlockAck;
pub use self::receiver::Passed;
use self::receiver::Receivers;
pub(super) use self::sender::Batch;
pub use self::sender::Packed;
pub(super) use self::sizes::Sizes;
use self::sizes::{DELIMITER, padded};
use super::Done;

/// Contents of a frame behind its header: packets, MPDUs or a block ACK.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// The packets of the frame, in order.
    pub packets: Vec<Packed>,
    /// MPDUs that contain the packets of the frame.
    pub mpdus: Vec<Mpdu>,
    /// The reception report of a block ACK frame.
    pub block_ack: BlockAck,
}

/// One MPDU in an aggregate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mpdu {
    /// Sequence number of the MPDU.
    pub sequence: u16,
    /// Retry bit of the MPDU's header: whether the MPDU was transmitted before.
    pub retry: bool,
    /// Index of the MPDU's first packet in the load.
    pub first: usize,
    /// Number of packets in the MPDU.
    pub packets: usize,
    /// Offset of the MPDU in the frame, bytes.
    pub from: u32,
    /// Length of the MPDU, bytes, including its delimiter if the frame is an aggregate.
    pub bytes: u32,
}

/// State of a station that aggregates, common to all access categories.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    receivers: Receivers,
    /// Packets that are no longer in service, for the driver.
    finished: VecDeque<Done>,
}

impl Aggregation {
    /// Creates the state of a station that has received nothing, and has finished no packet.
    pub(super) fn new(sizes: &Sizes) -> Self {
        Self { receivers: Receivers::new(sizes.window()), finished: VecDeque::new() }
    }

    /// The next packet whose service has ended.
    pub(super) fn next_done(&mut self) -> Option<Done> {
        self.finished.pop_front()
    }
}

impl Load {
    /// The packets of an MPDU.
    pub fn packets_of(&self, mpdu: &Mpdu) -> &[Packed] {
        &self.packets[mpdu.first..][..mpdu.packets]
    }

    /// Bitmap with one bit for each MPDU of the frame.
    pub fn all(&self) -> Bitmap {
        Bitmap::first(self.mpdus.len())
    }

    /// The MPDUs whose bits are set.
    pub fn selected(&self, bits: Bitmap) -> impl Iterator<Item = &Mpdu> {
        self.mpdus.iter().enumerate().filter_map(move |(n, mpdu)| bits.contains(n).then_some(mpdu))
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.mpdus.clear();
    }

    /// Fills in the packets of a data frame.
    fn fill(&mut self, packets: &[Packed], sizes: &Sizes, is_aggregate: bool) {
        self.packets.extend_from_slice(packets);
        let (mut first, mut from) = (0, 0);
        for mpdu in packets.chunk_by(|a, b| a.sequence == b.sequence) {
            let bytes = sizes.mpdu(mpdu) + if is_aggregate { DELIMITER } else { 0 };
            let Packed { sequence, transmissions, .. } = mpdu[0];
            let packets = mpdu.len();
            self.mpdus.push(Mpdu { sequence, retry: transmissions > 0, first, packets, from, bytes });
            first += packets;
            from += padded(bytes);
        }
    }
}
