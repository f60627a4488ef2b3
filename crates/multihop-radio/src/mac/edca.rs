//! EDCA: four access categories, which contend for the medium like four stations (IEEE 802.11-2016 §10.22.2).
//! One category is in front: its backoff, service and queue are in the fields of the station, so that the
//! frame exchange is the same as under DCF. The category in front is the one in an exchange, or else the one
//! whose backoff ends first. This module stores the other categories.

use core::mem::swap;

use multihop_core::{Duration, Instant};

use super::{Announced, Backoff, Contender, Contention, Mac, MacConfig, Phase, Transmission};
use crate::frame::{BROADCAST, Category};
use crate::params::{CategoryParams, EdcaParams, MacParams};
use crate::phy_profile::{DOT11B, PhyProfile};

/// The categories that are not in front, and the current transmission opportunity.
#[derive(Clone, Debug)]
pub(super) struct Edca {
    front: Category,
    /// Backoffs of the four access categories. The entry of the category in front is unused.
    waiting: [Waiting; 4],
    /// End of the current transmission opportunity.
    opportunity_ends: Instant,
    /// Whether the next packet of the category in front follows after SIFS.
    continues: bool,
}

/// A category that is not in front.
#[derive(Clone, Debug)]
struct Waiting {
    backoff: Backoff,
    contender: Contender,
}

impl Edca {
    /// Creates the state of a station with nothing to send in any category.
    pub(super) fn new(params: &MacParams, categories: &[Contention; 4], aggregates: bool) -> Self {
        let waiting = |access: &Contention| Waiting {
            backoff: Backoff::Idle,
            contender: Contender::new(params, access.cw_min, aggregates),
        };
        Self {
            front: Category::BestEffort,
            waiting: categories.each_ref().map(waiting),
            opportunity_ends: Instant::ZERO,
            continues: false,
        }
    }

    /// The backoffs of the categories that are not in front, most urgent first.
    fn others(&self) -> impl Iterator<Item = (Category, &Waiting)> {
        let all = Category::ALL.into_iter().rev().zip(self.waiting.iter().rev());
        all.filter(move |&(category, _)| category != self.front)
    }

    /// Whether a category that is not in front has a packet and none in service.
    pub(super) fn has_unserved(&self) -> bool {
        self.others().any(|(_, other)| other.contender.is_unserved())
    }
}

impl Contention {
    /// Intervals and windows of the four categories: the user's values, or else the standard's (IEEE
    /// 802.11-2016, table 9-137).
    pub(super) fn of_categories(phy: &PhyProfile, dcf: Self, params: &EdcaParams) -> [Self; 4] {
        let (window, largest) = (dcf.cw_min, dcf.cw_max);
        let (half, quarter) = (window.div_ceil(2) - 1, window.div_ceil(4) - 1);
        let [video, voice] = if *phy == DOT11B { [6016, 3264] } else { [3008, 1504] };
        let usual = [
            (7, window, largest, 0),
            (3, window, largest, 0),
            (2, half, window, video),
            (2, quarter, half, voice),
        ];
        core::array::from_fn(|category| {
            let (aifsn, cw_min, cw_max, txop) = usual[category];
            let given: &CategoryParams = &params.categories[category];
            let aifs = dcf.sifs + dcf.slot * u64::from(given.aifsn.unwrap_or(aifsn));
            let cw_min = given.cw_min.unwrap_or(cw_min);
            Self {
                difs: aifs,
                eifs: dcf.eifs.saturating_sub(dcf.difs) + aifs,
                cw_min,
                cw_max: given.cw_max.unwrap_or(cw_max).max(cw_min),
                opportunity: given.txop.unwrap_or(Duration::from_micros(txop)),
                ..dcf
            }
        })
    }
}

impl Mac {
    fn edca(&self) -> &Edca {
        self.own.edca.as_ref().expect(CATEGORIES)
    }

    fn edca_mut(&mut self) -> &mut Edca {
        self.own.edca.as_mut().expect(CATEGORIES)
    }

