//! The parameters of a TCP connection, with their keys and presets.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use core::ops::RangeInclusive;

use multihop_core::settings::{Field, Settings, Visitor};
use multihop_core::{BitRate, Duration};

use super::adtcp::AdtcpConfig;
use super::outage::Standby;
use super::pace::Pacing;
use crate::congestion::start::{Halving, NewRenoConfig, PartialAckTimer, RecoveryExit};
use crate::congestion::{Algorithm, Congestion, CongestionControl, Start, Variant, Window};
use crate::pacing::PacingConfig;
use crate::rtt::RtoConfig;
use crate::settings::TIMEOUT;

/// Everything about a connection that is not fixed by the protocol.
///
/// Start from a preset and change fields. Both ends of a simulated flow are given the same `Config`.
#[derive(Clone, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Congestion control, built-in or user-defined.
    // This field is the first, because the keys of a congestion control decide which signals it needs.
    #[key(flatten)]
    pub congestion: Algorithm,
    /// Largest window of the sender, segments.
    ///
    /// The slow-start threshold begins at this window, too.
    #[key(1..=65_535, then = Self::check_window)]
    pub window_max: u16,
    /// Whether the length of the path, once it is known, sets `window_max` by [`window_for_hops`].
    pub window_by_hops: bool,
    /// Payload of a full segment, bytes.
    ///
    /// Options are not counted.
    #[key(16..=2200)]
    pub mss: u16,
    /// Initial window of the sender, segments.
    ///
    /// A sender whose SYN was lost begins with one segment (RFC 5681 §3.1).
    #[key(1..=1000)]
    pub initial_window: u16,
    /// Whether each of the first two duplicate ACKs releases a new segment (RFC 3042).
    #[key]
    pub limited_transmit: bool,
    /// Whether slow start ends when round trips grow, before queues overflow (HyStart++, RFC 9406).
    #[key]
    pub hystart: bool,
    /// Let CUBIC grow as Reno once Reno's window would be back at the one before the loss (RFC 9438 §4.3).
    pub cubic_catches_up: bool,
    /// Whether the window grows by the bytes that ACKs deliver, not by their number (RFC 3465 without its limit).
    #[key]
    pub byte_counting: bool,
    /// Quantity that is halved after a loss: the flight or the window.
    pub halving: Halving,
    /// Fast recovery of NewReno.
    #[key(flatten)]
    pub newreno: NewRenoConfig,
    /// The window after fast recovery.
    pub recovery_exit: RecoveryExit,
    /// New segments that one ACK may release during fast recovery.
    pub recovery_burst: u16,
    /// Whether small segments are delayed while data is outstanding (Nagle, RFC 9293 §3.7.4).
    #[key]
    pub nagle: bool,
    /// Fall back to the initial window after sending nothing for one timeout (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// Parameters of the retransmission timer.
    #[key(flatten)]
    pub rto: RtoConfig,
    /// Number of retransmissions in a row after which the connection is aborted; off: no limit.
    #[key(1..=65_535, off)]
    pub max_retries: Option<u16>,
    /// Rule by which the receiver acknowledges.
    #[key(
        name = "delack",
        help = "Implementation of delayed ACKs, if the kind delays them: ns2 acknowledges every second segment, linux every \
                one if window_max is 2 or less.",
        with = Self::delayed_ack_key
    )]
    pub ack_rule: AckRule,
    /// Number of segments that are acknowledged at once when a connection begins, whatever the rule.
    #[key(0..=1000)]
    pub quick_acks: u16,
    /// Longest delay of an ACK, s.
    #[key(TIMEOUT)]
    pub ack_delay: Duration,
    /// Longest delay of an ACK where segments arrive seldom, s; `ack_delay` is then the shortest, and ACKs of duplicates and of
    /// what the sender pushes leave at once, as in Linux. off: always `ack_delay`.
    #[key(TIMEOUT, off, then = Self::check_ack_delay)]
    pub ack_delay_max: Option<Duration>,
    /// Whether selective acknowledgement is offered (RFC 2018, RFC 6675).
    #[key]
    pub sack: bool,
    /// Whether packets may be marked in place of being dropped (ECN, RFC 3168); prague always allows it.
    #[key]
    pub ecn: bool,
    /// Whether losses are found by time, with a probe for a lost tail (RACK-TLP, RFC 8985); needs sack.
    #[key]
    pub rack: bool,
    /// Whether what SACK reports is a sample of the round trip as well, and the handshake one of the shortest, as in Linux; only
    /// with rack.
    #[key(then = Self::check_all_rtt)]
    pub all_rtt: bool,
    /// Whether the window shrinks segment by segment during fast recovery (PRR, RFC 9937); only with rack, and not under bbr.
    #[key(then = Self::check_prr)]
    pub prr: bool,
    /// Whether reductions of the window that prove unnecessary are undone: by reports of duplicates (RFC 3708), timestamps (RFC
    /// 4015), or what arrives after a timeout (RFC 5682); only with rack.
    #[key(then = Self::check_undo)]
    pub undo: bool,
    /// Tick of the clock of timestamps (RFC 7323), s; off: timestamps are not offered.
    #[key(TICK, off)]
    pub timestamps: Option<Duration>,
    /// Whether connections begin with SYN segments.
    ///
    /// Without, both ends know each other's sequence numbers (which start at 0) and options.
    #[key]
    pub handshake: bool,
    /// Receive buffer, bytes; if not given, room for `window_max` segments.
    ///
    /// The room is at least 65535 bytes. Above 65535 the window scale option is offered.
    #[key(1..=1_000_000_000)]
    pub recv_buffer: Option<u32>,
    /// Whether in-order data counts as read when it arrives, so that the window never closes.
    pub sink: bool,
    /// Stand-by after a notice of a failed link (Holland and Vaidya).
    #[key(with = Self::standby_keys)]
    pub elfn: Option<Standby>,
    /// Measurements and reports of an ADTCP receiver.
    #[key(with = Self::adtcp_keys)]
    pub adtcp: AdtcpConfig,
    /// Pacing of data segments by the measured round-trip times.
    #[key(with = Self::pacing_keys)]
    pub pacing: Option<Pacing>,
    /// Maximum segment lifetime: TIME-WAIT lasts twice as long.
    pub msl: Duration,
}

