//! The frame exchange: RTS, CTS, data, ACK.

use multihop_core::{Duration, Instant};

use super::chosen::by_rules;
use super::{Announced, Mac, MacConfig, Phase, Transmission};
use crate::airtime::whole_micros;
use crate::frame::{BROADCAST, Frame, FrameKind};
use crate::phy_profile::RateIndex;

impl Mac {
    /// Processes a frame received without error. Returns true if it contains a new packet for this station.
    #[inline]
    pub fn receive(&mut self, now: Instant, frame: &Frame, config: &MacConfig) -> bool {
        self.heard_error = false;
        if let Some(request) = frame.turn {
            self.grant_turn(now, frame.nav, request, config);
        }
        if frame.to == BROADCAST {
            return true;
        }
        if frame.to != self.id {
            self.extend_nav(now + frame.nav);
            return false;
        }
        self.receive_own(now, frame, config)
    }

    /// Processes a received frame that is addressed to this station.
    fn receive_own(&mut self, now: Instant, frame: &Frame, config: &MacConfig) -> bool {
        match frame.kind {
            FrameKind::Rts => self.receive_rts(now, frame, config),
            FrameKind::Cts => self.receive_cts(now, config),
            FrameKind::Ack => self.receive_ack(now, config),
            FrameKind::Data => return self.receive_data(now, frame, config),
            FrameKind::BlockAckRequest => self.receive_request(now, frame, config),
            // The driver passes frames with a load to `receive_load`.
            FrameKind::Aggregate | FrameKind::BlockAck => {}
        }
        false
    }

    fn receive_rts(&mut self, now: Instant, rts: &Frame, config: &MacConfig) {
        if !by_rules!(config.rules, answers_rts(self, now, config)) {
            return;
        }
        let airtime = &config.airtime;
        let nav = rts.nav.saturating_sub(config.contention.sifs).saturating_sub(whole_micros(airtime.cts));
        let (bytes, rate) = (airtime.cts_bytes(), airtime.answer_rate(rts.rate));
        self.own.reply = Some(Frame::control(FrameKind::Cts, self.id, rts.from, nav, bytes, rate));
        self.go_on(now, config);
    }

    fn receive_cts(&mut self, now: Instant, config: &MacConfig) {
        if self.phase != Phase::Rts {
            return;
        }
        let service = self.own.front.service.as_mut().expect("an RTS was sent for the packet in service");
        service.announced = Announced::Yes;
        self.stop_waiting();
        self.own.front.short_count = 0;
        if config.resets_window_at_cts {
            self.reset_contention_window(config);
        }
        self.go_on(now, config);
    }

    fn receive_ack(&mut self, now: Instant, config: &MacConfig) {
        if self.phase != Phase::Data {
            return;
        }
        if self.own.front.service.is_some_and(|s| matches!(s.announced, Announced::Never | Announced::BySelf))
        {
            self.own.front.short_count = 0;
        } else {
            self.own.front.long_count = 0;
        }
        if let Some(params) = &config.params.turns {
            self.count_delivered(now, params);
        }
        if self.batch().is_some() {
            self.receive_single_ack(now, config);
            return;
        }
        self.stop_waiting();
        self.report_rate(now, true, config);
        self.finish(true, config);
        self.end_exchange(now, config);
    }

    /// Begins the next exchange of the transmission opportunity after a successful one, or else a backoff.
    pub(super) fn end_exchange(&mut self, now: Instant, config: &MacConfig) {
        if config.is_edca() && self.continues_opportunity(now, config) {
            return;
        }
        self.draw_backoff(config);
        self.go_on(now, config);
    }

    fn receive_data(&mut self, now: Instant, data: &Frame, config: &MacConfig) -> bool {
        if !by_rules!(config.rules, takes_data(self, now, data, config)) {
            return false;
        }
        self.acknowledge(now, data, config);
        let repeated =
            self.own.duplicates.seen(data.from, data.sequence) && !by_rules!(config.rules, may_be_new(data));
        self.own.counters.duplicates += u64::from(repeated);
        !repeated
    }

