//! The keys of a TCP connection's parameters.

use alloc::borrow::ToOwned;
use alloc::format;
use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Key, Settings, Value, Visitor};
use multihop_core::{BitRate, Duration};

use super::adtcp::{AdtcpConfig, Identify};
use super::config::{AckRule, Config, DelayedAck};
use super::outage::{Exit, Probe, ProbeInterval, Restore, Standby};
use super::pace::{Pacing, RoundTrips};
use crate::congestion::start::PartialAckTimer;
use crate::pacing::{Clock, PacingConfig};
use crate::settings::{TIMEOUT, check_rto};

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        // First, because they may change which signals the control needs.
        self.congestion.keys(keys);
        self.window_keys(keys);
        self.timer_keys(keys);
        self.ack_keys(keys);
        keys.about("Whether connections begin with SYN segments.").switch("handshake", &mut self.handshake);
        keys.about("Receive buffer, bytes; if not given, room for window_max segments.").whole_if_set(
            "recv_buffer",
            &mut self.recv_buffer,
            1..=1_000_000_000,
        );
        self.standby_keys(keys);
        self.adtcp_keys(keys);
        self.pacing_keys(keys);
    }
}

impl Config {
    fn window_keys(&mut self, keys: &mut dyn Visitor) {
        if keys.about("Largest window, segments.").whole("window_max", &mut self.window_max, 1..=65_535)
            && self.window_by_hops
        {
            keys.refuse("window_max", format!("{:?} sets the window by the number of hops", keys.name()));
        }
        keys.about("Payload of a full segment, bytes.").whole("mss", &mut self.mss, 16..=2200);
        keys.about("Initial window, segments.").whole("initial_window", &mut self.initial_window, 1..=1000);
        keys.about("Whether each of the first two duplicate ACKs releases a new segment (RFC 3042).")
            .switch("limited_transmit", &mut self.limited_transmit);
        keys.about(
            "Whether slow start ends when round trips grow, before queues overflow (HyStart++, RFC 9406).",
        )
        .switch("hystart", &mut self.hystart);
        keys.about("Whether the window grows by the bytes that ACKs deliver, not by their number (RFC 3465 without its limit).")
            .switch("byte_counting", &mut self.byte_counting);
        let timers =
            [("impatient", PartialAckTimer::Impatient), ("slow-but-steady", PartialAckTimer::SlowButSteady)];
        keys.about(
            "Which partial ACKs restart the timer during NewReno's fast recovery: the first, or \
             all.",
        )
        .word("recovery", &mut self.newreno.timer, &timers);
        keys.about("Whether small segments are delayed while data is outstanding (Nagle).")
            .switch("nagle", &mut self.nagle);
    }

