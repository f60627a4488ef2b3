//! One path of a connection: what its sender has learned of it, and when the next segment may leave on it.

use multihop_core::{Duration, Instant, Timers};

use super::config::Config;
use super::control::Control;
use super::trains::Trains;
use crate::rtt::RttEstimator;

/// Sending side of one path. Paths share the stream and its buffers, and nothing else.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) control: Control,
    pub(super) rtt: RttEstimator,
    /// Number of segments that leave together (trains).
    pub(super) trains: Trains,
    /// Earliest departure of the next segment by pacing.
    pace: Instant,
    /// Whether the round trip of the SYN was measured, so that the initial timeout follows from it.
    is_measured: bool,
    /// Departures since the last ACK: the first one and the newest.
    unanswered: Option<(Instant, Instant)>,
    /// Expiry of the pacing timer; `None` once the sender has run after it.
    wake: Option<Instant>,
    /// Transmission number; until it or a later one is acknowledged, the path is frozen and only probes leave on it.
    /// `None` if the path is not frozen.
    pub(super) frozen: Option<u64>,
    /// Whether a probe must leave.
    pub(super) probe_due: bool,
    /// Whether a probe has left since the path froze.
    pub(super) probed: bool,
    /// Whether a probe has requested the ACK of the newest train since an ACK last arrived.
    pub(super) has_requested_ack: bool,
    /// The longest time that the ACK of the newest transmission may wait.
    hold: Duration,
    /// Number of segments of this path whose arrival only ACKs on the other path have reported.
    pub(super) arrived: u64,
    /// Number of the transmission after the newest one that left before its turn. Such transmissions wait for each other, and
    /// no others, in the first queue.
    pub(super) ahead: u64,
    pub(super) timers: Timers<Timer, 5>,
}

/// The timers of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    Ack,
    Pace,
    /// A segment that a later one has overtaken counts as lost.
    Loss,
    /// No ACK arrived within the retransmission timeout.
    Silence,
    /// Messages with a deadline may leave although the window is full or the path is frozen.
    Trickle,
}

impl Timer {
    const ALL: [Self; 5] = [Self::Ack, Self::Pace, Self::Loss, Self::Silence, Self::Trickle];
}

