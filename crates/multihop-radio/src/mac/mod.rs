//! 802.11 DCF: one station's channel access and frame exchanges (IEEE 802.11 §9.2, or ns-2's Mac802_11).
//!
//! `access` has carrier sense and backoff, `exchange` and `retry` the sequence of frames, `data_rates` the
//! rates of data, `edca` and `aggregation` their extensions. The decisions on which ns-2 and the standard
//! differ are in `ns2` and `standard` (the trait `Rules`).
//!
//! Inputs are received frames ([`Mac::receive`], [`Mac::receive_error`]), the medium turning busy or idle, and
//! deadlines; outputs are frames to transmit.
//! After any call the driver takes [`Mac::poll_done`], then calls [`Mac::serve`].

mod access;
mod aggregation;
mod backoff;
mod chosen;
mod contender;
mod counters;
mod data_rates;
mod duplicates;
mod edca;
mod exchange;
mod ns2;
mod queue;
mod retry;
mod rules;
mod standard;
#[cfg(test)]
mod tests;
mod turns;

use std::slice;

use multihop_core::{Duration, Instant, NodeId, Rng, prefetch_at};

pub use self::access::{Access, Waiting};
use self::aggregation::{Aggregation, Sizes};
pub use self::aggregation::{Bitmap, BlockAck, Load, MAX_MPDUS, Mpdu, Packed, Passed};
use self::backoff::Backoff;
use self::chosen::{ExchangeRules, by_rules};
use self::contender::Contender;
pub use self::counters::Counters;
use self::data_rates::DataRates;
use self::duplicates::Duplicates;
use self::edca::Edca;
pub use self::queue::Queue;
use self::turns::Turns;
use crate::airtime::Airtime;
use crate::frame::{BROADCAST, Category, Frame, FrameKind, Outgoing};
use crate::params::{LinkRates, MacParams, Protection, RadioParams};
use crate::phy_profile::{PhyProfile, RateIndex};
use crate::rate_control::Rates;

/// Configuration that all stations of a radio share, with the derived airtimes and intervals.
#[derive(Clone, Debug)]
pub struct MacConfig {
    /// MAC settings of the scenario.
    pub params: MacParams,
    /// The rules of the frame exchange: ns-2's or the standard's.
    rules: ExchangeRules,
    /// Airtimes of all frames.
    pub airtime: Airtime,
    /// The intervals and windows of channel access.
    pub contention: Contention,
    /// Contention parameters of each access category under EDCA; `None` under DCF.
    categories: Option<[Contention; 4]>,
    /// The choice of unicast rates under rate control; `None` if the rate is fixed.
    pub(crate) rates: Option<Rates>,
    /// Rates of unicast data that differ by sender and receiver.
    link_rates: LinkRates,
    /// Smallest size of a unicast data frame with RTS, bytes.
    announced_from: u32,
    /// Bounds of aggregation; `None` if stations do not aggregate.
    aggregation: Option<Sizes>,
    /// Whether a CTS resets the contention window.
    resets_window_at_cts: bool,
}

/// The intervals and windows of channel access.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// Duration of one backoff slot.
    pub slot: Duration,
    /// Short interframe space (SIFS): the wait before an answer.
    pub sifs: Duration,
    /// DCF interframe space (DIFS): the idle time before a backoff counts down.
    pub difs: Duration,
    /// Extended interframe space (EIFS): the idle time after a frame that could not be decoded.
    pub eifs: Duration,
    /// Smallest contention window, slots.
    pub cw_min: u32,
    /// Largest contention window, slots.
    pub cw_max: u32,
    /// Limit of a transmission opportunity (TXOP), in which packets follow each other without a new backoff; zero
    /// allows one packet.
    pub opportunity: Duration,
}

/// MAC of one station: queue, channel access and frame exchange. The fields that every overheard frame
/// accesses are in memory order and fill one cache line, because among thousands of stations each one has
/// left the cache by its next frame. All other state is in a box. Stored inline, it made a station 512 bytes
/// long, so that these cache lines shared a quarter of the cache sets.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Mac {
    backoff: Backoff,
    /// Instant at which SIFS ends and the next frame of the exchange is transmitted.
    sifs_ends: Instant,
    /// Instant at which the response to this station's frame times out; for a broadcast, the end of the frame.
    response_due: Instant,
    /// Instant since which the medium is idle; while this station transmits, the end of its frame.
    idle_since: Instant,
    /// Instant until which other stations have reserved the medium.
    nav: Instant,
    phase: Phase,
    carrier_busy: bool,
    /// Whether the last reception was an error (standard flavour: EIFS instead of DIFS).
    heard_error: bool,
    /// Whether a packet is in service. Stored here so that waiting stations need not access `own`.
    serves: bool,
    id: NodeId,
    own: Box<Own>,
}

