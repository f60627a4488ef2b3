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
    /// Most MPDUs of an aggregate.
    mpdus: usize,
    /// Largest size of an A-MSDU (several packets in one MPDU), bytes; 0 disables A-MSDUs.
    together: u32,
    /// Header of a QoS data frame, and its checksum.
    header: u32,
    /// LLC and SNAP of each packet.
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

    /// Sequence numbers of a block ACK: 64, or 256 if frames can have more MPDUs.
    pub(super) fn window(&self) -> u16 {
        if self.mpdus > SHORT_WINDOW.into() { LONG_WINDOW } else { SHORT_WINDOW }
    }

    /// Bytes of a block ACK, checksum included.
    pub(super) fn block_ack_bytes(&self) -> u32 {
        BLOCK_ACK_HEADER + u32::from(self.window() / 8)
    }

    /// The most packets of one frame: as many as MPDUs, or twice as many if an MPDU can have several.
    pub(super) fn most_packets(&self) -> usize {
        if self.together > 0 { 2 * self.mpdus.max(4) } else { self.mpdus }
    }

    /// An MPDU with one packet of so many bytes.
    pub(in crate::mac) fn single(&self, bytes: u32) -> u32 {
        self.header + self.snap + bytes
    }

    /// An MPDU with these packets.
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
    /// Bytes up to the last MPDU.
    before: u32,
    /// Bytes of the last MPDU.
    last: u32,
}

impl<'c> Fill<'c> {
    /// An empty frame that may take as long as the preamble can announce, and no longer than `limit`.
    pub(super) fn new(sizes: &'c Sizes, airtime: &'c Airtime, rate: RateIndex, limit: Duration) -> Self {
        let (limit, most) = (limit.min(MAX_TIME), sizes.mpdus);
        Self { sizes, airtime, rate, limit, most, mpdus: 0, before: 0, last: 0 }
    }

    /// Removes the room for further MPDUs, so that the frame contains one MPDU only.
    pub(super) fn single(self) -> Self {
        Self { most: 1, ..self }
    }

    /// Adds an MPDU of these packets if it fits, and returns whether it did. The first MPDU always fits.
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

    /// Replaces the packets of the last MPDU by `packets`, which contain one more, if they fit. Returns whether it
    /// did.
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

    /// Bytes of the frame: an aggregate if there are several MPDUs.
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

/// Bytes before each MPDU of an aggregate.
pub(super) const DELIMITER: u32 = 4;

/// A block ACK without its bits, checksum included.
const BLOCK_ACK_HEADER: u32 = 24;

/// Sequence numbers of a short and a long block ACK.
const SHORT_WINDOW: u16 = 64;
const LONG_WINDOW: u16 = 256;

/// A request for a block ACK.
pub(super) const REQUEST_BYTES: u32 = 24;

/// Header of a data frame, and its checksum.
const DATA_HEADER: u32 = 28;

const QOS_CONTROL: u32 = 2;

/// Two addresses and a length.
const SUBFRAME_HEADER: u32 = 14;

/// Most airtime of a frame with a mixed preamble: what a length of 4095 bytes at 6 Mb/s announces to stations of
/// 802.11a.
pub(super) const MAX_TIME: Duration = Duration::from_micros(5484);