impl Path {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            control: Control::new(config),
            rtt: RttEstimator::new(config.rto()),
            trains: Trains::new(),
            pace: Instant::ZERO,
            is_measured: false,
            unanswered: None,
            wake: None,
            frozen: None,
            probe_due: false,
            probed: false,
            has_requested_ack: false,
            hold: Duration::ZERO,
            arrived: 0,
            ahead: 0,
            timers: Timers::new(Timer::ALL),
        }
    }

    /// Creates a path that is frozen until the peer has answered a probe. `first` is the transmission number of the
    /// first probe.
    pub(super) fn unproved(config: &Config, first: u64) -> Self {
        Self { frozen: Some(first), probe_due: true, ..Self::new(config) }
    }

    pub(super) const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Largest number of segments in flight.
    pub(super) fn flight_limit(&self, config: &Config) -> usize {
        if self.uses_trains() {
            // A train goes from hop to hop like a single frame, and waits for nothing of its own flow. Part of another one would
            // only contend with it where it fills the path.
            let (window, train) = (self.whole_window().max(self.train()), self.train());
            if self.trains.spacing().is_some() {
                return (window / train).max(SEVERAL) * train;
            }
            return if self.trains.fill_the_path() { window / train * train } else { window };
        }
        // Beyond the window, segments that have left the path may wait for one ACK: the `every` segments of the ACK, half as many
        // while the ACK is late, and beside urgent messages `every` more, because the ACK waits for the end of a message.
        let every = usize::from(self.usual_every(config));
        let late = if self.control.is_yielding() { every + every / 2 } else { every / 2 };
        let held = if self.control.is_starting() { 0 } else { every + late };
        self.whole_window() + held
    }

    /// Whether the window has room for a segment; at the beginning of a train, for half of the train, so that one
    /// missing segment does not delay the train. [`AHEAD`] segments of urgent messages need no room.
    pub(super) fn has_room(&self, in_flight: usize, is_urgent: bool, config: &Config) -> bool {
        let needed = if self.trains.is_leaving() { 1 } else { self.train().div_ceil(2) };
        let limit = self.flight_limit(config);
        in_flight == 0 || in_flight + needed <= limit || (is_urgent && in_flight < limit + AHEAD)
    }

    /// Whether pacing permits a segment to leave now.
    pub(super) fn is_its_turn(&self, now: Instant, is_urgent: bool) -> bool {
        self.turn(is_urgent) <= now || self.trains.is_leaving()
    }

    /// Time until pacing permits a segment to leave.
    pub(super) fn wait(&self, now: Instant, is_urgent: bool) -> Duration {
        self.turn(is_urgent).saturating_since(now)
    }

    /// Earliest departure of the next segment by pacing. Urgent messages do not wait: a queue in which they are may be that of
    /// later classes, of which the control law would give them only an equal share.
    const fn turn(&self, is_urgent: bool) -> Instant {
        if is_urgent { Instant::ZERO } else { self.pace }
    }

    /// Records that an urgent segment, with the next transmission number after `transmission`, leaves before its turn. Later
    /// segments wait for at most [`AHEAD`] intervals more than usual.
    pub(super) fn leave_early(&mut self, now: Instant, transmission: u64) {
        self.ahead = transmission + 1;
        let most = self.control.gap().unwrap_or(Duration::ZERO) * AHEAD as u64;
        self.pace = self.pace.min(now + most);
    }

    /// Whether segments leave in trains. Never during start-up.
    pub(super) fn uses_trains(&self) -> bool {
        self.trains.have_several() && !self.control.is_starting()
    }

    /// Number of segments in a train.
    fn train(&self) -> usize {
        if self.uses_trains() { self.trains.next() as usize } else { 1 }
    }

    /// Records that a segment leaves now. Returns the number of segments per ACK to request, and the longest delay of
    /// the ACK in units of 100 us.
    ///
    /// `ack_hold` is the longest delay for a segment whose messages all have a deadline.
    pub(super) fn leave(&mut self, now: Instant, config: &Config, ack_hold: Option<Duration>) -> (u8, u16) {
        let gap = self.control.gap().unwrap_or(Duration::ZERO);
        self.advance_pace(now, gap, config);
        self.unanswered = Some((self.unanswered.map_or(now, |(first, _)| first), now));
        self.timers.stop(Timer::Silence);
        let every = self.every(config);
        // While urgent messages share the path, the peer may delay an ACK until an urgent message ends.
        let intervals = if self.control.is_yielding() { 2 } else { 1 };
        self.hold = (gap * u64::from(every) * intervals).min(config.ack_hold);
        if self.uses_trains() {
            // All parts of a train arrive within a round trip, whatever the rate is.
            self.hold = self.hold.min(self.rtt.srtt().unwrap_or(self.hold));
        }
        if let Some(spacing) = self.trains.spacing() {
            // The ACK waits for the next train, which may be late.
            self.hold = (spacing + spacing / 2).min(config.ack_hold);
        }
        let every = match ack_hold {
            Some(hold) => {
                self.hold = hold.min(config.ack_hold);
                every.max(config.ack_every)
            }
            None => every,
        };
        (every, u16::try_from(self.hold.as_micros() / 100).unwrap_or(u16::MAX))
    }

    /// Advances the pacing time after a segment has left.
    fn advance_pace(&mut self, now: Instant, gap: Duration, config: &Config) {
        let wait = if self.control.is_starting() {
            gap
        } else {
            let Some(size) = self.trains.leave() else { return };
            let faster = if self.uses_trains() { TRAIN_PACE } else { 1 };
            self.trains.spacing().unwrap_or(gap * u64::from(size) / faster)
        };
        // A sender makes up for little of the time in which it did not transmit, unless its host was late.
        let lateness = self.lateness(now, config);
        let earliest = (now + wait).saturating_since(Instant::ZERO + BURST + lateness);
        self.pace = (self.pace + wait).max(Instant::ZERO + earliest) + self.control.drain(now);
    }

    /// Lateness of the host relative to the pacing timer, at most `delay`. Segments delayed by the host may leave at
    /// once, because no queue has them.
    fn lateness(&self, now: Instant, config: &Config) -> Duration {
        self.wake.map_or(Duration::ZERO, |at| now.saturating_since(at)).min(config.delay)
    }

    /// Number of segments per ACK that a segment requests.
    fn every(&self, config: &Config) -> u8 {
        if self.control.is_dip() {
            return u8::try_from(self.whole_window() / ACKS_IN_DIP).unwrap_or(u8::MAX).clamp(1, MAX_PER_ACK);
        }
        self.usual_every(config)
    }

    /// Number of segments per ACK outside of dips: a quarter of the window on fast paths.
    fn usual_every(&self, config: &Config) -> u8 {
        if self.control.is_starting() {
            return 1;
        }
        if self.uses_trains() {
            let trains = if self.trains.spacing().is_some() { 2 } else { 1 };
            return self.least_per_ack() * trains;
        }
        let quarter = u8::try_from(self.whole_window() / 4).unwrap_or(u8::MAX);
        let most = MAX_PER_ACK.max(config.ack_every);
        quarter.clamp(self.least_per_ack().min(most), most)
    }

    /// Number of segments per ACK on paths with few segments in a round trip.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
    fn least_per_ack(&self) -> u8 {
        self.control.every() as u8
    }

    /// Shortest sleep between departures: at high rates, segments due within it leave together.
    fn pause(&self) -> Duration {
        let is_fast = self.control.gap().is_some_and(|gap| gap * MIN_TOGETHER <= TOGETHER);
        if is_fast { TOGETHER } else { Duration::ZERO }
    }

    /// Congestion window, rounded up to whole segments.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by window_max")]
    fn whole_window(&self) -> usize {
        let window = self.control.window();
        let whole = window as usize;
        whole + usize::from(window > whole as f64)
    }

    /// Retransmission timeout for an ACK that the peer sends at once.
    fn timeout(&self, config: &Config) -> Duration {
        let srtt = self.rtt.srtt().unwrap_or_default();
        let usual = srtt + self.rtt.rttvar() * 4;
        let timeout = self.rtt.rto().min(config.rto_max.max(usual));
        if self.may_request_ack() { timeout.min(usual.max(srtt * 2)) } else { timeout }
    }

    /// Whether a probe should request the ACK of the newest train before a timeout counts. A train has a single ACK,
    /// and no segment leaves while that ACK is missing, so its loss alone would cause a timeout.
    pub(super) fn may_request_ack(&self) -> bool {
        self.uses_trains() && !self.is_frozen() && !self.has_requested_ack
    }

    /// Sets the pacing timer if only pacing prevents the next segment from leaving (`may_send`); otherwise stops it.
    pub(super) fn arm_pace(&mut self, now: Instant, may_send: bool, is_urgent: bool) {
        self.trains.end();
        let turn = self.turn(is_urgent);
        self.wake = (may_send && turn > now).then(|| turn.max(now + self.pause()));
        match self.wake {
            Some(at) => self.timers.set(Timer::Pace, at),
            None => self.timers.stop(Timer::Pace),
        }
    }

    /// Notes that an ACK has arrived. Before the first round trip, such an ACK answers the SYN only.
    pub(super) fn on_answer(&mut self) {
        if self.has_round_trip() {
            self.unanswered = None;
        }
    }

    /// Notes that a segment of the peer has arrived. Before the first round trip, the segment shows that the path is up, so that
    /// segments without an ACK are repeated after the shortest time again.
    pub(super) fn on_peer(&mut self) {
        if let (false, Some((first, newest))) = (self.has_round_trip(), &mut self.unanswered) {
            *first = *newest;
        }
    }

    /// Whether a round trip of data is known.
    pub(super) fn has_round_trip(&self) -> bool {
        self.rtt.srtt().is_some()
    }

    /// Time from which a segment of channels may leave without room in the window: a round trip after the newest departure
    /// (RFC 8085, section 3.1.2), or [`SILENCE_PER_TRICKLE`] of the time without an ACK if that is longer.
    ///
    /// Before the first round trip of data, the initial timeout takes the place of a round trip if that of the SYN was measured.
    /// Otherwise the time without an ACK does, at least `rto_min` and at most the initial timeout: the time between two segments
    /// doubles.
    pub(super) fn trickle(&self, config: &Config) -> Instant {
        let Some((first, newest)) = self.unanswered else { return Instant::ZERO };
        let (silence, initial) = (newest.saturating_since(first), self.rtt.base());
        let unmeasured = if self.is_measured { initial } else { silence.max(config.rto_min).min(initial) };
        newest + self.rtt.srtt().unwrap_or(unmeasured).max(silence / SILENCE_PER_TRICKLE)
    }

    /// Takes the round trip of the SYN, which is much shorter than data.
    pub(super) fn on_handshake(&mut self, round_trip: Duration) {
        self.is_measured = true;
        self.rtt.lower_initial(round_trip * SYN_ROUND_TRIPS);
    }

    /// Sets the timer of the next segment that needs no room in the window, or stops the timer.
    pub(super) fn arm_trickle(&mut self, now: Instant, is_allowed: bool, config: &Config) {
        let at = self.trickle(config);
        if is_allowed && at > now {
            self.timers.set(Timer::Trickle, at);
        } else {
            self.timers.stop(Timer::Trickle);
        }
    }

    /// Starts the timeout for an ACK, unless it runs already.
    pub(super) fn arm_silence(&mut self, now: Instant, config: &Config) {
        if self.timers.at(Timer::Silence).is_none() {
            let hold = if self.is_frozen() { Duration::ZERO } else { self.hold };
            self.timers.set(Timer::Silence, now + self.timeout(config) + hold);
        }
    }

    /// Sets the timer of the ACK, or stops it.
    pub(super) fn arm_ack(&mut self, due: Option<Instant>) {
        match due {
            Some(due) => self.timers.set(Timer::Ack, due),
            None => self.timers.stop(Timer::Ack),
        }
    }

    pub(super) fn stop_timers(&mut self) {
        Timer::ALL.into_iter().for_each(|timer| self.timers.stop(timer));
    }

    /// Name of the sender's phase.
    pub(super) fn phase(&self) -> &'static str {
        match (self.frozen, self.control.is_starting()) {
            (Some(_), _) => "freeze",
            (None, true) => "start",
            (None, false) => "normal",
        }
    }
}

