//! Frame exchange of a station that aggregates: batches, block ACKs and their requests.

use multihop_core::{Duration, Instant};

use super::sizes::{Fill, MAX_TIME, REQUEST_BYTES};
use super::{Batch, Bitmap, BlockAck, Load, Packed, Passed, Sizes};
use crate::airtime::whole_micros;
use crate::frame::{BROADCAST, Category, Frame, FrameKind, Outgoing, PacketHandle};
use crate::mac::{Announced, Contender, Mac, MacConfig, Own, Phase, Service, Transmission, is_announced};
use crate::phy_profile::RateIndex;

impl Mac {
    /// Fills `load` with the contents of `frame`, which this station begins to transmit; returns false if there are
    /// none. Only stations that aggregate need this.
    pub fn load(&mut self, frame: &Frame, load: &mut Load, config: &MacConfig) -> bool {
        load.clear();
        let Own { front: Contender { batch: Some(batch), .. }, aggregation: Some(aggregation), .. } =
            &mut *self.own
        else {
            return false;
        };
        let Some(sizes) = &config.aggregation else { return false };
        match frame.kind {
            FrameKind::Data | FrameKind::Aggregate if frame.to != BROADCAST => {
                load.fill(batch.transmitted(), sizes, frame.kind == FrameKind::Aggregate);
            }
            FrameKind::BlockAck => load.block_ack = aggregation.receivers.report((frame.to, frame.category)),
            _ => return false,
        }
        true
    }

    /// Processes a received frame with aggregated MPDUs; bits of `intact` stand for the MPDUs without error. Returns
    /// the bits of the MPDUs that are new. The station keeps their packets until [`poll_arrival`](Self::poll_arrival)
    /// passes them on.
    pub fn receive_load(
        &mut self,
        now: Instant,
        frame: &Frame,
        load: &Load,
        intact: Bitmap,
        config: &MacConfig,
    ) -> Bitmap {
        self.heard_error = false;
        if let Some(request) = frame.turn {
            self.grant_turn(now, frame.nav, request, config);
        }
        if frame.to != self.id {
            self.extend_nav(now + frame.nav);
            return Bitmap::NONE;
        }
        if frame.kind == FrameKind::BlockAck {
            self.receive_block_ack(now, load.block_ack, config);
            return Bitmap::NONE;
        }
        if !self.may_acknowledge(now, config) {
            return Bitmap::NONE;
        }
        let new = self.accept(frame, load, intact);
        if frame.kind == FrameKind::Aggregate {
            self.report(now, frame, config);
        } else {
            self.acknowledge(now, frame, config);
        }
        new
    }

    /// The next packet for the layer above.
    pub fn poll_arrival(&mut self) -> Option<Passed> {
        self.own.aggregation.as_mut()?.receivers.poll()
    }

    /// Packets received from neighbours that wait for earlier packets.
    pub fn held(&self) -> impl Iterator<Item = PacketHandle> {
        self.own.aggregation.iter().flat_map(|aggregation| aggregation.receivers.held())
    }

    /// Takes over the counters and the sequence numbers of a station whose radio was switched off, because
    /// its neighbours rely on these numbers. The packets of that station are lost.
    pub fn succeed(&mut self, mut before: Self) {
        for category in Category::ALL {
            let Some(mut batch) = before.contender_mut(category).batch.take() else { continue };
            batch.drop_packets();
            self.contender_mut(category).batch = Some(batch);
        }
        self.own.counters = before.own.counters;
        self.own.aggregation = before.own.aggregation.map(|mut aggregation| {
            aggregation.finished.clear();
            aggregation.receivers.drop_held();
            aggregation
        });
    }

    /// The packets in service; under EDCA, of the access category in front.
    pub fn in_service(&self) -> impl Iterator<Item = &Outgoing> {
        self.own.front.in_service()
    }

    /// The batch of packets in service; `None` unless they can be aggregated.
    #[inline]
    pub(in crate::mac) fn batch(&self) -> Option<&Batch> {
        self.own.front.active_batch()
    }

