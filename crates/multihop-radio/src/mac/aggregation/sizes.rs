//! Sizes of aggregates in bytes, and their bounds (IEEE 802.11n-2009 §7.2.2.2, §7.4a, §9.7c and §9.7d).

use multihop_core::Duration;

use super::sender::Packed;
use crate::airtime::Airtime;
use crate::frame::Outgoing;
use crate::params::MacParams;
use crate::phy_profile::{AggregateLimits, PhyProfile, RateIndex};

/// Bounds of aggregation in a scenario, and the header sizes that follow from it.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Sizes {
    /// Largest number of MPDUs in an aggregate.
    mpdus: usize,
    /// Largest size of an A-MSDU (several packets in one MPDU), bytes; 0 disables A-MSDUs.
    together: u32,
    /// Size of the header of a QoS data frame with its checksum, bytes.
    header: u32,
    /// Size of the LLC and SNAP headers of each packet, bytes.
    snap: u32,
    limits: AggregateLimits,
}

impl Sizes {
    /// Bounds and header sizes of a scenario; `None` if its stations do not aggregate.
    pub(in crate::mac) fn new(params: &MacParams, phy: &PhyProfile) -> Option<Self> {
        if params.ampdu.is_none() && params.amsdu.is_none() {
            return None;
        }
        let limits = phy.aggregates?;
        let header = DATA_HEADER + QOS_CONTROL;
        let most = if params.ampdu.is_some() { limits.mpdu_bytes - header } else { u32::MAX };
        Some(Self {
            mpdus: params.ampdu.map_or(1, |mpdus| mpdus as usize).min(limits.mpdus.into()),
            together: params.amsdu.unwrap_or(0).min(most),
            header,
            snap: if params.llc { 8 } else { 0 },
            limits,
        })
    }

    /// Number of sequence numbers in a block ACK: 64, or 256 if frames may have more than 64 MPDUs.
    pub(super) fn window(&self) -> u16 {
        if self.mpdus > SHORT_WINDOW.into() { LONG_WINDOW } else { SHORT_WINDOW }
    }

    /// Bytes of a block ACK, checksum included.
    pub(super) fn block_ack_bytes(&self) -> u32 {
        BLOCK_ACK_HEADER + u32::from(self.window() / 8)
    }

    /// The largest number of packets in one frame: the number of MPDUs, or twice as many if an MPDU may
    /// contain several packets.
    pub(super) fn most_packets(&self) -> usize {
        if self.together > 0 { 2 * self.mpdus.max(4) } else { self.mpdus }
    }

    /// Size of an MPDU with one packet of `bytes` bytes.
    pub(in crate::mac) fn single(&self, bytes: u32) -> u32 {
        self.header + self.snap + bytes
    }

    /// Size of an MPDU with these packets, bytes.
    pub(super) fn mpdu(&self, packets: &[Packed]) -> u32 {
        match packets {
            [only] => self.single(only.out.bytes),
            _ => self.header + self.together(packets.iter().map(|packed| &packed.out)),
        }
    }

    /// Size of an A-MSDU: each packet has a subframe header, and all but the last are padded to 4 bytes.
    fn together<'p>(&self, packets: impl Iterator<Item = &'p Outgoing>) -> u32 {
        let parts = packets.map(|out| SUBFRAME_HEADER + self.snap + out.bytes);
        parts.fold(0, |before, part| padded(before) + part)
    }
}

/// A transmission that is being filled.
pub(super) struct Fill<'c> {
    sizes: &'c Sizes,
    airtime: &'c Airtime,
    rate: RateIndex,
    /// The longest airtime of several MPDUs.
    limit: Duration,
    /// Largest number of MPDUs that a frame may have.
    most: usize,
    mpdus: usize,
    /// Number of bytes before the last MPDU.
    before: u32,
    /// Size of the last MPDU, bytes.
    last: u32,
}

impl<'c> Fill<'c> {
    /// Creates an empty frame. Its length is limited by the length field of the preamble and by `limit`.
    pub(super) fn new(sizes: &'c Sizes, airtime: &'c Airtime, rate: RateIndex, limit: Duration) -> Self {
        let (limit, most) = (limit.min(MAX_TIME), sizes.mpdus);
        Self { sizes, airtime, rate, limit, most, mpdus: 0, before: 0, last: 0 }
    }

    /// Limits the frame to one MPDU.
    pub(super) fn single(self) -> Self {
        Self { most: 1, ..self }
    }

    /// Adds an MPDU with these packets if it fits; returns whether it did. The first MPDU always fits.
    pub(super) fn add(&mut self, packets: &[Packed]) -> bool {
        let bytes = self.sizes.mpdu(packets);
        if self.mpdus > 0 {
            let before = self.before + padded(DELIMITER + self.last);
            if self.mpdus == self.most
                || self.last.max(bytes) > self.sizes.limits.mpdu_bytes
                || !self.allows(before + DELIMITER + bytes)
            {
                return false;
            }
            self.before = before;
        }
        self.mpdus += 1;
        self.last = bytes;
        true
    }

    /// Replaces the packets of the last MPDU by `packets`, which include one more packet, if they fit.
    /// Returns whether they did.
    pub(super) fn extend(&mut self, packets: &[Packed]) -> bool {
        let bytes = self.sizes.mpdu(packets);
        let fits =
            bytes - self.sizes.header <= self.sizes.together && self.allows(self.before + DELIMITER + bytes);
        if fits {
            self.last = bytes;
        }
        fits
    }

    pub(super) fn window(&self) -> u16 {
        self.sizes.window()
    }

    /// Size of the frame in bytes; with several MPDUs the size of the aggregate.
    pub(super) fn bytes(&self) -> u32 {
        if self.mpdus > 1 { self.before + DELIMITER + self.last } else { self.last }
    }

    pub(super) fn mpdus(&self) -> usize {
        self.mpdus
    }

    fn allows(&self, bytes: u32) -> bool {
        bytes <= self.sizes.limits.bytes && self.airtime.frame(self.rate, bytes) <= self.limit
    }
}

/// A multiple of 4 bytes.
pub(super) fn padded(bytes: u32) -> u32 {
    bytes.next_multiple_of(4)
}

/// Size of the delimiter before each MPDU of an aggregate, bytes.
pub(super) const DELIMITER: u32 = 4;

/// Size of a block ACK without its bitmap, checksum included, bytes.
const BLOCK_ACK_HEADER: u32 = 24;

/// Number of sequence numbers in a short block ACK; a long one has [`LONG_WINDOW`].
const SHORT_WINDOW: u16 = 64;
const LONG_WINDOW: u16 = 256;

/// A request for a block ACK.
pub(super) const REQUEST_BYTES: u32 = 24;

/// Size of the header of a data frame with its checksum, bytes.
const DATA_HEADER: u32 = 28;

const QOS_CONTROL: u32 = 2;

/// Size of an A-MSDU subframe header: two addresses and a length, bytes.
const SUBFRAME_HEADER: u32 = 14;

/// Longest airtime of a frame with a mixed preamble, whose length field announces at most 4095 bytes at 6
/// Mb/s to stations of 802.11a.
pub(super) const MAX_TIME: Duration = Duration::from_micros(5484);