/// Rules for when the receiver acknowledges in-order data. All other data is acknowledged at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckRule {
    /// An ACK for every segment.
    Every,
    /// Acknowledges every second segment (RFC 5681 §4.2).
    Delayed(DelayedAck),
    /// Dynamic delayed ACKs: fewer ACKs as the connection continues, down to one per four segments. Altman
    /// and Jiménez, "Novel delayed ACK techniques for improving TCP performance in multihop wireless
    /// networks" (PWC 2003).
    Dynamic,
    /// Li et al., "TACK: Improving Wireless Transport Performance by Taming Acknowledgments" (SIGCOMM 2020):
    /// acknowledges every second segment, or four times per round trip if that is less often. The round trip
    /// is the shortest one that the receiver has measured; before the first one every second segment is
    /// acknowledged.
    Tack,
}

/// Implementation whose delayed ACKs a receiver copies.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum DelayedAck {
    /// Every second segment, whatever the sender's clamp.
    Ns2,
    /// Delayed ACKs as seen on Linux: every segment when `window_max` is 2 or less.
    Linux,
}

/// Keys that depend on the congestion control and on other keys.
impl Config {
    fn delayed_ack_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        match &mut self.ack_rule {
            AckRule::Delayed(whose) => _ = keys.about(help).field(name, whose, ()),
            AckRule::Every | AckRule::Dynamic | AckRule::Tack => {
                keys.unavailable("does not delay ACKs, allowed with: the suffix +da", &mut |keys| {
                    keys.about(help).field(name, &mut DelayedAck::Ns2, ());
                });
            }
        }
    }

    fn standby_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        let is_adtcp = self.is_adtcp();
        match &mut self.elfn {
            Some(standby) => standby.keys(keys),
            None if is_adtcp => {
                self.adtcp.disconnected.probing.keys(keys);
                let reason = "does not react to link-failure notices, allowed with: elfn, or a TCP with the suffix +elfn";
                keys.unavailable(reason, &mut |keys| Standby::elfn().end.keys(keys));
            }
            None => {
                let reason = "does not react to link-failure notices, allowed with: the suffix +elfn";
                keys.unavailable(reason, &mut |keys| Standby::elfn().keys(keys));
            }
        }
    }

    fn adtcp_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        if self.is_adtcp() {
            self.adtcp.keys(keys);
        } else {
            let mut other = AdtcpConfig::PAPER;
            keys.unavailable("does not identify network states, allowed with: adtcp", &mut |keys| {
                other.keys(keys)
            });
        }
    }

    fn pacing_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        match &mut self.pacing {
            Some(pacing) => pacing.keys(keys),
            None => {
                let mut other = Pacing::new(PacingConfig::new(BitRate(0)));
                keys.unavailable(PacingConfig::REASON, &mut |keys| other.keys(keys));
            }
        }
    }

    fn check_window(&self, keys: &mut dyn Visitor) {
        if self.window_by_hops {
            keys.refuse(
                "window_max",
                format!("{:?} sets the window by the number of hops, allowed: no window_max", keys.name()),
            );
        }
    }

    fn check_ack_delay(&self, keys: &mut dyn Visitor) {
        if self.ack_delay_max.is_some_and(|most| most < self.ack_delay) {
            keys.refuse("ack_delay_max", "found less than ack_delay, allowed: at least ack_delay".to_owned());
        }
    }

    fn check_all_rtt(&self, keys: &mut dyn Visitor) {
        self.check_needs_rack("all_rtt", self.all_rtt, keys);
    }

    fn check_prr(&self, keys: &mut dyn Visitor) {
        self.check_needs_rack("prr", self.prr, keys);
    }

    fn check_undo(&self, keys: &mut dyn Visitor) {
        self.check_needs_rack("undo", self.undo, keys);
    }

    /// Refuses a key that has no effect without `rack`, if the user has set it. Presets may set such keys.
    fn check_needs_rack(&self, name: &'static str, is_on: bool, keys: &mut dyn Visitor) {
        if is_on && !self.rack {
            keys.refuse(name, "found true, allowed only with rack = true".to_owned());
        }
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.rack && !self.sack {
            keys.refuse("rack", "found true, allowed only with sack = true".to_owned());
        }
        if self.congestion.signals().rates && !self.sack {
            keys.refuse(
                "sack",
                format!("{:?} measures by selective acknowledgements, allowed: true", keys.name()),
            );
        }
        if self.is_adtcp() && self.timestamps.is_none() {
            keys.refuse(
                "timestamps",
                format!(
                    "{:?} needs timestamps, allowed: a duration, the tick of the timestamps",
                    keys.name()
                ),
            );
        }
    }
}