    /// Chooses the contents of the next frame.
    pub(in crate::mac) fn compose(&mut self, now: Instant, config: &MacConfig) {
        let limit = self.frame_limit(now, config);
        let Contender { service: Some(service), batch: Some(batch), queue, .. } = &mut self.own.front else {
            return;
        };
        let Some(sizes) = &config.aggregation else { return };
        let fill = Fill::new(sizes, &config.airtime, service.rate, limit);
        batch.compose(now, queue, if service.is_trial { fill.single() } else { fill });
        if is_announced(batch.frame().bytes, config) && batch.is_active() {
            service.announced = Announced::NotYet;
        }
    }

    /// Airtime of the next exchange of the service: a block ACK request, or one MPDU after the first
    /// `skipped` packets. `None` if the service has nothing else.
    pub(in crate::mac) fn next_in_batch(&self, skipped: usize, config: &MacConfig) -> Option<Duration> {
        let (batch, sizes) = (self.batch()?, config.aggregation.as_ref()?);
        let (airtime, sifs) = (&config.airtime, config.contention.sifs);
        if batch.is_behind() {
            let rate = airtime.basic_rate();
            return Some(airtime.frame(rate, REQUEST_BYTES) + sifs + config.block_ack_time(rate));
        }
        let rate = self.own.front.service.as_ref()?.rate;
        let mpdu = sizes.mpdu(batch.mpdu_after(skipped)?);
        Some(airtime.frame(rate, mpdu) + sifs + airtime.ack(rate))
    }

    /// Whether the next frame is a block ACK request.
    pub(in crate::mac) fn requests(&self) -> bool {
        self.batch().is_some_and(|batch| batch.frame().is_request)
    }

    /// Airtimes of the data in service at its rate, and of the response.
    pub(in crate::mac) fn data_and_answer(
        &self,
        service: &Service,
        config: &MacConfig,
    ) -> (Duration, Duration) {
        let (airtime, rate) = (&config.airtime, service.rate);
        let Some(batch) = self.batch() else {
            return (airtime.data(&service.out, rate), airtime.ack(rate));
        };
        let frame = batch.frame();
        let answer = if frame.mpdus > 1 { config.block_ack_time(rate) } else { airtime.ack(rate) };
        (airtime.frame(rate, frame.bytes), answer)
    }

    pub(in crate::mac) fn send_batch(&mut self, now: Instant, config: &MacConfig) -> Transmission {
        let service = self.own.front.service.as_ref().expect("data is in service");
        let (length, answer) = self.data_and_answer(service, config);
        let batch = self.batch().expect(ACTIVE);
        let (composed, first) = (batch.frame(), batch.packets()[0]);
        let rate = service.rate;
        let frame = Frame {
            kind: if composed.mpdus > 1 { FrameKind::Aggregate } else { FrameKind::Data },
            from: self.id,
            to: service.out.to,
            nav: self.time_after_data(now + length, answer, config),
            sequence: first.sequence,
            category: self.category(),
            rate,
            retry: first.transmissions > 0,
            bytes: composed.bytes,
            turn: None,
            body: PacketHandle::NONE,
        };
        self.own.counters.data += composed.mpdus as u64;
        self.own.counters.aggregates += u64::from(composed.mpdus > 1);
        self.own.rates.count(rate, composed.mpdus);
        let wait = Self::answer_after(length, rate, answer, config);
        self.transmit(now, frame, Phase::Data, length, wait, config)
    }

    pub(in crate::mac) fn send_request(&mut self, now: Instant, config: &MacConfig) -> Transmission {
        let to = self.own.front.service.as_ref().expect("a service begins with a packet").out.to;
        let sequence = self.own.front.batch.as_mut().expect(ACTIVE).oldest();
        let rate = config.airtime.basic_rate();
        let (length, answer) = (config.airtime.frame(rate, REQUEST_BYTES), config.block_ack_time(rate));
        let nav = config.contention.sifs + whole_micros(answer);
        let request = Frame::control(FrameKind::BlockAckRequest, self.id, to, nav, REQUEST_BYTES, rate);
        self.own.counters.block_ack_requests += 1;
        let wait = Self::answer_after(length, rate, answer, config);
        let frame = Frame { sequence, category: self.category(), ..request };
        self.transmit(now, frame, Phase::Data, length, wait, config)
    }

