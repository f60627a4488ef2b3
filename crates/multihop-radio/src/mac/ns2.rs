//! ns-2's frame exchange: `Mac802_11` where it departs from IEEE 802.11.

use multihop_core::{Duration, Instant, NodeId};

use super::rules::Rules;
use super::{Contention, Mac, MacConfig, Phase, Transmission, is_announced};
use crate::airtime::whole_micros;
use crate::frame::{Frame, FrameKind};
use crate::phy_profile::{PhyProfile, RateIndex};
use crate::rate_control::Rates;

/// The rules of ns-2.
pub(super) struct Ns2;

/// The propagation delay that ns-2 assumes (`DSSS_MaxPropagationDelay`).
const MAX_PROPAGATION: Duration = Duration::from_micros(2);

impl Rules for Ns2 {
    /// ns-2 counts the PLCP preamble and header as part of the frame, and uses RTS at the threshold.
    fn announced_from(phy: &PhyProfile, threshold: u32) -> u32 {
        threshold.saturating_sub(phy.plcp_bytes())
    }

    /// Does nothing: the retry counts of the previous packet continue.
    #[inline]
    fn begin_service(_: &mut Mac) {}

    /// Always false: each packet draws a backoff (`Mac802_11::send`).
    #[inline]
    fn begins_at_once(_: &Mac, _: Instant) -> bool {
        false
    }

    /// Bound below which ns-2 draws a backoff: 0 to cw - 1 slots.
    #[inline]
    fn backoff_bound(contention_window: u32) -> u32 {
        contention_window
    }

    /// First slot after a DIFS from `now` on, not from the end of the last frame: ns-2's backoff timer waits for a
    /// DIFS when it resumes.
    #[inline]
    fn backoff_begins(_: &Mac, idle: Instant, now: Instant, contention: &Contention) -> Instant {
        idle.max(now) + contention.difs
    }

    /// Sets the NAV to the end of EIFS, as ns-2 does, so that a DIFS follows EIFS.
    #[inline]
    fn receive_error(mac: &mut Mac, now: Instant, config: &MacConfig) {
        if config.params.eifs {
            mac.extend_nav(now + config.contention.eifs);
        }
    }

    /// Treats the missed frame like one with an error.
    #[inline]
    fn miss_frame(mac: &mut Mac, now: Instant, config: &MacConfig) {
        Self::receive_error(mac, now, config);
    }

    /// Sets the NAV to the end of the frame and EIFS (`Mac802_11::capture`).
    #[inline]
    fn overhear_weak(mac: &mut Mac, now: Instant, airtime: Duration, config: &MacConfig) {
        let space = if config.params.eifs { config.contention.eifs } else { Duration::ZERO };
        mac.extend_nav(now + airtime + space);
    }

    /// Whether an RTS is answered: always, unless the station is in an exchange. ns-2 ignores the NAV
    /// (`Mac802_11::recvRTS`).
    #[inline]
    fn answers_rts(mac: &mut Mac, _: Instant, _: &MacConfig) -> bool {
        mac.phase == Phase::Idle && mac.own.reply.is_none()
    }

    /// Waits for the data that the RTS announced, until the end of CTS, SIFS and data.
    #[inline]
    fn send_cts(mac: &mut Mac, now: Instant, cts: Frame, config: &MacConfig) -> Transmission {
        let airtime = &config.airtime;
        let wait = (airtime.cts + MAX_PROPAGATION * 2 + cts.nav)
            .saturating_sub(config.contention.sifs)
            .saturating_sub(whole_micros(airtime.ack(airtime.rate())));
        mac.transmit(now, cts, Phase::Cts, airtime.cts, wait, config)
    }

    /// Whether a data frame is accepted. Data announced by an RTS is accepted only after this station's CTS
    /// (`Mac802_11::recvDATA`).
    #[inline]
    fn takes_data(mac: &mut Mac, now: Instant, data: &Frame, config: &MacConfig) -> bool {
        if !is_announced(data.bytes, config) && !answered_to(mac, data.from, config) {
            return Self::acknowledges(mac, now, config);
        }
        if mac.phase != Phase::Cts {
            return false;
        }
        mac.stop_waiting();
        mac.own.reply = None;
        mac.phase = Phase::Idle;
        true
    }

