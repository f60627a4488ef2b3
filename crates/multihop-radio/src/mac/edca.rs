//! EDCA: four access categories, which contend for the medium as four stations would (IEEE 802.11-2016 §10.22.2).
//!
//! One category stands in front: the station's own backoff, service and queue are those of this category, so that the
//! frame exchange is that of DCF. It is the one that is in an exchange, or else the one whose backoff ends first. The
//! others wait here.

use core::mem::swap;

use multihop_core::{Duration, Instant};

use super::{Backoff, Contention, Mac, MacConfig, Phase, Queue, Service};
use crate::frame::{BROADCAST, Category, Outgoing};
use crate::params::{CategoryParams, EdcaParams, MacParams};
use crate::phy_profile::{DOT11B, PhyProfile};

/// The categories that are not in front, and transmission opportunities.
#[derive(Clone, Debug)]
pub(super) struct Edca {
    front: Category,
    /// By category. What stands at the place of the one in front means nothing.
    waiting: [Contender; 4],
    /// When the current transmission opportunity ends.
    opportunity_ends: Instant,
    /// The next packet of the category in front follows after SIFS.
    continues: bool,
}

/// One category.
#[derive(Clone, Debug)]
struct Contender {
    backoff: Backoff,
    service: Option<Service>,
    queue: Queue,
    contention_window: u32,
    short_count: u32,
    long_count: u32,
}

impl Edca {
    /// Nothing to do in any category.
    pub(super) fn new(params: &MacParams, categories: &[Contention; 4]) -> Self {
        let contender = |access: &Contention| Contender {
            backoff: Backoff::Idle,
            service: None,
            queue: Queue::new(params.queue_kind, params.queue),
            contention_window: access.cw_min,
            short_count: 0,
            long_count: 0,
        };
        Self {
            front: Category::BestEffort,
            waiting: categories.each_ref().map(contender),
            opportunity_ends: Instant::ZERO,
            continues: false,
        }
    }

    /// The categories that are not in front, the most urgent first.
    fn others(&self) -> impl Iterator<Item = (Category, &Contender)> {
        let all = Category::ALL.into_iter().rev().zip(self.waiting.iter().rev());
        all.filter(move |&(category, _)| category != self.front)
    }

    /// Whether a category that is not in front has a packet and none in service.
    pub(super) fn has_unserved(&self) -> bool {
        self.others().any(|(_, other)| other.service.is_none() && !other.queue.is_empty())
    }

    /// Whether the packet in service follows the previous one after SIFS.
    pub(super) fn continues(&self) -> bool {
        self.continues
    }
}

impl Contention {
    /// The intervals and windows of the four categories: the user's, or else those of the standard (IEEE 802.11-2016,
    /// table 9-137).
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