/// State that is accessed only for the station's own traffic.
#[derive(Clone, Debug)]
struct Own {
    done: Option<Done>,
    /// State of the station under DCF; under EDCA, of the access category in front.
    front: Contender,
    /// CTS or ACK to transmit after SIFS.
    reply: Option<Frame>,
    next_sequence: u16,
    rng: Rng,
    rates: DataRates,
    /// State of EDCA; `None` if the station uses DCF.
    edca: Option<Box<Edca>>,
    /// State of aggregation; `None` if the station does not aggregate.
    aggregation: Option<Box<Aggregation>>,
    duplicates: Duplicates,
    turns: Turns,
    counters: Counters,
}

/// The packet in service.
#[derive(Clone, Copy, Debug)]
struct Service {
    out: Outgoing,
    sequence: u16,
    /// Rate of the packet's next transmission.
    rate: RateIndex,
    /// Number of transmissions of the packet; of an aggregate, number of transmissions without a response.
    transmissions: u32,
    /// Number of attempts after a failure.
    retries: u32,
    /// Instant at which the packet left the queue.
    began: Instant,
    announced: Announced,
    /// Whether the packet tries a rate. Such a packet is not aggregated.
    is_trial: bool,
    /// Retry bit of the packet's data frame.
    data_retry: bool,
    /// Retry bit of the packet's RTS.
    rts_retry: bool,
}

/// RTS/CTS state of the packet in service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Announced {
    /// No RTS is needed, because the packet is short or a broadcast.
    Never,
    /// No RTS is needed, because the station has transmitted a CTS to itself (CTS-to-self protection).
    BySelf,
    /// The packet may be transmitted only after the answer to an RTS.
    NotYet,
    /// The CTS has arrived.
    Yes,
}

/// Frame that the station is transmitting, or whose response it waits for (ns-2's transmit state).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Idle,
    /// An RTS was sent, and a CTS is expected.
    Rts,
    /// A CTS was sent, and data is expected (ns-2's rules).
    Cts,
    /// Data was sent, and an ACK is expected.
    Data,
    /// A broadcast is being transmitted.
    Broadcast,
}

/// Deadline of a MAC that has expired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expired {
    /// The response to the station's frame has not arrived in time.
    Response,
    /// SIFS is over: the next frame of the exchange is due.
    Sifs,
    /// No slot of the backoff remains.
    Backoff,
}

/// The start of a transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// Frame to put on the air.
    pub frame: Frame,
    /// Time that the frame takes on the air.
    pub airtime: Duration,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    /// Packet whose service has ended, with its receiver.
    pub out: Outgoing,
    /// Whether the packet was acknowledged (a broadcast always counts as acknowledged); otherwise the retry limit was
    /// reached.
    pub delivered: bool,
    /// Instant at which the packet left the interface queue.
    pub began: Instant,
    /// Number of attempts after the first one, as counted in the MAC counters; under aggregation,
    /// retransmissions of the packet's MPDU.
    pub retries: u32,
}

impl MacConfig {
    /// Derives airtimes, intervals and rates from the settings of radio and MAC.
    pub fn new(radio: &RadioParams, params: &MacParams) -> Self {
        let airtime = Airtime::new(radio, params);
        let contention = Contention::new(radio.phy, params);
        Self {
            params: params.clone(),
            rules: ExchangeRules::new(params.flavour),
            rates: Rates::new(&params.rate_control, radio, &airtime, &contention),
            airtime,
            contention,
            categories: params
                .edca
                .as_ref()
                .map(|edca| Contention::of_categories(radio.phy, contention, edca)),
            link_rates: radio.link_rates.clone(),
            announced_from: announced_from(radio.phy, params),
            aggregation: Sizes::new(params, radio.phy),
            resets_window_at_cts: params.resets_window_at_cts(radio.phy),
        }
    }
}

impl MacConfig {
    /// Intervals and windows of an access category, or of DCF.
    fn of_category(&self, category: Category) -> &Contention {
        self.categories.as_ref().map_or(&self.contention, |categories| &categories[category as usize])
    }

    /// The access categories that stations distinguish; under DCF only best effort.
    pub fn categories(&self) -> &'static [Category] {
        if self.is_edca() { &Category::ALL } else { &[Category::BestEffort] }
    }

    #[inline]
    fn is_edca(&self) -> bool {
        self.categories.is_some()
    }
}

impl Contention {
    fn new(phy: &PhyProfile, params: &MacParams) -> Self {
        let &PhyProfile { slot, sifs, .. } = phy;
        let [cw_min, cw_max] = [params.cw_min.unwrap_or(phy.cw_min), params.cw_max.unwrap_or(phy.cw_max)];
        let opportunity = Duration::ZERO;
        Self { slot, sifs, difs: phy.difs(), eifs: phy.eifs(), cw_min, cw_max, opportunity }
    }
}