    /// Handles a block ACK request: the neighbour has given up all MPDUs older than the number in the
    /// request.
    pub(in crate::mac) fn receive_request(&mut self, now: Instant, request: &Frame, config: &MacConfig) {
        if self.own.aggregation.is_none() || !self.may_acknowledge(now, config) {
            return;
        }
        let aggregation = self.own.aggregation.as_mut().expect("just looked");
        aggregation.receivers.move_to((request.from, request.category), request.sequence);
        self.report(now, request, config);
    }

    fn accept(&mut self, frame: &Frame, load: &Load, intact: Bitmap) -> Bitmap {
        let Own { aggregation: Some(aggregation), counters, .. } = &mut *self.own else {
            return Bitmap::NONE;
        };
        let mut new = Bitmap::NONE;
        for (bit, mpdu) in load.mpdus.iter().enumerate().filter(|(bit, _)| intact.contains(*bit)) {
            let packets = load.packets_of(mpdu).iter().map(|packed| packed.out.packet);
            if aggregation.receivers.accept((frame.from, frame.category), mpdu.sequence, packets) {
                new.set(bit, true);
            } else {
                counters.duplicates += 1;
            }
        }
        new
    }

    /// Transmits a block ACK after SIFS.
    fn report(&mut self, now: Instant, asked: &Frame, config: &MacConfig) {
        let rate = config.airtime.answer_rate(asked.rate);
        let bytes = config.block_ack_bytes();
        let report = Frame::control(FrameKind::BlockAck, self.id, asked.from, Duration::ZERO, bytes, rate);
        self.own.reply = Some(Frame { category: asked.category, ..report });
        self.go_on(now, config);
    }

    fn receive_block_ack(&mut self, now: Instant, answer: BlockAck, config: &MacConfig) {
        let awaited = |batch: &Batch| batch.frame().is_request || batch.frame().mpdus > 1;
        if self.phase == Phase::Data && self.batch().is_some_and(awaited) {
            if let Some(params) = &config.params.turns {
                self.count_delivered(now, params);
            }
            self.answered(now, Some(answer), config);
        }
    }

    /// Handles the ACK of a frame with a single MPDU.
    pub(in crate::mac) fn receive_single_ack(&mut self, now: Instant, config: &MacConfig) {
        let Some(batch) = self.batch() else { return };
        if batch.frame().mpdus == 1 && !batch.frame().is_request {
            let start = batch.packets()[0].sequence;
            self.answered(now, Some(BlockAck { start, received: Bitmap::first(1) }), config);
        }
    }

    fn answered(&mut self, now: Instant, answer: Option<BlockAck>, config: &MacConfig) {
        self.stop_waiting();
        self.conclude(now, answer, config);
        self.end_exchange(now, config);
    }

    /// Ends an exchange after the response to its frame (`Some`), or after a missing response (`None`).
    pub(in crate::mac) fn conclude(&mut self, now: Instant, answer: Option<BlockAck>, config: &MacConfig) {
        if self.requests() {
            self.conclude_request(answer.is_some(), config);
        } else {
            self.conclude_data(now, answer, config);
        }
    }

    fn conclude_request(&mut self, answered: bool, config: &MacConfig) {
        let Own { front, aggregation: Some(aggregation), counters, .. } = &mut *self.own else {
            return;
        };
        let Some(batch) = &mut front.batch else { return };
        let gives_up = batch.request_ended(answered, config.params.short_retry);
        counters.data_failures += u64::from(!answered);
        if gives_up {
            counters.last_failures += 1;
            counters.retry_drops += batch.give_up(&mut aggregation.finished);
        }
        if answered || gives_up {
            self.reset_contention_window(config);
        } else {
            self.double_contention_window(config);
        }
        self.end_batch(config);
    }