    /// The intervals and windows of DCF, or of the category in front.
    #[inline]
    pub(super) fn rules<'c>(&self, config: &'c MacConfig) -> &'c Contention {
        if config.is_edca() { config.of_category(self.edca().front) } else { &config.contention }
    }

    /// The packets in service and in queues that are not those of the category in front.
    pub(super) fn others_packets(&self) -> impl Iterator<Item = &Outgoing> {
        let others = self.own.edca.iter().flat_map(|edca| edca.others());
        others
            .flat_map(|(_, other)| other.service.iter().map(|service| &service.out).chain(other.queue.iter()))
    }

    /// The queues that are not that of the category in front.
    pub(super) fn others_queues(&self) -> impl Iterator<Item = &Queue> {
        self.own.edca.iter().flat_map(|edca| edca.others()).map(|(_, other)| &other.queue)
    }

    /// The same, to change them.
    pub(super) fn others_queues_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.own.edca.iter_mut().flat_map(|edca| {
            let front = edca.front;
            let others = Category::ALL
                .into_iter()
                .zip(&mut edca.waiting)
                .filter(move |(category, _)| *category != front);
            others.map(|(_, other)| &mut other.queue)
        })
    }

    /// The queue of a category.
    pub(super) fn queue_of(&self, category: Category) -> &Queue {
        match &self.own.edca {
            Some(edca) if edca.front != category => &edca.waiting[category as usize].queue,
            _ => &self.own.queue,
        }
    }

    /// The same, to change it.
    pub(super) fn queue_of_mut(&mut self, category: Category) -> &mut Queue {
        match &mut self.own.edca {
            Some(edca) if edca.front != category => &mut edca.waiting[category as usize].queue,
            _ => &mut self.own.queue,
        }
    }

    /// The packet of a category that is in service.
    pub(super) fn service_of(&self, category: Category) -> Option<&Service> {
        match &self.own.edca {
            Some(edca) if edca.front != category => edca.waiting[category as usize].service.as_ref(),
            _ => self.own.service.as_ref(),
        }
    }

    /// Puts a category in front.
    fn bring(&mut self, category: Category) {
        if self.edca().front == category {
            return;
        }
        for place in [self.edca().front, category] {
            let own = &mut *self.own;
            let other = &mut own.edca.as_mut().expect(CATEGORIES).waiting[place as usize];
            swap(&mut other.backoff, &mut self.backoff);
            swap(&mut other.service, &mut own.service);
            swap(&mut other.queue, &mut own.queue);
            swap(&mut other.contention_window, &mut own.contention_window);
            swap(&mut other.short_count, &mut own.short_count);
            swap(&mut other.long_count, &mut own.long_count);
        }
        self.serves = self.own.service.is_some();
        self.edca_mut().front = category;
    }

    /// Takes the next packet of every category that has none in service.
    pub(super) fn serve_categories(&mut self, now: Instant, config: &MacConfig) {
        let front = self.edca().front;
        if self.edca().continues {
            self.serve_front(now, config);
            return;
        }
        for category in Category::ALL.into_iter().rev() {
            self.bring(category);
            if self.own.service.is_none() && !self.own.queue.is_empty() {
                self.serve_front(now, config);
            }
        }
        self.bring(front);
        self.resume_backoffs(now, config);
    }

    /// A new packet of the category in front: as [`Mac::begin_access`], but the other categories may be in an exchange.
    pub(super) fn begin_category(&mut self, now: Instant, config: &MacConfig) {
        if self.backoff.is_idle() {
            let at_once = self.is_idle(now) && self.sifs_ends == Instant::FAR_FUTURE;
            if at_once {
                self.backoff = Backoff::Paused { slots: 0 };
            } else {
                self.draw_backoff(config);
            }
        }
    }

    /// The medium turned busy for all categories.
    ///
    /// A category counts a slot when it begins, where DCF counts it when it is over (§10.22.2.4).
    pub(super) fn pause_backoffs(&mut self, now: Instant, config: &MacConfig) {
        let slot = config.contention.slot;
        self.backoff.pause_begun(now, slot);
        for other in &mut self.edca_mut().waiting {
            other.backoff.pause_begun(now, slot);
        }
    }

    /// The medium turned idle: every category waits for its interframe space, and the first one comes to the front.
    pub(super) fn resume_backoffs(&mut self, now: Instant, config: &MacConfig) {
        if matches!(self.phase, Phase::Rts | Phase::Data | Phase::Broadcast) || self.sends_data_after_sifs() {
            return;
        }
        if !self.carrier_busy && self.phase == Phase::Idle {
            let front = self.edca().front;
            for category in Category::ALL {
                self.bring(category);
                self.resume_front(now, config);
            }
            self.bring(front);
        }
        self.bring_first(config);
    }

    /// Whether the category in front is in an exchange and has only SIFS to wait.
    fn sends_data_after_sifs(&self) -> bool {
        let in_exchange = self.own.service.is_some_and(|service| service.announced == super::Announced::Yes);
        self.sifs_ends != Instant::FAR_FUTURE && (in_exchange || self.edca().continues)
    }

    /// Puts the category in front whose backoff ends first, of equal ones the most urgent, and one without a backoff
    /// last.
    fn bring_first(&mut self, config: &MacConfig) {
        let slot = config.contention.slot;
        let edca = self.edca();
        let order = |category: Category, backoff: Backoff| {
            (backoff.is_idle(), backoff.expires(slot), core::cmp::Reverse(category as usize))
        };
        let others = edca.others().map(|(category, other)| (order(category, other.backoff), category));
        let front = (order(edca.front, self.backoff), edca.front);
        let (_, first) = others.fold(front, |one, other| if other.0 < one.0 { other } else { one });
        self.bring(first);
    }

    /// The backoff of one category or several has ended. The most urgent one with a packet transmits; the others back
    /// off as after a collision.
    pub(super) fn end_backoffs(&mut self, now: Instant, config: &MacConfig) {
        let slot = config.contention.slot;
        let mut winner = None;
        for category in Category::ALL.into_iter().rev() {
            self.bring(category);
            if self.backoff.expires(slot) > now {
                continue;
            }
            self.backoff = Backoff::Idle;
            if self.own.service.is_none() {
                continue;
            }
            if winner.is_none() {
                winner = Some(category);
            } else {
                // DEVIATION edca-1: the standard counts this as a transmission.
                self.double_contention_window(config);
                self.draw_backoff(config);
            }
        }
        match winner {
            Some(category) => {
                self.bring(category);
                if self.own.reply.is_some() {
                    self.draw_backoff(config);
                }
                let opportunity = config.of_category(category).opportunity;
                self.edca_mut().opportunity_ends = now + opportunity;
            }
            None => self.resume_backoffs(now, config),
        }
    }

    /// After an ACK: whether the next packet follows in the same transmission opportunity. If so, it waits for SIFS only.
    pub(super) fn continues_opportunity(&mut self, now: Instant, config: &MacConfig) -> bool {
        let begins = now + config.contention.sifs;
        if self.own.reply.is_some() || self.next_in_opportunity(begins, config).is_none() {
            return false;
        }
        self.phase = Phase::Idle;
        self.sifs_ends = begins;
        self.edca_mut().continues = true;
        true
    }

    /// How long the exchange takes that may follow one which ends at `end`, with the SIFS before it.
    pub(super) fn following_exchange(&self, end: Instant, config: &MacConfig) -> Option<Duration> {
        let sifs = config.contention.sifs;
        self.next_in_opportunity(end + sifs, config).map(|length| sifs + length)
    }

    /// The length of the next packet's exchange, if it may begin at `begins` in the current transmission opportunity.
    ///
    /// It is taken at the rate of the packet in service.
    fn next_in_opportunity(&self, begins: Instant, config: &MacConfig) -> Option<Duration> {
        let edca = self.own.edca.as_ref()?;
        if edca.opportunity_ends <= begins {
            return None;
        }
        let next = self.own.queue.iter().next().filter(|next| next.to != BROADCAST)?;
        let rate = self.own.service.map_or_else(|| self.fixed_rate(next, config), |service| service.rate);
        let length = config.airtime.data(next, rate) + config.contention.sifs + config.airtime.ack(rate);
        (begins + length <= edca.opportunity_ends).then_some(length)
    }

    /// The exchange in front failed, or the packet that continues it is being transmitted.
    pub(super) fn end_continuation(&mut self) {
        if let Some(edca) = &mut self.own.edca {
            edca.continues = false;
        }
    }
}

const CATEGORIES: &str = "only called under EDCA";