    fn timer_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Retransmission timeout before the first sample, s.").seconds(
            "rto_initial",
            &mut self.rto.initial,
            TIMEOUT,
        );
        keys.about("Shortest retransmission timeout, s.").seconds("rto_min", &mut self.rto.min, TIMEOUT);
        keys.about("Longest retransmission timeout, s.").seconds("rto_max", &mut self.rto.max, TIMEOUT);
        check_rto(self.rto.min, self.rto.max, keys);
        keys.about("By how much the timeout exceeds the smoothed round trip at least, s.").seconds(
            "rto_margin",
            &mut self.rto.margin,
            MARGIN,
        );
        keys.about("Tick of the clock that measures round-trip times, s.").seconds(
            "tick",
            &mut self.rto.granularity,
            TICK,
        );
        keys.about("Largest backoff factor of the timeout.").whole(
            "backoff_limit",
            &mut self.rto.backoff_limit,
            1..=1_000_000,
        );
        keys.about("The connection is aborted after this many retransmissions in a row.").whole_or_off(
            "max_retries",
            &mut self.max_retries,
            1..=65_535,
        );
    }

    fn ack_keys(&mut self, keys: &mut dyn Visitor) {
        match &mut self.ack_rule {
            AckRule::Delayed(whose) => delayed_ack_key(whose, keys),
            AckRule::Every | AckRule::Dynamic => {
                keys.unavailable("does not delay ACKs, allowed with: +da", &mut |keys| {
                    delayed_ack_key(&mut DelayedAck::Ns2, keys)
                });
            }
        }
        keys.about("Segments that are acknowledged at once when a connection begins.").whole(
            "quick_acks",
            &mut self.quick_acks,
            0..=1000,
        );
        keys.about("Longest delay of an ACK, s.").seconds("ack_delay", &mut self.ack_delay, TIMEOUT);
        let given = keys
            .about(
                "Longest delay of an ACK where segments arrive seldom, s; ack_delay is then the shortest, and ACKs of \
                    duplicates and of what the sender pushes leave at once, as in Linux.",
            )
            .seconds_or_off("ack_delay_max", &mut self.ack_delay_max, TIMEOUT);
        if given && self.ack_delay_max.is_some_and(|most| most < self.ack_delay) {
            keys.refuse("ack_delay_max", "found less than ack_delay, allowed: no less".to_owned());
        }
        keys.about("Whether selective acknowledgement is offered.").switch("sack", &mut self.sack);
        keys.about("Whether packets may be marked in place of being dropped (ECN, RFC 3168); prague always allows it.")
            .switch("ecn", &mut self.ecn);
        keys.about("Whether losses are found by time, with a probe for a lost tail (RACK-TLP, RFC 8985); needs sack.")
            .switch("rack", &mut self.rack);
        if self.rack && !self.sack {
            keys.refuse("rack", "found true, allowed only with sack = true".to_owned());
        }
        self.repair_keys(keys);
        if self.congestion.signals().rates && !self.sack {
            keys.refuse(
                "sack",
                format!("{:?} measures by selective acknowledgements, allowed: true", keys.name()),
            );
        }
        keys.about("Whether timestamps are offered: the tick of their clock, s.").seconds_or_off(
            "timestamps",
            &mut self.timestamps,
            TICK,
        );
        if self.is_adtcp() && self.timestamps.is_none() {
            keys.refuse(
                "timestamps",
                format!("{:?} measures by timestamps, allowed: the tick of their clock", keys.name()),
            );
        }
    }

    fn repair_keys(&mut self, keys: &mut dyn Visitor) {
        let fields = [
            (
                "all_rtt",
                "Whether what SACK reports is a sample of the round trip as well, and the handshake one of the shortest, \
                    as in Linux; only with rack.",
                &mut self.all_rtt,
            ),
            (
                "prr",
                "Whether the window shrinks segment by segment during fast recovery (PRR, RFC 9937); only with rack, and \
                    not under bbr.",
                &mut self.prr,
            ),
            (
                "undo",
                "Whether reductions of the window that prove unnecessary are undone: by reports of duplicates (RFC 3708), \
                    timestamps (RFC 4015), or what arrives after a timeout (RFC 5682); only with rack.",
                &mut self.undo,
            ),
        ];
        for (name, about, field) in fields {
            // Presets have them on, and without rack they have no effect.
            if keys.about(about).switch(name, field) && *field && !self.rack {
                keys.refuse(name, "found true, allowed only with rack = true".to_owned());
            }
        }
    }

    fn standby_keys(&mut self, keys: &mut dyn Visitor) {
        let is_adtcp = self.is_adtcp();
        match &mut self.elfn {
            Some(standby) => {
                probing_keys(standby, keys);
                restoring_keys(standby, keys);
            }
            None if is_adtcp => {
                probing_keys(&mut self.adtcp.disconnected, keys);
                let reason = "does not use notices, allowed with: elfn, or +elfn after another TCP kind";
                keys.unavailable(reason, &mut |keys| restoring_keys(&mut Standby::elfn(), keys));
            }
            None => keys.unavailable("does not use notices, allowed with: +elfn", &mut |keys| {
                probing_keys(&mut Standby::elfn(), keys);
                restoring_keys(&mut Standby::elfn(), keys);
            }),
        }
    }

    fn adtcp_keys(&mut self, keys: &mut dyn Visitor) {
        if self.is_adtcp() {
            identification_keys(&mut self.adtcp, keys);
        } else {
            let mut other = AdtcpConfig::PAPER;
            keys.unavailable("does not identify network states, allowed with: adtcp", &mut |keys| {
                identification_keys(&mut other, keys)
            });
        }
    }

    fn pacing_keys(&mut self, keys: &mut dyn Visitor) {
        match &mut self.pacing {
            Some(pacing) => pacing_keys(pacing, keys),
            None => {
                let mut other = Pacing::new(PacingConfig::new(BitRate(0)));
                keys.unavailable(PacingConfig::REASON, &mut |keys| pacing_keys(&mut other, keys));
            }
        }
    }
}

fn delayed_ack_key(whose: &mut DelayedAck, keys: &mut dyn Visitor) {
    let words = [("ns2", DelayedAck::Ns2), ("linux", DelayedAck::Linux)];
    keys.about(
        "Whose delayed ACKs, if the kind delays them: ns2 acknowledges every second segment, \
            linux every one if window_max is 2 or less.",
    )
    .word("delack", whose, &words);
}

