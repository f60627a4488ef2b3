//! Airtimes of frames (IEEE 802.11; ns-2's accounting where it differs).

use multihop_core::Duration;

use crate::frame::{BROADCAST, Outgoing};
use crate::params::{MacParams, RadioParams, Timing};
use crate::phy_profile::{ACK_BYTES, PhyProfile, RateIndex};

/// Frame sizes, rates and precomputed airtimes of one scenario.
#[derive(Clone, Debug)]
pub struct Airtime {
    /// An RTS.
    pub rts: Duration,
    /// A CTS.
    pub cts: Duration,
    /// An ACK.
    pub ack: Duration,
    /// Preamble and PLCP header.
    pub plcp: Duration,
    sizes: Sizes,
    phy: &'static PhyProfile,
    rate: RateIndex,
    basic_rate: RateIndex,
}

/// Bytes of each kind of frame, checksum included.
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
        let (sizes, plcp, basic_rate) = match mac.timing {
            Timing::Standard => {
                let sizes = Sizes { rts: 20, cts: 14, ack: ACK_BYTES, data_header: 28 + llc };
                (sizes, radio.preamble.time, radio.basic_rate)
            }
            Timing::Ns2Of1999 => {
                (Sizes { rts: 40, cts: 39, ack: 39, data_header: 47 + llc }, Duration::ZERO, radio.rate)
            }
        };
        let control = |bytes| plcp + radio.phy.body_time(basic_rate, bytes);
        Self {
            rts: control(sizes.rts),
            cts: control(sizes.cts),
            ack: control(sizes.ack),
            plcp,
            sizes,
            phy: radio.phy,
            rate: radio.rate,
            basic_rate,
        }
    }

    /// A data frame.
    pub fn data(&self, out: &Outgoing) -> Duration {
        self.plcp + self.phy.body_time(self.data_rate(out), self.data_bytes(out))
    }

    /// Bytes of a data frame.
    pub fn data_bytes(&self, out: &Outgoing) -> u32 {
        self.sizes.data_header + out.bytes
    }

    /// The rate of a data frame: broadcasts use the basic rate, which every station decodes.
    pub fn data_rate(&self, out: &Outgoing) -> RateIndex {
        if out.to == BROADCAST { self.basic_rate } else { self.rate }
    }

    /// The rate of RTS, CTS, ACK and broadcasts.
    pub fn basic_rate(&self) -> RateIndex {
        self.basic_rate
    }

    /// The rate of unicast data.
    pub fn rate(&self) -> RateIndex {
        self.rate
    }

    /// The physical layer.
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
    // DEVIATION dcf-4: in both flavours; ns-2 rounds to the nearest.
    Duration::from_micros(d.as_nanos().div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use multihop_core::NodeId;

    use super::*;
    use crate::frame::PacketHandle;

    fn outgoing(bytes: u32) -> Outgoing {
        Outgoing { packet: PacketHandle(0), to: NodeId(1), bytes, urgent: false }
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
            assert_eq!(airtime.data(&outgoing(1500)).as_nanos(), data);
            assert_eq!(airtime.data(&outgoing(40)).as_nanos(), tcp_ack);
            assert_eq!(airtime.rts, Duration::from_micros(352));
            assert_eq!(airtime.cts, Duration::from_micros(304));
            assert_eq!(airtime.ack, Duration::from_micros(304));
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
        assert_eq!(airtime.data(&outgoing(1500)), Duration::from_micros(6188));
    }

    #[test]
    fn duration_fields_round_up() {
        assert_eq!(whole_micros(Duration::from_nanos(1_001)), Duration::from_micros(2));
        assert_eq!(whole_micros(Duration::from_micros(2)), Duration::from_micros(2));
    }
}
