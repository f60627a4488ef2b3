//! The frame exchange of IEEE 802.11. Section numbers refer to the edition of 1999 unless another edition is
//! named.

use multihop_core::{Duration, Instant};

use super::rules::Rules;
use super::{Contention, Mac, MacConfig, Phase, Transmission};
use crate::frame::Frame;
use crate::phy_profile::{PhyProfile, RateIndex};

/// The rules of the standard.
pub(super) struct Standard;

impl Rules for Standard {
    /// Size above which data uses RTS: the threshold, without PLCP preamble and header.
    fn announced_from(_: &PhyProfile, threshold: u32) -> u32 {
        threshold.saturating_add(1)
    }

    /// Resets the retry counts, since each packet has its own (§9.2.5.3).
    #[inline]
    fn begin_service(mac: &mut Mac) {
        mac.own.front.short_count = 0;
        mac.own.front.long_count = 0;
    }

    /// Whether a packet is transmitted without a backoff: if the medium is idle (§9.2.5.1).
    #[inline]
    fn begins_at_once(mac: &Mac, now: Instant) -> bool {
        mac.is_idle(now)
    }

    /// Bound below which the standard draws a backoff: 0 to cw slots (§9.2.4).
    #[inline]
    fn backoff_bound(contention_window: u32) -> u32 {
        contention_window + 1
    }

    /// Start of the first slot: DIFS or EIFS after the end of the last frame (§9.2.3).
    #[inline]
    fn backoff_begins(mac: &Mac, idle: Instant, now: Instant, contention: &Contention) -> Instant {
        let space = if mac.heard_error { contention.eifs } else { contention.difs };
        (idle + space).max(now)
    }

    /// Waits for EIFS instead of DIFS after a reception error (§9.2.3.4).
    #[inline]
    fn receive_error(mac: &mut Mac, _: Instant, config: &MacConfig) {
        if config.params.eifs {
            mac.heard_error = true;
        }
    }

    /// Does nothing: EIFS follows a reception with an error (IEEE 802.11-2020, 10.3.2.3.7), and a missed
    /// frame is no reception.
    #[inline]
    fn miss_frame(_: &mut Mac, _: Instant, _: &MacConfig) {}

    /// Does nothing: the standard has no rule for frames that are too weak.
    #[inline]
    fn overhear_weak(_: &mut Mac, _: Instant, _: Duration, _: &MacConfig) {}

