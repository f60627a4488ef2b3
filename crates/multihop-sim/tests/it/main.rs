//! Tests of the crate through its public API.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::float_cmp, reason = "compared values are exact")]

mod adtcp;
mod aggregation;
mod airtime;
mod apdr;
mod arrivals;
mod behaviour;
mod bianchi;
mod budgets;
mod capture;
mod captures_power;
mod captures_radios;
mod captures_routing;
mod chain;
mod determinism;
mod elfn;
mod extension;
mod interactive;
mod live;
mod live_radios;
mod measured;
mod mesh;
mod message_flows;
mod metrics;
mod mobile;
mod notes;
mod notices;
mod oracle;
mod pacing;
mod pinned;
mod power;
mod queues;
mod radios;
mod rates;
mod routing;
mod spread;
mod stale;
mod stations;
mod support;
mod sweep;
mod timelines;
mod tpa;
mod transfers;
mod turns;
mod wires;