    fn conclude_data(&mut self, now: Instant, answer: Option<BlockAck>, config: &MacConfig) {
        let Own { front, aggregation: Some(aggregation), counters, rates, .. } = &mut *self.own else {
            return;
        };
        let Contender { service: Some(service), batch: Some(batch), .. } = front else { return };
        let limit = match service.announced {
            Announced::Never | Announced::BySelf => config.params.short_retry,
            Announced::NotYet | Announced::Yes => config.params.long_retry,
        };
        let outcome = batch.resolve(answer, limit, &mut aggregation.finished);
        counters.data_failures += u64::from(outcome.mpdus - outcome.delivered.count());
        counters.retry_drops += outcome.dropped_packets;
        counters.last_failures += outcome.dropped_mpdus;
        let (to, rate, is_trial) = (service.out.to, service.rate, service.is_trial);
        // The unacknowledged packets of an answered frame start again at the first rate, as if never
        // transmitted. The same holds for packets after MPDUs that were given up: otherwise a link that
        // suddenly became bad would keep its rate forever.
        let begins_anew = answer.is_some() || outcome.dropped_mpdus > 0;
        service.transmissions = if begins_anew { 0 } else { service.transmissions + 1 };
        if !is_trial {
            rates.note_length(to, outcome.mpdus);
        }
        let delivered = (0..outcome.mpdus as usize).map(|mpdu| outcome.delivered.contains(mpdu));
        rates.report(now, (to, rate), delivered, config);
        if answer.is_some() || outcome.dropped_mpdus > 0 {
            self.reset_contention_window(config);
        } else {
            self.double_contention_window(config);
        }
        if !self.end_batch(config) {
            self.choose_rate(now, config);
        }
    }

    /// Drops all packets in service, because the neighbour does not respond.
    pub(in crate::mac) fn give_up_batch(&mut self, config: &MacConfig) {
        let Own { front, aggregation: Some(aggregation), counters, .. } = &mut *self.own else {
            return;
        };
        let Some(batch) = &mut front.batch else { return };
        counters.last_failures += 1;
        counters.retry_drops += batch.give_up(&mut aggregation.finished);
        self.reset_contention_window(config);
        self.draw_backoff(config);
        self.end_batch(config);
    }

    /// Ends the service if all its packets are done, and returns true; otherwise prepares the next frame.
    fn end_batch(&mut self, config: &MacConfig) -> bool {
        let Own { front, aggregation: Some(aggregation), done, .. } = &mut *self.own else {
            return true;
        };
        let Contender { service: Some(service), batch: Some(batch), .. } = front else { return true };
        *done = done.take().or_else(|| aggregation.finished.pop_front());
        service.rts_retry = false;
        service.announced = Announced::Never;
        if let Some(&Packed { out, .. }) = batch.packets().first() {
            service.out = out;
            if is_announced(config.airtime.data_bytes(&out), config) {
                service.announced = Announced::NotYet;
            }
        }
        let is_over = batch.end();
        if is_over {
            self.own.front.service = None;
            self.serves = false;
        }
        is_over
    }
}

impl MacConfig {
    /// Whether stations with this configuration send A-MSDUs or A-MPDUs.
    #[inline]
    pub fn aggregates(&self) -> bool {
        self.aggregation.is_some()
    }

    /// The largest number of packets that a station can put into one frame.
    pub fn most_packets(&self) -> usize {
        self.aggregation.as_ref().map_or(1, Sizes::most_packets)
    }

    /// Whether a frame at this rate and of this length fits into the length field of the preamble.
    pub(in crate::mac) fn fits_in_frame(&self, rate: RateIndex, bytes: u32) -> bool {
        self.airtime.frame(rate, bytes) < MAX_TIME
    }

    fn block_ack_bytes(&self) -> u32 {
        self.aggregation.as_ref().map_or(0, Sizes::block_ack_bytes)
    }

    /// Airtime of the block ACK that answers a frame at this rate.
    pub(in crate::mac) fn block_ack_time(&self, rate: RateIndex) -> Duration {
        self.airtime.frame(self.airtime.answer_rate(rate), self.block_ack_bytes())
    }
}

const ACTIVE: &str = "packets that can be aggregated are in service";
