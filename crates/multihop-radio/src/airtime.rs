//! Airtimes of frames (IEEE 802.11; ns-2's accounting where it differs).

use multihop_core::Duration;

use crate::frame::{BROADCAST, Outgoing};
use crate::params::{MacParams, RadioParams, Timing};
use crate::phy_profile::{PhyProfile, RateIndex};

/// Frame sizes, rates and precomputed airtimes of one scenario.
#[derive(Clone, Debug)]
pub struct Airtime {
    /// Airtime of an RTS frame.
    pub rts: Duration,
    /// Airtime of the CTS that answers an RTS.
    pub cts: Duration,
    sizes: Sizes,
    phy: &'static PhyProfile,
    rate: RateIndex,
    basic_rate: RateIndex,
    at: Box<[AtRate]>,
}

/// Airtimes, and the rate of the response, which depend on the rate of a data frame only.
#[derive(Clone, Copy, Debug)]
struct AtRate {
    /// Airtime of preamble and PLCP header.
    plcp: Duration,
    /// Rate of the CTS or ACK that answers a data frame at this rate.
    answer: RateIndex,
    /// Airtime of the ACK that answers a data frame at this rate.
    ack: Duration,
}

/// Size in bytes of each kind of frame, checksum included.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    rts: u32,
    cts: u32,
    ack: u32,
    data_header: u32,
}

impl Airtime {
    /// Computes the airtimes of a scenario.
    pub fn new(radio: &RadioParams, mac: &MacParams) -> Self {
        let llc = if mac.llc { 8 } else { 0 };
        let phy = radio.phy;
        let (sizes, basic_rate) = match mac.timing {
            Timing::Standard => {
                let answer = phy.answer_bytes;
                (Sizes { rts: 20, cts: answer, ack: answer, data_header: 28 + llc }, radio.basic_rate)
            }
            Timing::Ns2Of1999 => (Sizes { rts: 40, cts: 39, ack: 39, data_header: 47 + llc }, radio.rate),
        };
        let plcp = |rate| match mac.timing {
            Timing::Standard => phy.preamble(rate, radio.preamble).time,
            Timing::Ns2Of1999 => Duration::ZERO,
        };
        let answer = |rate| match mac.timing {
            Timing::Standard => phy.rate(rate).answer.unwrap_or(basic_rate),
            Timing::Ns2Of1999 => basic_rate,
        };
        let frame = |rate, bytes| plcp(rate) + phy.rate(rate).body_time(bytes);
        let at =
            |rate| AtRate { plcp: plcp(rate), answer: answer(rate), ack: frame(answer(rate), sizes.ack) };
        Self {
            rts: frame(basic_rate, sizes.rts),
            cts: frame(answer(basic_rate), sizes.cts),
            sizes,
            phy,
            rate: radio.rate,
            basic_rate,
            at: phy.rate_indices().map(at).collect(),
        }
    }

    /// Airtime of a data frame at this rate.
    pub fn data(&self, out: &Outgoing, rate: RateIndex) -> Duration {
        self.frame(rate, self.data_bytes(out))
    }

    /// Bytes that the MAC adds to a packet in a data frame: header, checksum and, if the scenario counts them, LLC/SNAP.
    pub fn data_overhead(&self) -> u32 {
        self.sizes.data_header
    }

    /// Airtime of a frame of this many bytes.
    pub fn frame(&self, rate: RateIndex, bytes: u32) -> Duration {
        self.plcp(rate) + self.phy.rate(rate).body_time(bytes)
    }

    /// Airtime of the ACK that answers a frame at this rate.
    #[inline]
    pub fn ack(&self, rate: RateIndex) -> Duration {
        self.at[usize::from(rate.0)].ack
    }

    /// The rate of the CTS or ACK that answers a frame at this rate (IEEE 802.11-2007 §9.6).
    #[inline]
    pub fn answer_rate(&self, rate: RateIndex) -> RateIndex {
        self.at[usize::from(rate.0)].answer
    }

    /// Airtime of preamble and PLCP header of a frame at this rate.
    #[inline]
    pub fn plcp(&self, rate: RateIndex) -> Duration {
        self.at[usize::from(rate.0)].plcp
    }

    /// Bytes of a data frame.
    pub fn data_bytes(&self, out: &Outgoing) -> u32 {
        self.sizes.data_header + out.bytes
    }

    /// The rate of a data frame without rate control: broadcasts use the basic rate, which every station decodes.
    pub fn data_rate(&self, out: &Outgoing) -> RateIndex {
        if out.to == BROADCAST { self.basic_rate } else { self.rate }
    }

    /// The rate of RTS and broadcasts.
    pub fn basic_rate(&self) -> RateIndex {
        self.basic_rate
    }

    /// Unicast rate in scenarios without rate control.
    pub fn rate(&self) -> RateIndex {
        self.rate
    }

    /// Physical layer for which the airtimes were computed.
    pub fn phy(&self) -> &'static PhyProfile {
        self.phy
    }

    /// Bytes of an RTS.
    pub fn rts_bytes(&self) -> u32 {
        self.sizes.rts
    }

    /// Bytes of a CTS.
    pub fn cts_bytes(&self) -> u32 {
        self.sizes.cts
    }

    /// Bytes of an ACK.
    pub fn ack_bytes(&self) -> u32 {
        self.sizes.ack
    }
}