impl Mac {
    /// A station with nothing to do, and the random streams of its backoff and its rate control.
    pub fn new(id: NodeId, config: &MacConfig, rng: Rng, rate_rng: Rng) -> Self {
        Self {
            id,
            phase: Phase::Idle,
            backoff: Backoff::Idle,
            sifs_ends: Instant::FAR_FUTURE,
            response_due: Instant::FAR_FUTURE,
            carrier_busy: false,
            idle_since: Instant::ZERO,
            nav: Instant::ZERO,
            heard_error: false,
            serves: false,
            own: Box::new(Own {
                done: None,
                front: Contender::new(
                    &config.params,
                    config.of_category(Category::BestEffort).cw_min,
                    config.aggregates(),
                ),
                reply: None,
                next_sequence: 0,
                rng,
                rates: DataRates::new(id, config, rate_rng),
                edca: config
                    .categories
                    .as_ref()
                    .map(|categories| Box::new(Edca::new(&config.params, categories, config.aggregates()))),
                aggregation: config.aggregation.as_ref().map(|sizes| Box::new(Aggregation::new(sizes))),
                duplicates: Duplicates::default(),
                turns: Turns::default(),
                counters: Counters::default(),
            }),
        }
    }

    /// Prefetches the state of the station's own traffic.
    pub fn prefetch_own(&self) {
        prefetch_at(slice::from_ref(&*self.own), 0);
    }

    /// Queues a packet; returns the one that is dropped if the queue is full.
    pub fn enqueue(&mut self, out: Outgoing) -> Option<Outgoing> {
        self.contender_mut(out.category).queue.push(out)
    }

    /// Takes the next packet from the queue if there is none in service.
    pub fn serve(&mut self, now: Instant, config: &MacConfig) {
        if config.is_edca() {
            self.serve_categories(now, config);
        } else if self.own.front.service.is_none() {
            self.end_backoff(now, config);
            self.serve_front(now, config);
        }
    }

    /// Takes the next packet from the queue.
    fn serve_front(&mut self, now: Instant, config: &MacConfig) {
        let Some(out) = self.own.front.queue.pop() else { return };
        let announced = if self.announces(&out, config) { Announced::NotYet } else { Announced::Never };
        if let Some(batch) = self.own.front.batch.as_mut().filter(|_| out.to != BROADCAST) {
            batch.begin(out, now);
        }
        self.own.front.service = Some(Service {
            out,
            sequence: self.own.next_sequence,
            rate: self.own.rates.fixed(&out, config),
            transmissions: 0,
            retries: 0,
            began: now,
            announced,
            is_trial: false,
            data_retry: false,
            rts_retry: false,
        });
        self.serves = true;
        self.own.next_sequence = (self.own.next_sequence + 1) & 0x0fff;
        by_rules!(config.rules, begin_service(self));
        self.choose_rate(now, config);
        match &self.own.edca {
            None => self.begin_access(now, config),
            Some(_) if self.continues() => self.announce_nothing(),
            Some(_) => self.begin_category(now, config),
        }
    }

    /// Marks the packet in service as needing no RTS, because the previous exchange in the transmission opportunity
    /// protects it.
    fn announce_nothing(&mut self) {
        if let Some(service) = &mut self.own.front.service {
            service.announced = Announced::Never;
        }
    }

    /// The packet that the last call finished; `None` if there is none.
    pub fn poll_done(&mut self) -> Option<Done> {
        let done = self.own.done.take();
        if let Some(aggregation) = &mut self.own.aggregation {
            self.own.done = aggregation.next_done();
        }
        done
    }

