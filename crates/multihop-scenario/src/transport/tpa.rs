//! TPA: what its kinds differ in, and its parameters.

use multihop_transport::pacing::Clock;
use multihop_transport::tpa::{AckPolicy, Config};

use super::pacing;
use crate::document::Fault;
use crate::model::Protocol;
use crate::tables::{PacingTable, TpaTable};
use crate::values::{Gain, put, words};

/// One kind of TPA.
#[derive(Clone, Copy)]
pub(crate) struct TpaKind {
    /// `cwnd_max` and who is acknowledged when; those of the profile if not said.
    window: Option<(u8, AckPolicy)>,
    paced: bool,
}

/// TPA as its profile has it.
pub(super) const TPA: TpaKind = TpaKind { window: None, paced: false };

/// An ACK for every other segment.
pub(super) const fn plain(cwnd_max: u8) -> TpaKind {
    TpaKind { window: Some((cwnd_max, AckPolicy::EveryTwo)), ..TPA }
}

/// TPA*: an ACK for every window.
pub(super) const fn star(cwnd_max: u8) -> TpaKind {
    TpaKind { window: Some((cwnd_max, AckPolicy::EveryWindow)), ..TPA }
}

impl TpaKind {
    /// With adaptive pacing: TPA-AP.
    pub(super) const fn paced(self) -> Self {
        Self { paced: true, ..self }
    }

    pub(super) const fn is_paced(self) -> bool {
        self.paced
    }

    /// On top of `profile` alone.
    pub(super) fn protocol(&self, profile: &Config) -> Protocol {
        Protocol::Tpa { config: Box::new(self.config(profile)) }
    }

    fn config(&self, profile: &Config) -> Config {
        let (cwnd_max, ack_policy) = self.window.unwrap_or((profile.cwnd_max, profile.ack_policy));
        let pacing = self.paced.then(|| pacing::defaults(Clock::Own));
        Config { cwnd_max, ack_policy, pacing, ..profile.clone() }
    }
}

/// A kind on top of a profile, with the table's own parameters on top of both.
pub(super) fn configured(
    name: &str,
    kind: &TpaKind,
    (table, keys): (&TpaTable, &PacingTable),
    path: &str,
    faults: &mut Vec<Fault>,
) -> Protocol {
    let mut config = kind.config(&table.profile.0());
    set(&mut config, table);
    set_timers(&mut config, table);
    if config.cwnd_max > config.block_size {
        let (found, least) = (config.block_size, config.cwnd_max);
        let message = format!("found {found}, allowed: at least cwnd_max, {least}");
        faults.push(Fault::at_key(format!("{path}.block_size"), message));
    }
    if config.rto.min > config.rto.max {
        let message = format!("{} is more than rto_max, {}", config.rto.min, config.rto.max);
        faults.push(Fault::at_key(format!("{path}.rto_min"), message));
    }
    match &mut config.pacing {
        Some(config) => pacing::set(config, keys),
        None => pacing::refuse(name, &[], keys, path, faults),
    }
    Protocol::Tpa { config: Box::new(config) }
}

fn set(config: &mut Config, table: &TpaTable) {
    put(&mut config.cwnd_max, table.cwnd_max.map(|n| n.to()));
    put(&mut config.ack_policy, table.ack_policy.map(|word| word.0));
    put(&mut config.ack_interval, table.ack_interval.map(|time| time.duration()));
    put(&mut config.ack_block_end, table.ack_block_end);
    put(&mut config.block_size, table.block_size.map(|n| n.to()));
    put(&mut config.fill, table.fill.map(|word| word.0));
    put(&mut config.block_fill, table.block_fill.map(|time| time.duration()));
    put(&mut config.mss, table.mss.map(|n| n.to()));
    put(&mut config.recv_buffer, table.recv_buffer.map(|n| Some(n.to())));
    put(&mut config.loss_by_txseq, table.loss_by_txseq.map(|limit| limit.0.map(|n| n.to())));
    put(&mut config.notices, table.notices);
    put(&mut config.route_notices, table.route_notices);
    put(&mut config.th_cong, table.th_cong.map(|n| n.to()));
    put(&mut config.th_route, table.th_route.map(|n| n.to()));
    put(&mut config.th_ack, table.th_ack.map(|n| n.to()));
}

fn set_timers(config: &mut Config, table: &TpaTable) {
    put(&mut config.rto.initial, table.rto_initial.map(|time| time.duration()));
    put(&mut config.rto.min, table.rto_min.map(|time| time.duration()));
    put(&mut config.rto.max, table.rto_max.map(|time| time.duration()));
    put(&mut config.rto.freeze_max, table.freeze_rto_max.map(|time| time.0.map(|time| time.duration())));
    put(&mut config.rto.covers_hold, table.rto_covers_hold);
    put(&mut config.rto.th_rc, table.th_rc.map(|n| n.to()));
    put(&mut config.rto.n_rc, table.n_rc.map(|n| n.to()));
    put(&mut config.rto.usual.g, table.g.map(Gain::thousandths));
    put(&mut config.rto.usual.h, table.h.map(Gain::thousandths));
    put(&mut config.rto.quick.g, table.g1.map(Gain::thousandths));
    put(&mut config.rto.quick.h, table.h1.map(Gain::thousandths));
    put(&mut config.silence_max, table.silence_max.map(|time| time.duration()));
    put(&mut config.syn_wait, table.syn_wait.map(|time| time.duration()));
    put(&mut config.syn_retries, table.syn_retries.map(|limit| limit.0.map(|n| n.to())));
    put(&mut config.linger, table.linger.map(|time| time.duration()));
    put(&mut config.keepalive, table.keepalive.map(|time| time.0.map(|time| time.duration())));
    put(&mut config.user_timeout, table.user_timeout.map(|time| time.0.map(|time| time.duration())));
}

words! {
    /// Whose constants a TPA starts from.
    Profile(fn() -> Config) {
        "paper" => Config::paper,
        "net" => Config::net,
    }
}