impl Config {
    /// Configuration that the RFCs recommend: 9293, 5681, 6582, 6298 and 3042.
    pub fn rfc() -> Self {
        Self {
            congestion: Algorithm::BuiltIn(Variant::NewReno),
            mss: 1460,
            window_max: 64,
            window_by_hops: false,
            initial_window: 3, // RFC 5681 §3.1 for this MSS
            handshake: true,
            rto: RtoConfig {
                initial: Duration::from_secs(1),
                min: Duration::from_secs(1),
                max: Duration::from_secs(60),
                granularity: Duration::from_millis(1),
                margin: Duration::ZERO,
                backoff_limit: u32::MAX,
                forget_above: None,
                after_lost_syn: Some(Duration::from_secs(3)),
            },
            max_retries: Some(15), // well above the 100 s of RFC 9293 §3.8.3
            limited_transmit: true,
            hystart: false,
            cubic_catches_up: true,
            byte_counting: false,
            prr: false,
            undo: false,
            halving: Halving::Flight,
            newreno: NewRenoConfig { timer: PartialAckTimer::Impatient, deflate: true },
            adtcp: AdtcpConfig::PAPER,
            recovery_exit: RecoveryExit::Rfc,
            recovery_burst: u16::MAX,
            ack_rule: AckRule::Delayed(DelayedAck::Ns2),
            quick_acks: 0,
            ack_delay: Duration::from_millis(100),
            ack_delay_max: None,
            pacing: None,
            elfn: None,
            sack: false,
            rack: false,
            all_rtt: false,
            ecn: false,
            timestamps: None,
            idle_restart: true,
            nagle: true,
            recv_buffer: None,
            sink: false,
            msl: Duration::from_secs(120), // RFC 9293 §3.4.2
        }
    }