fn probing_keys(standby: &mut Standby, keys: &mut dyn Visitor) {
    let value = match standby.interval {
        ProbeInterval::Fixed(time) => Value::Number(time.as_secs_f64()),
        ProbeInterval::RoundTrips => Value::Word("rtt"),
    };
    let help =
        "Time between probes on stand-by, s, or \"rtt\": four smoothed round-trip times, from 0.2 to 2 s.";
    let allowed = Allowed::Number(*TIMEOUT.start(), *TIMEOUT.end());
    let key =
        Key { name: "probe_interval", help, allowed, or: Some("rtt"), value: Some(value), required: false };
    match keys.key(&key) {
        Some(Value::Number(seconds)) => {
            standby.interval = ProbeInterval::Fixed(Duration::from_secs_f64(seconds))
        }
        Some(_) => standby.interval = ProbeInterval::RoundTrips,
        None => {}
    }
    keys.about("The connection is aborted after this many probes without an answer.").whole_or_off(
        "probe_max",
        &mut standby.max_probes,
        1..=65_535,
    );
}

fn restoring_keys(standby: &mut Standby, keys: &mut dyn Visitor) {
    let probes = [("first", Probe::First), ("lowest-lost", Probe::LowestLost)];
    keys.about(
        "What a probe carries: the first unacknowledged segment, or the segment with the lowest \
            number among those that notices named.",
    )
    .word("probe", &mut standby.probe, &probes);
    let exits = [("any", Exit::Any), ("new", Exit::New)];
    keys.about("Which ACK ends stand-by: any, or one of new data.").word("exit", &mut standby.exit, &exits);
    let restores = [("keep", Restore::Keep), ("window", Restore::Window), ("rto-window", Restore::RtoWindow)];
    keys.about(
        "What changes when stand-by ends: nothing; the window, to one segment; or also the \
            timeout, to rto_initial.",
    )
    .word("restore", &mut standby.restore, &restores);
}

fn identification_keys(adtcp: &mut AdtcpConfig, keys: &mut dyn Visitor) {
    let identify = [("joint", Identify::Joint), ("idd", Identify::Idd), ("stt", Identify::Stt)];
    keys.about(
        "Which metrics indicate congestion to adtcp: delay differences together with throughput, or \
            one of them alone.",
    )
    .word("identify", &mut adtcp.identify, &identify);
    let density = &mut adtcp.density;
    keys.about(
        "adtcp compares a new sample with this many earlier ones; before that it identifies \
            nothing.",
    )
    .whole("samples", &mut density.samples, 1..=10_000);
    if keys.about("Bins of the histogram in which adtcp ranks a sample: a multiple of 4.").whole(
        "bins",
        &mut density.bins,
        4..=32,
    ) && !density.bins.is_multiple_of(4)
    {
        keys.refuse("bins", format!("found {}, allowed: a multiple of 4", density.bins));
    }
    keys.about("Share of the samples that adtcp counts as high.").thousandths(
        "high",
        &mut density.high,
        0.05..=0.5,
    );
    keys.about("Share of the samples that adtcp counts as low.").thousandths(
        "low",
        &mut density.low,
        0.05..=0.5,
    );
    keys.about(
        "Kind of the TCP option with which adtcp's receiver reports the state; one of those for \
            experiments.",
    )
    .whole("option_kind", &mut adtcp.option_kind, 253..=254);
}

fn pacing_keys(pacing: &mut Pacing, keys: &mut dyn Visitor) {
    let before = pacing.pacer.rules;
    pacing.pacer.keys(keys);
    if pacing.pacer.rules != before {
        pacing.round_trips = Pacing::new(pacing.pacer).round_trips;
    }
    let round_trips = [("net", RoundTrips::Net), ("timed", RoundTrips::Timed), ("echo", RoundTrips::Echo)];
    keys.about(
        "Round-trip times that adaptive pacing uses: those of every ACK of new data without the time for which the \
            receiver held it, those that the retransmission timer measures, or those of every ACK from the \
            departure of the segment that made it.",
    )
    .word("ap_rtt", &mut pacing.round_trips, &round_trips);
    keys.about(
        "Whether round-trip times of segments that were outstanding at a retransmission timeout, \
            but not retransmitted, are used for pacing as well. An outage then slows the sender down for \
            as long as it is in the history.",
    )
    .switch("ap_across_timeouts", &mut pacing.across_timeouts);
    let clocks = [("own", Clock::Own), ("synchronised", Clock::Synchronised)];
    keys.about(
        "Source of the one-way delay for pacing: half of the round-trip time, or the measurement of a \
            receiver whose clock is synchronised; by default as the kind requires.",
    )
    .word("clock", &mut pacing.pacer.clock, &clocks);
}

/// Bounds of a margin of the timeout, s.
const MARGIN: RangeInclusive<f64> = 0.0..=100.0;
/// Bounds of a clock's tick, s.
const TICK: RangeInclusive<f64> = 0.000_001..=10.0;
