//! Adaptive pacing: its keys, for every family that can be paced.

use multihop_core::BitRate;
use multihop_transport::pacing::{Clock, PacingConfig};

use crate::document::Fault;
use crate::tables::PacingTable;
use crate::values::put;

/// What the TCP-AP paper settles on, at 2 Mb/s; the driver, which knows the radio, puts its rate in the
/// place of that.
pub(super) fn defaults(clock: Clock) -> PacingConfig {
    PacingConfig { clock, ..PacingConfig::new(BitRate(2_000_000)) }
}

pub(super) fn set(config: &mut PacingConfig, table: &PacingTable) {
    put(&mut config.alpha, table.alpha.map(|alpha| alpha.thousandths()));
    put(&mut config.history, table.history.map(|n| n.to()));
    put(&mut config.reuse_hops, table.reuse_hops.map(|n| n.to()));
    put(&mut config.cov, table.cov.map(|word| word.0));
    put(&mut config.k, table.pacing_k.map(|n| n.to()));
    put(&mut config.k_mean, table.pacing_k_mean.map(|word| word.0));
}

/// The kind is not paced: none of the keys may be there, nor those of `more` that are.
pub(super) fn refuse(
    name: &str,
    more: &[(&str, bool)],
    table: &PacingTable,
    path: &str,
    faults: &mut Vec<Fault>,
) {
    let keys = [
        ("alpha", table.alpha.is_some()),
        ("history", table.history.is_some()),
        ("reuse_hops", table.reuse_hops.is_some()),
        ("cov", table.cov.is_some()),
        ("pacing_k", table.pacing_k.is_some()),
        ("pacing_k_mean", table.pacing_k_mean.is_some()),
    ];
    for (key, _) in keys.iter().chain(more).filter(|(_, given)| *given) {
        let message = format!("{name:?} is not paced, allowed with: +ap");
        faults.push(Fault::at_key(format!("{path}.{key}"), message));
    }
}