    /// Constants of ns-2.27, from the time of the TCP-AP paper (2005): minimum timeout 1 s, initial 6 s, tick
    /// 10 ms, initial window 2, NewReno's "impatient" variant, limited transmit, backoff up to 64 times.
    pub fn ns2_2005() -> Self {
        let rfc = Self::rfc();
        Self {
            initial_window: 2, // windowInit_ 2
            rto: RtoConfig {
                initial: Duration::from_secs(6),        // rtxcur_init_ 6.0
                min: Duration::from_secs(1),            // minrto_ 1.0
                max: Duration::from_secs(100_000),      // maxrto_ 100000
                granularity: Duration::from_millis(10), // tcpTick_ 0.01
                margin: Duration::ZERO,
                backoff_limit: 64,     // rtt_backoff()
                forget_above: Some(8), // rtt_backoff()
                after_lost_syn: None,
            },
            max_retries: None,
            halving: Halving::Window,
            newreno: NewRenoConfig {
                timer: PartialAckTimer::Impatient, // newreno_changes1_ 1
                deflate: true,                     // partial_window_deflation_ 1
            },
            recovery_exit: RecoveryExit::Grow, // exit_recovery_fix_ 0
            recovery_burst: 2,                 // send_much(0, 0, 2) on duplicate ACKs
            ack_rule: AckRule::Every,
            idle_restart: false, // slow_start_restart_ is about another case
            nagle: false,
            sink: true,
            ..rfc
        }
    }

    /// Constants of ns-2.30, which the TPA paper names: initial timeout 3 s, minimum timeout 0.2 s.
    pub fn ns2_2_30() -> Self {
        let base = Self::ns2_2005();
        Self {
            rto: RtoConfig {
                initial: Duration::from_secs(3), // rtxcur_init_ 3.0 since January 2006
                min: Duration::from_millis(200), // minrto_ 0.2 since October 2004
                ..base.rto
            },
            ..base
        }
    }

    /// Constants of ns-2.1b9a, from the time of the ADTCP paper (2002): NewReno's "slow but steady" variant,
    /// without deflating the window.
    pub fn ns2_2002() -> Self {
        let base = Self::ns2_2005();
        Self {
            newreno: NewRenoConfig {
                timer: PartialAckTimer::SlowButSteady, // newreno_changes1_ 0
                deflate: false,                        // partial_window_deflation_ 0
            },
            ..base
        }
    }

    /// Constants of ns-2 at the time of the ELFN paper (1999): Reno, tick 100 ms, no handshake, initial
    /// window 1, no limited transmit.
    pub fn ns2_1999() -> Self {
        let base = Self::ns2_2002();
        Self {
            congestion: Algorithm::BuiltIn(Variant::Reno),
            handshake: false,
            initial_window: 1,
            rto: RtoConfig { granularity: Duration::from_millis(100), ..base.rto },
            limited_transmit: false,
            ..base
        }
    }

    /// Linux as in the testbeds of TPA and ADTCP: timeout from 0.2 to 120 s, SACK, timestamps, delayed ACKs
    /// (none if the window clamp is 2). Neither F-RTO nor CUBIC.
    pub fn linux() -> Self {
        // DEVIATION tcp-2: The preset `linux` lacks F-RTO, CUBIC, quick ACKs and growing buffers. It represents
        // testbeds with Linux only where these features do not matter.
        let rfc = Self::rfc();
        Self {
            rto: RtoConfig {
                initial: Duration::from_secs(3), // TCP_TIMEOUT_INIT before 3.1
                min: Duration::from_millis(200), // TCP_RTO_MIN
                max: Duration::from_secs(120),   // TCP_RTO_MAX
                after_lost_syn: None,
                ..rfc.rto
            },
            ack_rule: AckRule::Delayed(DelayedAck::Linux),
            ack_delay: Duration::from_millis(40), // TCP_DELACK_MIN
            newreno: NewRenoConfig {
                timer: PartialAckTimer::SlowButSteady, // tcp_rearm_rto() at each ACK of new data
                deflate: true,
            },
            sack: true,
            timestamps: Some(Duration::from_millis(1)),
            msl: Duration::from_secs(30), // TCP_TIMEWAIT_LEN is 60 s
            ..rfc
        }
    }