    #[inline]
    fn acknowledges(mac: &mut Mac, _: Instant, _: &MacConfig) -> bool {
        mac.own.reply.is_none()
    }

    /// Always false: a repeated sequence number always means a duplicate.
    #[inline]
    fn may_be_new(_: &Frame) -> bool {
        false
    }

    /// Whether the frame is sent: not if the medium turned busy within SIFS. A CTS is then dropped, and data
    /// contends again (`Mac802_11::check_pktCTRL`, `check_pktTx`).
    #[inline]
    fn sends_after_sifs(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool {
        match mac.own.reply {
            Some(reply) if reply.kind != FrameKind::Cts => true,
            _ if mac.is_idle(now) => true,
            Some(_) => {
                mac.own.reply = None;
                if mac.own.front.service.is_some() {
                    mac.begin_access(now, config);
                }
                false
            }
            None => {
                mac.start_over(now, config);
                false
            }
        }
    }

    /// Time after which the whole response must have arrived.
    #[inline]
    fn answer_after(frame: Duration, _: RateIndex, answer: Duration, config: &MacConfig) -> Duration {
        frame + MAX_PROPAGATION + config.contention.sifs + answer + MAX_PROPAGATION
    }

    #[inline]
    fn waits_for_reception() -> bool {
        false
    }

    /// Does nothing: the next packet draws its own backoff.
    #[inline]
    fn end_dropped(_: &mut Mac, _: &MacConfig) {}
}

/// Whether this station sent a CTS to `from` for data that is too short to require an RTS.
fn answered_to(mac: &Mac, from: NodeId, config: &MacConfig) -> bool {
    config.rates.as_ref().is_some_and(Rates::may_announce)
        && mac.phase == Phase::Cts
        && mac.own.reply.is_some_and(|cts| cts.to == from)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, DIFS, OTHER, PEER, bench, packet, us};
    use super::*;
    use crate::params::Flavour;
    use crate::phy_profile::DOT11B;

    fn station() -> Bench {
        bench(Flavour::Ns2, Some(0))
    }

    #[test]
    fn an_rts_is_answered_in_spite_of_the_nav_but_not_within_an_exchange() {
        let mut b = station();
        b.mac.nav = us(5000);
        assert!(Ns2::answers_rts(&mut b.mac, us(0), &b.config));
        b.mac.phase = Phase::Data;
        assert!(!Ns2::answers_rts(&mut b.mac, us(0), &b.config));
    }

    #[test]
    fn announced_data_is_taken_after_the_cts_only() {
        let mut b = station();
        let data = b.to_me(FrameKind::Data, 0);
        assert!(!Ns2::takes_data(&mut b.mac, us(0), &data, &b.config));
        b.mac.phase = Phase::Cts;
        assert!(Ns2::takes_data(&mut b.mac, us(0), &data, &b.config));
        assert_eq!(b.mac.phase, Phase::Idle);
    }

    #[test]
    fn a_station_that_has_sent_a_cts_waits_for_the_announced_data() {
        let mut b = station();
        // The NAV of the CTS covers SIFS, data of 6304 us, SIFS and the ACK.
        let cts =
            Frame::control(FrameKind::Cts, b.mac.id, PEER, Duration::from_micros(6628), 14, RateIndex(0));
        Ns2::send_cts(&mut b.mac, us(0), cts, &b.config);
        assert_eq!(b.mac.phase, Phase::Cts);
        // The response is due after the CTS, twice the propagation delay, SIFS and the data; the ACK at 2
        // Mb/s counts as one at the basic rate.
        assert_eq!(b.mac.response_due, us(304 + 4 + 10 + 6304));
    }

    #[test]
    fn an_error_and_a_missed_frame_set_the_nav_to_eifs() {
        for act in [Ns2::receive_error, Ns2::miss_frame] {
            let mut b = station();
            act(&mut b.mac, us(100), &b.config);
            assert_eq!(b.mac.nav, us(100) + DOT11B.eifs());
            assert!(!b.mac.heard_error);
        }
    }