    /// Whether the station answers an RTS: only if its NAV is idle (§9.2.5.7).
    #[inline]
    fn answers_rts(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool {
        abandon_wait(mac, now, config);
        mac.own.reply.is_none() && mac.nav <= now
    }

    /// Sends a CTS, after which the station expects nothing: the sender of the RTS has to retry.
    #[inline]
    fn send_cts(mac: &mut Mac, now: Instant, cts: Frame, config: &MacConfig) -> Transmission {
        mac.transmit_last(now, cts, config.airtime.cts, config)
    }

    #[inline]
    fn takes_data(mac: &mut Mac, now: Instant, _: &Frame, config: &MacConfig) -> bool {
        Self::acknowledges(mac, now, config)
    }

    #[inline]
    fn acknowledges(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool {
        abandon_wait(mac, now, config);
        mac.own.reply.is_none()
    }

    /// Whether the retry bit is clear: a duplicate has the retry bit (§9.2.9).
    #[inline]
    fn may_be_new(data: &Frame) -> bool {
        !data.retry
    }

    /// Always true: the medium is not sensed within SIFS.
    #[inline]
    fn sends_after_sifs(_: &mut Mac, _: Instant, _: &MacConfig) -> bool {
        true
    }

    /// Time until the response is overdue: SIFS, a slot, and the preamble of the response (§9.2.8; IEEE
    /// 802.11-2020, 10.3.2.9).
    #[inline]
    fn answer_after(frame: Duration, rate: RateIndex, _: Duration, config: &MacConfig) -> Duration {
        let Contention { slot, sifs, .. } = config.contention;
        frame + sifs + slot + config.airtime.plcp(config.airtime.answer_rate(rate))
    }

    /// Always true: the end of the reception decides whether the response has arrived (§9.2.8).
    #[inline]
    fn waits_for_reception() -> bool {
        true
    }

    /// Starts a backoff after the drop (§9.2.5.2).
    #[inline]
    fn end_dropped(mac: &mut Mac, config: &MacConfig) {
        mac.draw_backoff(config);
    }
}

/// Ends the wait for a response: any other valid frame means that the response will not come (§9.2.8).
fn abandon_wait(mac: &mut Mac, now: Instant, config: &MacConfig) {
    if matches!(mac.phase, Phase::Rts | Phase::Data) {
        mac.give_up_waiting(now, config);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backoff;
    use super::super::tests::{Bench, PEER, bench, packet, us};
    use super::*;
    use crate::frame::FrameKind;
    use crate::params::Flavour;

    fn station() -> Bench {
        bench(Flavour::Standard, Some(0))
    }

    #[test]
    fn an_rts_is_answered_only_if_the_nav_is_idle() {
        let mut b = station();
        b.mac.nav = us(100);
        assert!(!Standard::answers_rts(&mut b.mac, us(99), &b.config));
        assert!(Standard::answers_rts(&mut b.mac, us(100), &b.config));
    }

    #[test]
    fn another_frame_ends_the_wait_for_a_response() {
        let mut b = station();
        b.sends(us(1000), packet(7));
        b.next_frame();
        assert_eq!(b.mac.phase, Phase::Rts);
        assert!(Standard::acknowledges(&mut b.mac, us(1500), &b.config));
        assert_eq!((b.mac.phase, b.mac.counters().rts_failures), (Phase::Idle, 1));
    }

    #[test]
    fn data_is_taken_without_a_cts() {
        let mut b = station();
        let data = b.to_me(FrameKind::Data, 0);
        assert!(Standard::takes_data(&mut b.mac, us(0), &data, &b.config));
    }

    #[test]
    fn nothing_is_awaited_after_a_cts() {
        let mut b = station();
        let cts =
            Frame::control(FrameKind::Cts, b.mac.id, PEER, Duration::from_micros(6628), 14, RateIndex(0));
        Standard::send_cts(&mut b.mac, us(0), cts, &b.config);
        assert_eq!((b.mac.phase, b.mac.response_due), (Phase::Idle, Instant::FAR_FUTURE));
        assert_eq!(b.mac.idle_since, us(304));
    }

    #[test]
    fn an_error_is_noted_and_a_missed_frame_is_not() {
        let mut b = station();
        Standard::miss_frame(&mut b.mac, us(100), &b.config);
        assert!(!b.mac.heard_error);
        Standard::receive_error(&mut b.mac, us(100), &b.config);
        assert!(b.mac.heard_error);
        assert_eq!(b.mac.nav, Instant::ZERO);
    }

    #[test]
    fn interframe_spaces_count_from_the_end_of_the_last_frame() {
        let mut b = station();
        let contention = b.config.contention;
        assert_eq!(Standard::backoff_begins(&b.mac, us(1000), us(1020), &contention), us(1050));
        b.mac.heard_error = true;
        assert_eq!(
            Standard::backoff_begins(&b.mac, us(1000), us(1020), &contention),
            us(1000) + contention.eifs
        );
        assert_eq!(Standard::backoff_begins(&b.mac, us(1000), us(9000), &contention), us(9000));
        assert_eq!(Standard::backoff_bound(31), 32);
    }

    #[test]
    fn a_response_is_overdue_after_sifs_a_slot_and_its_preamble() {
        let b = station();
        let after = Standard::answer_after(
            Duration::from_micros(352),
            RateIndex(0),
            Duration::from_micros(304),
            &b.config,
        );
        assert_eq!(after, Duration::from_micros(352 + 10 + 20 + 192));
    }

    #[test]
    fn a_packet_begins_with_retry_counts_of_its_own() {
        let mut b = station();
        (b.mac.own.front.short_count, b.mac.own.front.long_count) = (3, 2);
        Standard::begin_service(&mut b.mac);
        assert_eq!((b.mac.own.front.short_count, b.mac.own.front.long_count), (0, 0));
    }

    #[test]
    fn a_reception_may_be_the_response() {
        let mut b = station();
        b.mac.carrier_busy = true;
        assert!(!b.mac.response_may_be_arriving(&b.config));
        b.mac.phase = Phase::Rts;
        assert!(b.mac.response_may_be_arriving(&b.config));
    }

    #[test]
    fn a_backoff_follows_a_dropped_packet() {
        let mut b = station();
        Standard::end_dropped(&mut b.mac, &b.config);
        assert!(matches!(b.mac.backoff, Backoff::Paused { .. }));
    }

    #[test]
    fn the_standard_transmits_immediately_on_an_idle_medium() {
        let mut b = bench(Flavour::Standard, None);
        b.sends(us(1000), packet(1));
        assert_eq!(b.mac.deadline(&b.config), us(1000));
        let (_, data) = b.next_frame();
        assert_eq!(data.kind, FrameKind::Data);
    }

    #[test]
    fn the_standard_backs_off_after_a_drop() {
        let mut b = bench(Flavour::Standard, None);
        b.sends(us(1000), packet(1));
        while b.mac.poll_done().is_none() {
            b.step();
        }
        assert!(!b.mac.backoff.is_idle());
        b.mac.backoff = Backoff::Paused { slots: 9 };
        let given_up = us(2_000_000);
        b.mac.resume_backoff(given_up, &b.config);
        b.sends(given_up, packet(2));
        assert_eq!(b.next_frame().0, given_up + Duration::from_micros(9 * 20), "it inherits the backoff");
    }

    #[test]
    fn the_standard_extends_the_timeout_to_the_end_of_a_reception() {
        let mut b = bench(Flavour::Standard, None);
        b.sends(us(1000), packet(1));
        let (at, _) = b.next_frame();
        let end = at + Duration::from_micros(6304 + 10 + 304);
        // SIFS, slot and preamble have passed since the end of the frame: the ACK has begun but not ended.
        assert_eq!(b.mac.deadline(&b.config), at + Duration::from_micros(6304 + 10 + 20 + 192));
        let due = b.mac.deadline(&b.config);
        b.mac.carrier_busy(at + Duration::from_micros(6304), &b.config);
        b.mac.carrier_idle(at + Duration::from_micros(6307), &b.config);
        assert_eq!(b.mac.deadline(&b.config), due, "what ends before it was no response");
        b.mac.carrier_busy(end - Duration::from_micros(304), &b.config);
        assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE);
        b.mac.receive(end, &b.to_me(FrameKind::Ack, 0), &b.config);
        b.mac.carrier_idle(end, &b.config);
        assert_eq!(b.outcome(), Some((packet(1), true)));
    }
}