    /// Intervals and windows of DCF, or of the category in front.
    #[inline]
    pub(super) fn rules<'c>(&self, config: &'c MacConfig) -> &'c Contention {
        if config.is_edca() { config.of_category(self.edca().front) } else { &config.contention }
    }

    /// The contenders that are not in front.
    pub(super) fn others(&self) -> impl Iterator<Item = &Contender> {
        self.own.edca.iter().flat_map(|edca| edca.others()).map(|(_, other)| &other.contender)
    }

    /// Mutable access to the contenders that are not in front.
    pub(super) fn others_mut(&mut self) -> impl Iterator<Item = &mut Contender> {
        self.own.edca.iter_mut().flat_map(|edca| {
            let front = edca.front;
            let all = Category::ALL.into_iter().zip(&mut edca.waiting);
            all.filter(move |(category, _)| *category != front).map(|(_, other)| &mut other.contender)
        })
    }

    /// The contender of a category.
    pub(super) fn contender(&self, category: Category) -> &Contender {
        match &self.own.edca {
            Some(edca) if edca.front != category => &edca.waiting[category as usize].contender,
            _ => &self.own.front,
        }
    }

    /// Mutable access to the contender of a category.
    pub(super) fn contender_mut(&mut self, category: Category) -> &mut Contender {
        match &mut self.own.edca {
            Some(edca) if edca.front != category => &mut edca.waiting[category as usize].contender,
            _ => &mut self.own.front,
        }
    }

    /// The category in front; under DCF, best effort.
    pub(super) fn category(&self) -> Category {
        self.own.edca.as_ref().map_or(Category::BestEffort, |edca| edca.front)
    }

    /// Puts `category` in front, so that channel access and frame exchange use its state.
    fn move_to_front(&mut self, category: Category) {
        if self.edca().front == category {
            return;
        }
        for place in [self.edca().front, category] {
            let own = &mut *self.own;
            let other = &mut own.edca.as_mut().expect(CATEGORIES).waiting[place as usize];
            swap(&mut other.backoff, &mut self.backoff);
            swap(&mut other.contender, &mut own.front);
        }
        self.serves = self.own.front.service.is_some();
        self.edca_mut().front = category;
    }

    /// Takes the next packet of every category that has none in service.
    pub(super) fn serve_categories(&mut self, now: Instant, config: &MacConfig) {
        let front = self.edca().front;
        if self.continues() {
            if self.own.front.service.is_none() {
                self.serve_front(now, config);
            }
            return;
        }
        for category in Category::ALL.into_iter().rev() {
            self.move_to_front(category);
            if self.own.front.service.is_none() && !self.own.front.queue.is_empty() {
                self.serve_front(now, config);
            }
        }
        self.move_to_front(front);
        self.resume_backoffs(now, config);
    }

    /// Begins channel access for a new packet of the category in front. Unlike in [`Mac::begin_access`],
    /// another category may be in an exchange.
    pub(super) fn begin_category(&mut self, now: Instant, config: &MacConfig) {
        if self.backoff.is_idle() {
            let at_once =
                self.is_idle(now) && self.sifs_ends == Instant::FAR_FUTURE && self.pause_ends(config) <= now;
            if at_once {
                self.backoff = Backoff::Paused { slots: 0 };
            } else {
                self.draw_backoff(config);
            }
        }
    }

    /// Suspends the backoffs of all categories when the medium turns busy. Under EDCA a slot counts from its
    /// beginning, under DCF from its end (§10.22.2.4).
    pub(super) fn pause_backoffs(&mut self, now: Instant, config: &MacConfig) {
        let slot = config.contention.slot;
        self.backoff.pause_begun(now, slot);
        for other in &mut self.edca_mut().waiting {
            other.backoff.pause_begun(now, slot);
        }
    }

    /// Handles the medium turning idle: every category waits for its interframe space, and the category that
    /// is first done moves to the front.
    pub(super) fn resume_backoffs(&mut self, now: Instant, config: &MacConfig) {
        if matches!(self.phase, Phase::Rts | Phase::Data | Phase::Broadcast) || self.sends_data_after_sifs() {
            return;
        }
        if !self.carrier_busy && self.phase == Phase::Idle {
            let front = self.edca().front;
            for category in Category::ALL {
                self.move_to_front(category);
                self.resume_front(now, config);
            }
            self.move_to_front(front);
        }
        self.move_first_to_front(config);
    }

    /// Whether the category in front is in an exchange and has only SIFS to wait.
    fn sends_data_after_sifs(&self) -> bool {
        let in_exchange = self.own.front.service.is_some_and(|service| service.announced == Announced::Yes);
        self.sifs_ends != Instant::FAR_FUTURE && (in_exchange || self.continues())
    }

    /// Moves the category whose backoff ends first to the front. Ties go to the most urgent category;
    /// categories without a backoff come last.
    fn move_first_to_front(&mut self, config: &MacConfig) {
        let slot = config.contention.slot;
        let edca = self.edca();
        let order = |category: Category, backoff: Backoff| {
            (backoff.is_idle(), backoff.expires(slot), core::cmp::Reverse(category as usize))
        };
        let others = edca.others().map(|(category, other)| (order(category, other.backoff), category));
        let front = (order(edca.front, self.backoff), edca.front);
        let (_, first) = others.fold(front, |one, other| if other.0 < one.0 { other } else { one });
        self.move_to_front(first);
    }

    /// Handles the end of one or several backoffs. The most urgent category with a packet transmits; the
    /// others back off as after a collision.
    pub(super) fn end_backoffs(&mut self, now: Instant, config: &MacConfig) {
        let slot = config.contention.slot;
        let mut winner = None;
        for category in Category::ALL.into_iter().rev() {
            self.move_to_front(category);
            if self.backoff.expires(slot) > now {
                continue;
            }
            self.backoff = Backoff::Idle;
            if self.own.front.service.is_none() {
                continue;
            }
            if winner.is_none() {
                winner = Some(category);
            } else {
                // DEVIATION edca-1: A collision between two categories inside a station only doubles the window. In
                // 802.11 (10.22.2.4) it is a failed transmission. In multihop no packet is therefore dropped
                // untransmitted.
                self.double_contention_window(config);
                self.draw_backoff(config);
            }
        }
        match winner {
            Some(category) => {
                self.move_to_front(category);
                if self.own.reply.is_some() {
                    self.draw_backoff(config);
                }
                let opportunity = config.of_category(category).opportunity;
                let edca = self.edca_mut();
                edca.opportunity_ends = now + opportunity;
                edca.continues = false;
            }
            None => self.resume_backoffs(now, config),
        }
    }

    /// Decides after an answer whether the next exchange follows in the same transmission opportunity. If so, it waits
    /// for SIFS only.
    pub(super) fn continues_opportunity(&mut self, now: Instant, config: &MacConfig) -> bool {
        let begins = now + config.contention.sifs;
        if self.own.reply.is_some() || self.next_in_opportunity(begins, 0, config).is_none() {
            return false;
        }
        self.phase = Phase::Idle;
        self.sifs_ends = begins;
        self.edca_mut().continues = true;
        true
    }

    /// Whether the next exchange waits for SIFS only, because it belongs to the current transmission opportunity.
    pub(super) fn continues(&self) -> bool {
        self.edca().continues
    }

    /// Transmits the next frame of the transmission opportunity, SIFS after an exchange.
    pub(super) fn continue_opportunity(&mut self, now: Instant, config: &MacConfig) -> Option<Transmission> {
        if self.batch().is_some() {
            self.compose(now, config);
            self.announce_nothing();
        }
        self.edca_mut().continues = false;
        if self.own.front.service.is_none() {
            // The packet for this exchange has been removed from the queue.
            self.draw_backoff(config);
            self.go_on(now, config);
            None
        } else if self.requests() {
            Some(self.send_request(now, config))
        } else {
            Some(self.send_data(now, config))
        }
    }

    /// Airtime of an exchange that could follow after `end` in the same transmission opportunity, SIFS
    /// included; `None` if no exchange fits.
    pub(super) fn following_exchange(&self, end: Instant, config: &MacConfig) -> Option<Duration> {
        let sifs = config.contention.sifs;
        let in_frame = self.batch().map_or(0, |batch| batch.transmitted().len());
        self.next_in_opportunity(end + sifs, in_frame, config).map(|length| sifs + length)
    }

    /// Airtime of the next exchange (one MPDU or a block ACK request), if it may begin at `begins` in the
    /// current transmission opportunity. The first `skipped` packets in service are not transmitted again.
    fn next_in_opportunity(&self, begins: Instant, skipped: usize, config: &MacConfig) -> Option<Duration> {
        let edca = self.own.edca.as_ref()?;
        if edca.opportunity_ends <= begins {
            return None;
        }
        let length = match self.next_in_batch(skipped, config) {
            Some(length) => length,
            None => self.next_in_queue(config)?,
        };
        (begins + length <= edca.opportunity_ends).then_some(length)
    }

    /// Airtime of the exchange of the next packet in the queue, at the rate of the packet in service.
    fn next_in_queue(&self, config: &MacConfig) -> Option<Duration> {
        let airtime = &config.airtime;
        let next = self.own.front.queue.iter().next().filter(|next| next.to != BROADCAST)?;
        let rate =
            self.own.front.service.map_or_else(|| self.own.rates.usual(next, config), |service| service.rate);
        let data = match &config.aggregation {
            Some(sizes) => airtime.frame(rate, sizes.single(next.bytes)),
            None => airtime.data(next, rate),
        };
        Some(data + config.contention.sifs + airtime.ack(rate))
    }

    /// Longest airtime of a frame with several MPDUs, after an RTS or without. The response must end within
    /// the transmission opportunity.
    pub(super) fn frame_limit(&self, now: Instant, config: &MacConfig) -> Duration {
        let front = config.of_category(self.category());
        let Some(edca) = self.own.edca.as_ref().filter(|_| front.opportunity > Duration::ZERO) else {
            return Duration::MAX;
        };
        let Some(service) = &self.own.front.service else { return Duration::MAX };
        let (sifs, airtime) = (config.contention.sifs, &config.airtime);
        let may_announce = config.announced_from < u32::MAX || service.announced == Announced::NotYet;
        let before = if may_announce && !edca.continues {
            airtime.rts + airtime.cts + sifs * 2
        } else {
            Duration::ZERO
        };
        let around = before + sifs + config.block_ack_time(service.rate);
        edca.opportunity_ends.saturating_since(now).saturating_sub(around)
    }
}

const CATEGORIES: &str = "only called under EDCA";

#[cfg(test)]
mod tests;
