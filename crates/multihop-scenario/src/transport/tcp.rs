//! TCP: what its kinds differ in, and its parameters.

use multihop_transport::pacing::Clock;
use multihop_transport::tcp::{
    AckRule, Config, DelayedAck, Pacing, ProbeInterval, Restore, Standby, Variant,
};

use super::{adtcp, pacing};
use crate::document::Fault;
use crate::model::Protocol;
use crate::tables::{PacingTable, TcpTable};
use crate::values::{put, words};

/// One kind of TCP.
#[derive(Clone, Copy)]
pub(crate) struct TcpKind {
    pub(super) variant: Variant,
    pub(super) ack: Ack,
    pub(super) window: Window,
    /// Whether it stands by when told that a link failed, and what that changes.
    pub(super) elfn: Option<Restore>,
    /// Adaptive pacing by whose clock.
    pub(super) pacing: Option<Clock>,
    /// Whose constants hold if the scenario does not say.
    pub(super) preset: fn() -> Config,
}

/// The ACK rule of a kind, but for whose delayed ACKs.
#[derive(Clone, Copy)]
pub(super) enum Ack {
    Every,
    Delayed,
    Dynamic,
}

/// The clamp of a kind, where it has one.
#[derive(Clone, Copy)]
pub(super) enum Window {
    OfPreset,
    Fixed(u16),
    ByHops,
}

pub(super) const NEWRENO: TcpKind = TcpKind {
    variant: Variant::NewReno,
    ack: Ack::Every,
    window: Window::OfPreset,
    elfn: None,
    pacing: None,
    preset: Config::default,
};

pub(super) const RENO: TcpKind = TcpKind { variant: Variant::Reno, ..NEWRENO };

pub(super) const CUBIC: TcpKind = TcpKind { variant: Variant::Cubic, ..NEWRENO };

pub(super) const VEGAS: TcpKind = TcpKind { variant: Variant::Vegas, ..NEWRENO };

pub(super) const WESTWOOD: TcpKind = TcpKind { variant: Variant::Westwood, ..NEWRENO };

pub(super) const CLAMPED_BY_HOPS: TcpKind = TcpKind { window: Window::ByHops, ..NEWRENO };

/// Reno with explicit link failure notification.
pub(super) const fn elfn(restore: Restore) -> TcpKind {
    TcpKind { elfn: Some(restore), ..RENO }
}

pub(super) const fn delayed(kind: TcpKind) -> TcpKind {
    TcpKind { ack: Ack::Delayed, ..kind }
}

pub(super) const fn paced(kind: TcpKind, clock: Clock) -> TcpKind {
    TcpKind { pacing: Some(clock), ..kind }
}

/// With delayed ACKs.
pub(super) const fn clamped(segments: u16) -> TcpKind {
    TcpKind { window: Window::Fixed(segments), ..delayed(NEWRENO) }
}

impl TcpKind {
    pub(super) fn is_adtcp(&self) -> bool {
        self.variant == Variant::Adtcp
    }

    /// On top of its preset alone.
    pub(super) fn protocol(&self) -> Protocol {
        Protocol::Tcp { config: Box::new(self.config(&(self.preset)())) }
    }

    fn config(&self, preset: &Config) -> Config {
        let whose = match preset.ack_rule {
            AckRule::Delayed(whose) => whose,
            AckRule::Every | AckRule::Dynamic => DelayedAck::Ns2,
        };
        let ack_rule = match self.ack {
            Ack::Every => AckRule::Every,
            Ack::Delayed => AckRule::Delayed(whose),
            Ack::Dynamic => AckRule::Dynamic,
        };
        let window_max = match self.window {
            Window::OfPreset | Window::ByHops => preset.window_max,
            Window::Fixed(segments) => segments,
        };
        let elfn = self.elfn.map(|restore| Standby { restore, ..Standby::elfn() });
        let window_by_hops = matches!(self.window, Window::ByHops);
        let timestamps = preset.timestamps.or(self.is_adtcp().then_some(adtcp::CLOCK));
        let pacing = self.pacing.map(|clock| Pacing::new(pacing::defaults(clock)));
        Config {
            variant: self.variant,
            ack_rule,
            window_max,
            window_by_hops,
            elfn,
            timestamps,
            pacing,
            ..preset.clone()
        }
    }
}

