//! The parameters of a TCP connection, and their presets. Their keys are in `keys.rs`.

use multihop_core::Duration;

use super::adtcp::AdtcpConfig;
use super::outage::Standby;
use super::pace::Pacing;
use crate::congestion::start::{Halving, NewRenoConfig, PartialAckTimer, RecoveryExit};
use crate::congestion::{Algorithm, Start, Variant, Window};
use crate::rtt::RtoConfig;

/// Everything about a connection that is not fixed by the protocol.
///
/// Start from a preset and change fields. Both ends of a simulated flow are given the same `Config`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    /// Congestion control.
    pub congestion: Algorithm,
    /// Largest payload of a segment in bytes, options not counted.
    pub mss: u16,
    /// The sender's clamp on the window in segments; also the initial slow-start threshold.
    pub window_max: u16,
    /// Whether the length of the path, once it is known, sets `window_max` by [`window_for_hops`].
    pub window_by_hops: bool,
    /// Initial window in segments; 1 if the SYN was lost (RFC 5681 §3.1).
    pub initial_window: u16,
    /// Whether connections begin with SYN segments. Without, both ends know each other's sequence
    /// numbers (which start at 0) and options.
    pub handshake: bool,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// Give up after this many retransmissions in a row; `None` never does.
    pub max_retries: Option<u16>,
    /// Whether each of the first two duplicate ACKs releases a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// End slow start when round trips grow (HyStart++, RFC 9406).
    pub hystart: bool,
    /// Let CUBIC grow as Reno once Reno's window would be back at the one before the loss (RFC 9438 §4.3).
    pub cubic_catches_up: bool,
    /// Let the window grow by the bytes that ACKs deliver, not by their number (RFC 3465 without its limit).
    pub byte_counting: bool,
    /// Reduce the window by proportional rate reduction (RFC 9937); only with `rack`.
    pub prr: bool,
    /// Undo reductions that prove unnecessary (RFC 3708, RFC 4015, RFC 5682); only with `rack`.
    pub undo: bool,
    /// What a loss halves.
    pub halving: Halving,
    /// Fast recovery of NewReno.
    pub newreno: NewRenoConfig,
    /// What ADTCP measures and reports.
    pub adtcp: AdtcpConfig,
    /// The window after fast recovery.
    pub recovery_exit: RecoveryExit,
    /// New segments that one ACK may release during fast recovery.
    pub recovery_burst: u16,
    /// When the receiver acknowledges.
    pub ack_rule: AckRule,
    /// Segments that are acknowledged at once when a connection begins, whatever the rule.
    pub quick_acks: u16,
    /// How long a delayed ACK may wait.
    pub ack_delay: Duration,
    /// How long it may wait where segments arrive seldom, as Linux has it; `None` keeps `ack_delay`.
    pub ack_delay_max: Option<Duration>,
    /// Pace data segments by the measured round-trip times.
    pub pacing: Option<Pacing>,
    /// Go on stand-by after a notice of a failed link (Holland and Vaidya).
    pub elfn: Option<Standby>,
    /// Offer selective acknowledgement (RFC 2018, RFC 6675).
    pub sack: bool,
    /// Find losses by time, and probe for a lost tail (RFC 8985); only with `sack`.
    pub rack: bool,
    /// Take round trips of what SACK reports as well, and so during recovery, and count the handshake's among the shortest;
    /// only with `rack`.
    pub all_rtt: bool,
    /// Offer marks in place of losses (ECN, RFC 3168); a scalable congestion control always does.
    pub ecn: bool,
    /// Offer timestamps (RFC 7323) from a clock with this tick.
    pub timestamps: Option<Duration>,
    /// Fall back to the initial window after sending nothing for one timeout (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// Delay small segments while data is outstanding (Nagle, RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Receive buffer in bytes; `None` has room for `window_max` segments and at least 65535 bytes.
    /// Above 65535 the window scale option is offered.
    pub recv_buffer: Option<u32>,
    /// Whether in-order data counts as read when it arrives, so that the window never closes.
    pub sink: bool,
    /// Maximum segment lifetime: TIME-WAIT lasts twice as long.
    pub msl: Duration,
}

/// When the receiver acknowledges in-order data. Anything else is acknowledged at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckRule {
    /// Every segment.
    Every,
    /// Every second segment (RFC 5681 §4.2).
    Delayed(DelayedAck),
    /// Altman and Jiménez, "Novel delayed ACK techniques for improving TCP performance in multihop
    /// wireless networks" (PWC 2003): less often as the connection continues, up to every fourth.
    Dynamic,
}

/// Whose delayed ACKs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DelayedAck {
    /// Every second segment, whatever the sender's clamp.
    Ns2,
    /// As seen on Linux: every segment when `window_max` is 2 or less.
    Linux,
}

impl Config {
    /// What the RFCs recommend: 9293, 5681, 6582, 6298 and 3042.
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

    /// ns-2.27, from the time of the TCP-AP paper (2005): minimum timeout 1 s, initial 6 s, tick
    /// 10 ms, initial window 2, impatient NewReno, limited transmit, backoff up to 64 times.
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

    /// ns-2.30, which the TPA paper names: initial timeout 3 s, minimum 0.2 s.
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

    /// ns-2.1b9a, from the time of the ADTCP paper (2002): NewReno is slow but steady and does not
    /// deflate.
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

    /// ns-2 at the time of the ELFN paper (1999): Reno, tick 100 ms, no handshake, initial window 1,
    /// no limited transmit.
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

    /// Linux of the TPA and ADTCP testbeds, as far as it is relevant: timeout from 0.2 to 120 s,
    /// SACK, timestamps, delayed ACKs that a clamp of 2 turns off. Neither F-RTO nor CUBIC.
    pub fn linux() -> Self {
        // DEVIATION tcp-2: no F-RTO, CUBIC, quick ACKs or growing receive buffers.
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

    /// Linux of today: an initial window of 10, losses by time, reductions segment by segment that can be undone, a window
    /// that grows by bytes, and delays of ACKs that follow the time between segments.
    pub fn linux_6() -> Self {
        // DEVIATION tcp-9: no growing receive buffers, and HyStart++ in place of the kernel's HyStart.
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

    /// The window with which a connection of full segments begins.
    pub fn window(&self) -> Window {
        Window::new(&self.start(self.mss.max(1).into(), self.initial_window))
    }

    /// The initial values of a congestion control; `mss` is the payload of a segment once options are known.
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

    /// Bytes that the receiver can hold.
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

/// A name, and what makes the configuration.
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

/// RFC 7323 §2.3
pub(super) const MAX_SCALE: u8 = 14;