/// Number of segments of urgent messages that may leave before their turn: with the one whose turn it is, a message of
/// three segments leaves at once.
pub(super) const AHEAD: usize = 2;
/// Number of trains that may be in flight where several are under way: two more leave before the ACK of two arrives.
const SEVERAL: usize = 4;
/// Factor on the pacing rate of trains. ACKs release trains; pacing only separates trains after a pause.
const TRAIN_PACE: u64 = 2;
/// Number of SYN round trips in the first retransmission timeout, as long as no round trip of data is known.
const SYN_ROUND_TRIPS: u64 = 9;
/// Fraction of the time without an ACK after which messages with a deadline leave again: a path that is back is found after
/// at most this fraction of its outage.
const SILENCE_PER_TRICKLE: u64 = 32;
/// Interval between two batches of segments, half of the time that may be made up for.
const TOGETHER: Duration = Duration::from_micros(500);
/// Smallest number of segments in a batch.
const MIN_TOGETHER: u64 = 4;
/// Time without a transmission that may be made up for.
const BURST: Duration = Duration::from_millis(1);
/// Number of ACKs in a round trip while the sender waits for an empty queue.
const ACKS_IN_DIP: usize = 16;
/// Largest number of segments in an ACK.
const MAX_PER_ACK: u8 = 64;