/// A kind on top of a preset, with the table's own parameters on top of both.
pub(super) fn configured(
    name: &str,
    kind: &TcpKind,
    (table, pacing): (&TcpTable, &PacingTable),
    path: &str,
    faults: &mut Vec<Fault>,
) -> Protocol {
    let preset = table.preset.map_or(kind.preset, |preset| preset.0);
    let mut config = kind.config(&preset());
    set(&mut config, table);
    if matches!(kind.window, Window::ByHops) && table.window_max.is_some() {
        let message = format!("{name:?} sets the window by the number of hops");
        faults.push(Fault::at_key(format!("{path}.window_max"), message));
    }
    if let (Some(delack), AckRule::Delayed(whose)) = (table.delack, &mut config.ack_rule) {
        *whose = delack.0;
    } else if table.delack.is_some() {
        let message = format!("{name:?} does not delay ACKs, allowed with: +da");
        faults.push(Fault::at_key(format!("{path}.delack"), message));
    }
    match &mut config.elfn {
        Some(plan) => set_standby(plan, table),
        None => refuse_standby(name, config.is_adtcp(), table, path, faults),
    }
    adtcp::set(&mut config, name, table, path, faults);
    if config.rto.min > config.rto.max {
        let message = format!("{} is more than rto_max, {}", config.rto.min, config.rto.max);
        faults.push(Fault::at_key(format!("{path}.rto_min"), message));
    }
    pace(&mut config, name, (table, pacing), path, faults);
    Protocol::Tcp { config: Box::new(config) }
}

fn pace(
    config: &mut Config,
    name: &str,
    (table, keys): (&TcpTable, &PacingTable),
    path: &str,
    faults: &mut Vec<Fault>,
) {
    let more = [
        ("ap_rtt", table.ap_rtt.is_some()),
        ("ap_across_timeouts", table.ap_across_timeouts.is_some()),
        ("clock", table.clock.is_some()),
    ];
    let Some(pacing) = &mut config.pacing else {
        return pacing::refuse(name, &more, keys, path, faults);
    };
    put(&mut pacing.round_trips, table.ap_rtt.map(|word| word.0));
    put(&mut pacing.across_timeouts, table.ap_across_timeouts);
    put(&mut pacing.pacer.clock, table.clock.map(|word| word.0));
    pacing::set(&mut pacing.pacer, keys);
}

fn set(config: &mut Config, table: &TcpTable) {
    put(&mut config.window_max, table.window_max.map(|n| n.to()));
    put(&mut config.mss, table.mss.map(|n| n.to()));
    put(&mut config.initial_window, table.initial_window.map(|n| n.to()));
    put(&mut config.handshake, table.handshake);
    put(&mut config.rto.initial, table.rto_initial.map(|time| time.duration()));
    put(&mut config.rto.min, table.rto_min.map(|time| time.duration()));
    put(&mut config.rto.max, table.rto_max.map(|time| time.duration()));
    put(&mut config.rto.granularity, table.tick.map(|time| time.duration()));
    put(&mut config.rto.backoff_limit, table.backoff_limit.map(|n| n.to()));
    put(&mut config.max_retries, table.max_retries.map(|limit| limit.0.map(|n| n.to())));
    put(&mut config.limited_transmit, table.limited_transmit);
    put(&mut config.newreno.timer, table.recovery.map(|word| word.0));
    put(&mut config.ack_delay, table.ack_delay.map(|time| time.duration()));
    put(&mut config.sack, table.sack);
    put(&mut config.timestamps, table.timestamps.map(|tick| tick.0.map(|tick| tick.duration())));
    put(&mut config.nagle, table.nagle);
    put(&mut config.recv_buffer, table.recv_buffer.map(|n| Some(n.to())));
}

fn set_standby(plan: &mut Standby, table: &TcpTable) {
    put(&mut plan.interval, table.probe_interval.map(ProbeInterval::from));
    put(&mut plan.probe, table.probe.map(|word| word.0));
    put(&mut plan.exit, table.exit.map(|word| word.0));
    put(&mut plan.restore, table.restore.map(|word| word.0));
    put(&mut plan.max_probes, table.probe_max.map(|limit| limit.0.map(|n| n.to())));
}

fn refuse_standby(name: &str, is_adtcp: bool, table: &TcpTable, path: &str, faults: &mut Vec<Fault>) {
    let given = [
        ("probe_interval", table.probe_interval.is_some() && !is_adtcp),
        ("probe", table.probe.is_some()),
        ("exit", table.exit.is_some()),
        ("restore", table.restore.is_some()),
        ("probe_max", table.probe_max.is_some() && !is_adtcp),
    ];
    let allowed = if is_adtcp { "elfn, or +elfn after another TCP kind" } else { "+elfn" };
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = format!("{name:?} takes no notices, allowed with: {allowed}");
        faults.push(Fault::at_key(format!("{path}.{key}"), message));
    }
}

words! {
    /// Whose constants a TCP starts from.
    Preset(fn() -> Config) {
        "rfc" => Config::rfc,
        "ns2-1999" => Config::ns2_1999,
        "ns2-2002" => Config::ns2_2002,
        "ns2-2005" => Config::ns2_2005,
        "ns2-2.30" => Config::ns2_2_30,
        "linux" => Config::linux,
    }
}