/// The value of a duration field: whole microseconds, rounded up (IEEE 802.11 §9.2.5.4).
pub fn whole_micros(d: Duration) -> Duration {
    // DEVIATION dcf-4: Duration fields are rounded up, as in the standard. ns-2 rounds to the nearest microsecond, so
    // that a NAV in multihop may be 1 us longer.
    Duration::from_micros(d.as_nanos().div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use multihop_core::{Instant, NodeId};

    use super::*;
    use crate::frame::{Category, PacketHandle};
    use crate::phy_profile::{DOT11A, DOT11AH_1, DOT11AH_2, DOT11B};

    fn outgoing(bytes: u32) -> Outgoing {
        Outgoing {
            packet: PacketHandle(0),
            to: NodeId(1),
            bytes,
            urgent: false,
            category: Category::BestEffort,
            queued: Instant::ZERO,
        }
    }

    #[test]
    fn worked_examples_at_the_four_rates() {
        for (rate, data, tcp_ack) in
            [(1, 6_304_000, 464_000), (2, 2_414_545, 290_909), (3, 1_303_273, 241_455)]
        {
            let airtime = Airtime::new(
                &RadioParams { rate: RateIndex(rate), ..RadioParams::default() },
                &MacParams::default(),
            );
            assert_eq!(airtime.data(&outgoing(1500), RateIndex(rate)).as_nanos(), data);
            assert_eq!(airtime.data(&outgoing(40), RateIndex(rate)).as_nanos(), tcp_ack);
            assert_eq!(airtime.rts, Duration::from_micros(352));
            assert_eq!(airtime.cts, Duration::from_micros(304));
            assert_eq!(airtime.ack(RateIndex(rate)), Duration::from_micros(304));
        }
    }

    /// IEEE 802.11-2007 §17.4.3: a frame takes 20 us and whole symbols of 4 us.
    #[test]
    fn worked_examples_of_802_11a() {
        // 16 + 6 bits are added to frames of 14, 20, 1528 and 68 bytes, which gives 134, 182, 12246 and 566
        // bits.
        for (rate, data, tcp_ack, ack) in
            [("6M", 20 + 4 * 511, 20 + 4 * 24, 44), ("24M", 532, 44, 28), ("54M", 20 + 4 * 57, 32, 28)]
        {
            let mut radio = RadioParams::new(&DOT11A);
            radio.rate = DOT11A.rate_named(rate).unwrap();
            let airtime = Airtime::new(&radio, &MacParams::default());
            assert_eq!(airtime.data(&outgoing(1500), radio.rate), Duration::from_micros(data));
            assert_eq!(airtime.data(&outgoing(40), radio.rate), Duration::from_micros(tcp_ack));
            assert_eq!(airtime.rts, Duration::from_micros(20 + 4 * 8));
            assert_eq!(airtime.cts, Duration::from_micros(44));
            assert_eq!(airtime.ack(radio.rate), Duration::from_micros(ack));
        }
    }

    /// IEEE 802.11-2020 §23.4 and §9.9: CTS and ACK are preambles of 560 and 240 us. Each frame has 14
    /// additional bits: 174 for an RTS, 12238 and 558 for the packets.
    #[test]
    fn worked_examples_of_802_11ah() {
        for (phy, rate, preamble, rts, data, tcp_ack) in [
            (&DOT11AH_1, "MCS0", 560, 15, 1020, 47),
            (&DOT11AH_1, "MCS7", 560, 15, 102, 5),
            (&DOT11AH_2, "MCS0", 240, 7, 471, 22),
            (&DOT11AH_2, "MCS8", 240, 7, 40, 2),
        ] {
            let mut radio = RadioParams::new(phy);
            radio.rate = phy.rate_named(rate).unwrap();
            let airtime = Airtime::new(&radio, &MacParams::default());
            let frame = |symbols: u64| Duration::from_micros(preamble + 40 * symbols);
            assert_eq!(airtime.data(&outgoing(1500), radio.rate), frame(data));
            assert_eq!(airtime.data(&outgoing(40), radio.rate), frame(tcp_ack));
            assert_eq!(airtime.rts, frame(rts));
            assert_eq!(airtime.cts, frame(0));
            assert_eq!(airtime.ack(radio.rate), frame(0));
            assert_eq!(airtime.frame(airtime.answer_rate(radio.rate), airtime.ack_bytes()), frame(0));
        }
    }

    #[test]
    fn accounting_of_1999_has_no_plcp_and_one_rate() {
        let airtime = Airtime::new(
            &RadioParams::default(),
            &MacParams { timing: Timing::Ns2Of1999, ..MacParams::default() },
        );
        assert_eq!(airtime.rts, Duration::from_micros(160));
        assert_eq!(airtime.cts, Duration::from_micros(156));
        assert_eq!(airtime.data(&outgoing(1500), DOT11B.data_rate), Duration::from_micros(6188));
    }

    #[test]
    fn duration_fields_round_up() {
        assert_eq!(whole_micros(Duration::from_nanos(1_001)), Duration::from_micros(2));
        assert_eq!(whole_micros(Duration::from_micros(2)), Duration::from_micros(2));
    }
}