    /// Linux 6: initial window of 10 segments, loss detection by time (RACK), proportional rate reduction
    /// with undo, window growth by bytes, and delayed ACKs that adapt to the time between segments.
    pub fn linux_6() -> Self {
        // DEVIATION tcp-9: `linux-6` has HyStart++ and fractional CUBIC windows, and lacks growing buffers and SACK
        // compression. SACKs arrive up to 1 ms earlier than from Linux 6.
        let linux = Self::linux();
        Self {
            initial_window: 10, // TCP_INIT_CWND
            rto: RtoConfig {
                initial: Duration::from_secs(1),    // TCP_TIMEOUT_INIT
                margin: Duration::from_millis(200), // tcp_rto_min() in tcp_rtt_estimator()
                ..linux.rto
            },
            quick_acks: 16,                                  // TCP_MAX_QUICKACKS
            ack_delay_max: Some(Duration::from_millis(200)), // TCP_DELACK_MAX
            rack: true,
            all_rtt: true,
            halving: Halving::Segments,
            cubic_catches_up: false,
            byte_counting: true,
            prr: true,
            undo: true,
            ..linux
        }
    }

    /// Whether the endpoint reports to its peer and uses the peer's reports.
    pub fn is_adtcp(&self) -> bool {
        self.congestion.is_adtcp()
    }

    pub(super) fn uses_marks(&self) -> bool {
        self.ecn || self.congestion.signals().marks
    }

    /// The initial congestion window of a connection with full segments.
    pub fn window(&self) -> Window {
        Window::new(&self.start(self.mss.max(1).into(), self.initial_window))
    }

    /// The congestion control of a new connection with full segments, built-in or user-defined, for drivers other than
    /// TCP.
    pub fn control(&self) -> Box<dyn CongestionControl> {
        Congestion::new(&self.congestion, &self.start(self.mss.max(1).into(), self.initial_window)).boxed()
    }

    /// Initial values of a congestion control; `mss` is the payload of a segment after the handshake has
    /// settled the options.
    pub(crate) fn start(&self, mss: u32, initial_window: u16) -> Start {
        Start {
            mss,
            window_max: self.window_max,
            initial_window,
            halving: self.halving,
            exit: if self.prr && self.rack && self.sack {
                RecoveryExit::Threshold
            } else {
                self.recovery_exit
            },
            newreno: self.newreno,
            hystart: self.hystart,
            cubic_catches_up: self.cubic_catches_up,
            byte_counting: self.byte_counting,
            times_every_ack: self.timestamps.is_some() || (self.rack && self.sack),
        }
    }

    /// Size of the receive buffer, bytes.
    pub(super) fn recv_capacity(&self) -> u32 {
        let unscaled = u32::from(u16::MAX);
        let wanted = u32::from(self.window_max) * u32::from(self.mss);
        self.recv_buffer.unwrap_or(wanted.max(unscaled)).min(unscaled << MAX_SCALE)
    }

    /// The smallest window scale that makes the whole buffer usable (RFC 7323 §2).
    pub(super) fn window_scale(&self) -> u8 {
        let capacity = self.recv_capacity();
        (0..MAX_SCALE).find(|&shift| capacity >> shift <= u32::from(u16::MAX)).unwrap_or(MAX_SCALE)
    }
}

/// Name of a preset, and the function that creates its configuration.
pub type Preset = (&'static str, fn() -> Config);

/// The presets by their names.
pub const PRESETS: &[Preset] = &[
    ("rfc", Config::rfc),
    ("ns2-1999", Config::ns2_1999),
    ("ns2-2002", Config::ns2_2002),
    ("ns2-2005", Config::ns2_2005),
    ("ns2-2.30", Config::ns2_2_30),
    ("linux", Config::linux),
    ("linux-6", Config::linux_6),
];

impl Default for Config {
    fn default() -> Self {
        Self::ns2_2005()
    }
}

/// The congestion window limit of Chen, Xue, Shah and Nahrstedt (2004) as the TCP-AP paper uses it: a
/// quarter of the hops (section 4.3), halves rounded up so that it is below four up to ten hops
/// (section 5.1.1), at least 1 (section 4.5).
pub fn window_for_hops(hops: u32) -> u16 {
    u16::try_from(hops.saturating_add(2) / 4).unwrap_or(u16::MAX).max(1)
}

/// Largest shift of the window scale option (RFC 7323 §2.3).
pub(super) const MAX_SCALE: u8 = 14;

/// Bounds of a clock's tick, s.
const TICK: RangeInclusive<f64> = 0.000_001..=10.0;