    pub(super) fn acknowledge(&mut self, now: Instant, data: &Frame, config: &MacConfig) {
        let (bytes, rate) = (config.airtime.ack_bytes(), config.airtime.answer_rate(data.rate));
        let ack = Frame::control(FrameKind::Ack, self.id, data.from, Duration::ZERO, bytes, rate);
        self.own.reply = Some(ack);
        // In ns-2 a station sends no ACK while it waits for a response itself.
        if self.response_due == Instant::FAR_FUTURE {
            self.go_on(now, config);
        }
    }

    /// Whether data without RTS may be acknowledged.
    pub(super) fn may_acknowledge(&mut self, now: Instant, config: &MacConfig) -> bool {
        by_rules!(config.rules, acknowledges(self, now, config))
    }

    /// Starts the next step after an exchange or a part of it.
    pub(super) fn go_on(&mut self, now: Instant, config: &MacConfig) {
        self.phase = Phase::Idle;
        let is_clear =
            self.own.front.service.is_some_and(|s| matches!(s.announced, Announced::Yes | Announced::BySelf));
        if self.own.reply.is_some() || is_clear {
            self.sifs_ends = now + config.contention.sifs;
        } else if self.own.front.service.is_some() && self.backoff.is_idle() {
            self.draw_backoff(config);
        }
        self.resume_backoff(now, config);
    }

    pub(super) fn send_after_sifs(&mut self, now: Instant, config: &MacConfig) -> Option<Transmission> {
        if !by_rules!(config.rules, sends_after_sifs(self, now, config)) {
            return None;
        }
        if let Some(reply) = self.own.reply {
            return Some(self.send_reply(now, reply, config));
        }
        if config.is_edca() && self.continues() {
            return self.continue_opportunity(now, config);
        }
        self.own.front.service.is_some().then(|| self.send_data(now, config))
    }

    pub(super) fn send_after_backoff(&mut self, now: Instant, config: &MacConfig) -> Option<Transmission> {
        if self.own.front.service.is_none() || self.own.reply.is_some() {
            return None;
        }
        if !self.is_idle(now) {
            self.start_over(now, config);
            return None;
        }
        if self.batch().is_some() {
            self.compose(now, config);
            if self.requests() {
                return Some(self.send_request(now, config));
            }
        }
        let announced = self.own.front.service.as_ref().map(|service| service.announced);
        Some(match announced {
            Some(Announced::NotYet) => self.send_rts(now, config),
            Some(Announced::Never) if self.protects(config) => self.send_cts_to_self(now, config),
            _ => self.send_data(now, config),
        })
    }

    /// Contends for the medium again, because it turned busy just before the transmission.
    pub(super) fn start_over(&mut self, now: Instant, config: &MacConfig) {
        if let Some(Announced::Yes) = self.own.front.service.map(|s| s.announced) {
            self.own.front.service.as_mut().expect("just looked").announced = Announced::NotYet;
        }
        self.double_contention_window(config);
        self.draw_backoff(config);
        self.resume_backoff(now, config);
    }

    fn send_rts(&mut self, now: Instant, config: &MacConfig) -> Transmission {
        let service = self.own.front.service.as_ref().expect("an RTS announces the packet in service");
        let airtime = &config.airtime;
        let (data, answer) = self.data_and_answer(service, config);
        let nav = config.contention.sifs * 3
            + whole_micros(airtime.cts)
            + whole_micros(data)
            + whole_micros(answer);
        let (bytes, rate) = (airtime.rts_bytes(), airtime.basic_rate());
        let mut rts = Frame::control(FrameKind::Rts, self.id, service.out.to, nav, bytes, rate);
        rts.retry = service.rts_retry;
        self.own.counters.rts += 1;
        let wait = Self::answer_after(airtime.rts, rate, airtime.cts, config);
        self.transmit(now, rts, Phase::Rts, airtime.rts, wait, config)
    }

    /// Transmits a CTS to the station itself; the data follows after SIFS (IEEE 802.11-2007 §9.2.11).
    fn send_cts_to_self(&mut self, now: Instant, config: &MacConfig) -> Transmission {
        let service = self.own.front.service.as_mut().expect("a CTS announces the packet in service");
        service.announced = Announced::BySelf;
        let (airtime, rate) = (&config.airtime, service.rate);
        let (data, answer) = (airtime.data(&service.out, rate), airtime.ack(rate));
        let nav = config.contention.sifs * 2 + whole_micros(data) + whole_micros(answer);
        let (bytes, rate) = (airtime.cts_bytes(), airtime.basic_rate());
        let cts = Frame::control(FrameKind::Cts, self.id, self.id, nav, bytes, rate);
        self.own.counters.cts += 1;
        self.transmit_last(now, cts, config.airtime.cts, config)
    }