    /// Whether [`Mac::poll_done`] or [`Mac::serve`] has something to do.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        self.own.done.is_some()
            || self.own.front.is_unserved()
            || self.own.edca.as_ref().is_some_and(|edca| edca.has_unserved())
    }

    /// Deadline of [`Mac::handle_timeout`]; [`Instant::FAR_FUTURE`] if there is none.
    #[inline]
    pub fn deadline(&self, config: &MacConfig) -> Instant {
        let mut first = self.sifs_ends.min(self.backoff_ends(config));
        if self.response_due < first && !self.response_may_be_arriving(config) {
            first = self.response_due;
        }
        first
    }

    /// Instant at which the backoff ends; [`Instant::FAR_FUTURE`] if no packet waits for it.
    #[inline]
    fn backoff_ends(&self, config: &MacConfig) -> Instant {
        debug_assert_eq!(self.serves, self.own.front.service.is_some(), "updated at every change");
        if self.backoff.is_running() && (self.serves || config.is_edca()) {
            self.backoff.expires(config.contention.slot)
        } else {
            Instant::FAR_FUTURE
        }
    }

    /// Handles a deadline, unless it has been postponed; may start a transmission.
    pub fn handle_timeout(&mut self, now: Instant, config: &MacConfig) -> Option<Transmission> {
        self.handle_expiry(self.expired(now, config)?, now, config)
    }

    /// Deadline that has expired; `None` if all have been postponed.
    #[inline]
    pub fn expired(&self, now: Instant, config: &MacConfig) -> Option<Expired> {
        if self.response_due <= now && !self.response_may_be_arriving(config) {
            Some(Expired::Response)
        } else if self.sifs_ends <= now {
            Some(Expired::Sifs)
        } else if self.backoff_ends(config) <= now {
            Some(Expired::Backoff)
        } else {
            None
        }
    }

    /// Handles an expired deadline; may start a transmission.
    #[inline]
    pub fn handle_expiry(
        &mut self,
        expired: Expired,
        now: Instant,
        config: &MacConfig,
    ) -> Option<Transmission> {
        match expired {
            Expired::Response => {
                self.give_up_waiting(now, config);
                None
            }
            Expired::Sifs => {
                self.sifs_ends = Instant::FAR_FUTURE;
                self.send_after_sifs(now, config)
            }
            Expired::Backoff => {
                if config.is_edca() {
                    self.end_backoffs(now, config);
                    if self.backoff != Backoff::Idle {
                        return None;
                    }
                } else {
                    self.backoff = Backoff::Idle;
                }
                self.send_after_backoff(now, config)
            }
        }
    }

    /// Counters since the start, or since the last [`Mac::clear_counts`].
    pub fn counters(&self) -> &Counters {
        &self.own.counters
    }

    /// Whether the MAC accepts another packet of a category from the queue in front of it. It does so if the
    /// category has none. The first frame of a service is composed when it is transmitted, and collects
    /// packets until then. During a transmission opportunity, packets of the next frame wait behind the
    /// service.
    pub fn needs(&self, category: Category, config: &MacConfig) -> bool {
        let contender = self.contender(category);
        let waiting = contender.queue.len();
        if config.of_category(category).opportunity > Duration::ZERO {
            return waiting < config.most_packets() && contender.queue.room() > 0;
        }
        (waiting == 0 && contender.service.is_none()) || contender.collects(config)
    }

    /// Number of packets in the interface queue, or in the queues of all access categories.
    pub fn queued(&self) -> usize {
        self.own.front.queue.len() + self.others().map(|other| other.queue.len()).sum::<usize>()
    }

    /// Number of further packets of an access category that the queue accepts, routing messages excluded.
    pub fn room(&self, category: Category) -> usize {
        self.contender(category).queue.room()
    }

    /// Removes and returns every waiting packet that `which` selects.
    pub fn remove_if(&mut self, which: impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        let mut removed = self.own.front.queue.remove_if(&which);
        for other in self.others_mut() {
            removed.extend(other.queue.remove_if(&which));
        }
        removed
    }

    /// The packets in service, then the packets in the queue.
    pub fn packets(&self) -> impl Iterator<Item = &Outgoing> {
        self.own.front.packets().chain(self.others().flat_map(Contender::packets))
    }

    /// Whether the packet in service, which has no RTS, needs a CTS to the station itself.
    fn protects(&self, config: &MacConfig) -> bool {
        config.params.protection == Protection::CtsToSelf
            && self.own.front.service.is_some_and(|service| config.airtime.phy().is_ofdm(service.rate))
    }

    /// Whether a packet needs an RTS.
    fn announces(&self, out: &Outgoing, config: &MacConfig) -> bool {
        out.to != BROADCAST && is_announced(config.airtime.data_bytes(out), config)
    }
}

/// Whether a unicast data frame of `bytes` needs an RTS.
fn is_announced(bytes: u32, config: &MacConfig) -> bool {
    bytes >= config.announced_from
}

/// The shortest unicast data frame that needs an RTS.
fn announced_from(phy: &PhyProfile, params: &MacParams) -> u32 {
    let Some(threshold) = params.rts_threshold else { return u32::MAX };
    by_rules!(ExchangeRules::new(params.flavour), announced_from(phy, threshold))
}

impl Frame {
    fn control(
        kind: FrameKind,
        from: NodeId,
        to: NodeId,
        nav: Duration,
        bytes: u32,
        rate: RateIndex,
    ) -> Self {
        let body = crate::frame::PacketHandle::NONE;
        let (category, turn) = (Category::BestEffort, None);
        Self { kind, from, to, nav, sequence: 0, category, rate, retry: false, bytes, turn, body }
    }
}
