//! What ADTCP has beside other TCPs.

use multihop_core::Duration;
use multihop_transport::tcp::{Config, ProbeInterval, Variant};

use super::tcp::{NEWRENO, TcpKind};
use crate::document::Fault;
use crate::tables::TcpTable;
use crate::values::{Share, put};

/// With the constants of ns-2 when the paper was written.
pub(super) const ADTCP: TcpKind = TcpKind { variant: Variant::Adtcp, preset: Config::ns2_2002, ..NEWRENO };

/// Tick of the clock by which ADTCP measures where the preset has no timestamps.
pub(super) const CLOCK: Duration = Duration::from_micros(1);

/// Sets what the table gives; refuses it for other kinds.
pub(super) fn set(config: &mut Config, name: &str, table: &TcpTable, path: &str, faults: &mut Vec<Fault>) {
    if !config.is_adtcp() {
        return refuse(name, table, path, faults);
    }
    put(&mut config.adtcp.identify, table.identify.map(|word| word.0));
    let density = &mut config.adtcp.density;
    put(&mut density.samples, table.samples.map(|n| n.to()));
    put(&mut density.bins, table.bins.map(|n| n.to()));
    put(&mut density.high, table.high.map(Share::thousandths));
    put(&mut density.low, table.low.map(Share::thousandths));
    if !density.bins.is_multiple_of(4) {
        let message = format!("found {}, allowed: a multiple of 4", density.bins);
        faults.push(Fault::at_key(format!("{path}.bins"), message));
    }
    put(&mut config.adtcp.option_kind, table.option_kind.map(|n| n.to()));
    put(&mut config.adtcp.disconnected.interval, table.probe_interval.map(ProbeInterval::from));
    put(&mut config.adtcp.disconnected.max_probes, table.probe_max.map(|limit| limit.0.map(|n| n.to())));
    if config.timestamps.is_none() {
        let message = format!("{name:?} measures by timestamps, allowed: the tick of their clock");
        faults.push(Fault::at_key(format!("{path}.timestamps"), message));
    }
}

fn refuse(name: &str, table: &TcpTable, path: &str, faults: &mut Vec<Fault>) {
    let given = [
        ("identify", table.identify.is_some()),
        ("samples", table.samples.is_some()),
        ("bins", table.bins.is_some()),
        ("high", table.high.is_some()),
        ("low", table.low.is_some()),
        ("option_kind", table.option_kind.is_some()),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = format!("{name:?} identifies nothing, allowed with: adtcp");
        faults.push(Fault::at_key(format!("{path}.{key}"), message));
    }
}