    #[test]
    fn a_weak_frame_sets_the_nav_to_its_end_and_eifs() {
        let mut b = station();
        Ns2::overhear_weak(&mut b.mac, us(100), Duration::from_micros(352), &b.config);
        assert_eq!(b.mac.nav, us(452) + DOT11B.eifs());
    }

    #[test]
    fn difs_follows_the_resumption_of_a_backoff() {
        let b = station();
        assert_eq!(Ns2::backoff_begins(&b.mac, us(0), us(30), &b.config.contention), us(80));
        assert_eq!(Ns2::backoff_bound(31), 31);
    }

    #[test]
    fn a_cts_is_left_out_if_the_medium_turned_busy() {
        let mut b = station();
        b.mac.own.reply = Some(b.to_me(FrameKind::Cts, 0));
        b.mac.carrier_busy = true;
        assert!(!Ns2::sends_after_sifs(&mut b.mac, us(10), &b.config));
        assert_eq!(b.mac.own.reply, None);
        b.mac.own.reply = Some(b.to_me(FrameKind::Ack, 0));
        assert!(Ns2::sends_after_sifs(&mut b.mac, us(10), &b.config), "an ACK is sent at any rate");
    }

    #[test]
    fn a_response_is_overdue_at_its_end_and_twice_the_propagation_delay() {
        let b = station();
        let [rts, cts] = [352, 304].map(Duration::from_micros);
        let after = Ns2::answer_after(rts, RateIndex(0), cts, &b.config);
        assert_eq!(after, Duration::from_micros(352 + 2 + 10 + 304 + 2));
    }

    #[test]
    fn a_packet_that_arrives_while_a_cts_is_suppressed_is_still_sent() {
        let others_rts =
            Frame::control(FrameKind::Rts, PEER, OTHER, Duration::from_micros(6942), 20, RateIndex(0));
        // In the SIFS after the RTS, either the NAV is set, or a frame arrives at the last moment.
        for nav in [true, false] {
            let mut b = bench(Flavour::Ns2, Some(0));
            if nav {
                b.hears(us(0), us(352), &others_rts);
            }
            b.hears(us(400), us(752), &b.to_me(FrameKind::Rts, 6942));
            b.sends(us(755), packet(1));
            let mut idle = us(352 + 6942);
            if !nav {
                b.mac.carrier_busy(us(757), &b.config);
                idle = us(1000);
            }
            assert_eq!(b.step(), (us(762), None), "the CTS is suppressed");
            if !nav {
                b.mac.carrier_idle(idle, &b.config);
            }
            let (at, rts) = b.next_frame();
            assert_eq!(rts.kind, FrameKind::Rts);
            assert!(Bench::slots(at, idle, DIFS) <= 30);
        }
    }

    #[test]
    fn a_weak_frame_over_the_cts_delays_the_data_to_the_end_of_its_nav() {
        let mut b = bench(Flavour::Ns2, Some(0));
        b.sends(us(1000), packet(7));
        let (rts_at, _) = b.next_frame();
        let cts_end = rts_at + Duration::from_micros(352 + 10 + 304);
        // A frame of 1528 bytes begins 4 us before the CTS ends. The CTS is received, and the NAV lasts 6304
        // + 364 us.
        b.mac.carrier_busy(rts_at + Duration::from_micros(362), &b.config);
        let weak_at = cts_end - Duration::from_micros(4);
        b.mac.overheard_weak(weak_at, Duration::from_micros(6304), &b.config);
        b.mac.receive(cts_end, &b.to_me(FrameKind::Cts, 6628), &b.config);
        b.mac.carrier_idle(cts_end, &b.config);
        assert_eq!(b.step(), (cts_end + Duration::from_micros(10), None));
        let (at, again) = b.next_frame();
        assert_eq!(again.kind, FrameKind::Rts, "the exchange starts over");
        let idle = weak_at + Duration::from_micros(6304 + 364);
        assert!(Bench::slots(at, idle, DIFS) <= 62, "from the doubled window");
    }
}