    pub(super) fn send_data(&mut self, now: Instant, config: &MacConfig) -> Transmission {
        if self.batch().is_some() {
            return self.send_batch(now, config);
        }
        let service = self.own.front.service.as_ref().expect("data is the packet in service");
        let airtime = &config.airtime;
        let (rate, length) = (service.rate, airtime.data(&service.out, service.rate));
        let broadcast = service.out.to == BROADCAST;
        let frame = Frame {
            kind: FrameKind::Data,
            from: self.id,
            to: service.out.to,
            nav: if broadcast {
                Duration::ZERO
            } else {
                self.time_after_data(now + length, airtime.ack(rate), config)
            },
            sequence: service.sequence,
            category: self.category(),
            rate,
            retry: service.data_retry,
            bytes: airtime.data_bytes(&service.out),
            turn: None,
            body: service.out.packet,
        };
        if broadcast {
            self.own.counters.broadcast += 1;
            return self.transmit(now, frame, Phase::Broadcast, length, length, config);
        }
        self.own.counters.data += 1;
        self.own.rates.count(rate, 1);
        let wait = Self::answer_after(length, rate, airtime.ack(rate), config);
        self.transmit(now, frame, Phase::Data, length, wait, config)
    }

    /// Time from the end of a data frame to the end of its response, or of the exchange that follows in the
    /// same transmission opportunity. The Duration field announces this time.
    pub(super) fn time_after_data(
        &self,
        data_ends: Instant,
        answer: Duration,
        config: &MacConfig,
    ) -> Duration {
        let ack = config.contention.sifs + whole_micros(answer);
        let follows = self.following_exchange(data_ends + ack, config).unwrap_or(Duration::ZERO);
        // The time is rounded down: a NAV longer than the ACK would shift the slots of stations that set it.
        ack + Duration::from_micros(follows.as_nanos() / 1000)
    }

    fn send_reply(&mut self, now: Instant, reply: Frame, config: &MacConfig) -> Transmission {
        let airtime = &config.airtime;
        if reply.kind != FrameKind::Cts {
            let counters = &mut self.own.counters;
            let count =
                if reply.kind == FrameKind::Ack { &mut counters.ack } else { &mut counters.block_acks };
            *count += 1;
            let length = airtime.frame(reply.rate, reply.bytes);
            return self.transmit_last(now, reply, length, config);
        }
        self.own.counters.cts += 1;
        by_rules!(config.rules, send_cts(self, now, reply, config))
    }

    /// Transmits a frame that needs no response, and starts the next step at the end of the frame.
    pub(super) fn transmit_last(
        &mut self,
        now: Instant,
        frame: Frame,
        airtime: Duration,
        config: &MacConfig,
    ) -> Transmission {
        let transmission = self.transmit(now, frame, Phase::Idle, airtime, airtime, config);
        self.stop_waiting();
        self.own.reply = None;
        self.go_on(now + airtime, config);
        transmission
    }

    /// Time from the start of a frame until its response is overdue.
    pub(super) fn answer_after(
        frame: Duration,
        rate: RateIndex,
        answer: Duration,
        config: &MacConfig,
    ) -> Duration {
        by_rules!(config.rules, answer_after(frame, rate, answer, config))
    }

    pub(super) fn transmit(
        &mut self,
        now: Instant,
        mut frame: Frame,
        phase: Phase,
        airtime: Duration,
        wait: Duration,
        config: &MacConfig,
    ) -> Transmission {
        if let Some(params) = &config.params.turns {
            self.request_turn(now, &mut frame, (phase, airtime), params);
        }
        self.phase = phase;
        self.response_due = now + wait;
        self.idle_since = now + airtime;
        self.heard_error = false;
        self.pause_backoff(now, config);
        self.own.counters.transmitting += airtime;
        Transmission { frame, airtime }
    }
}

#[cfg(test)]
mod tests;
