//! Events of the log about neighbours and routes.
//!
//! # Format
//!
//! | message | level | fields |
//! |---|---|---|
//! | `daemon started` | info | `protocol`, `family` |
//! | `daemon ended` | info | `signal` |
//! | `interface opened`, `interface closed` | info | `interface`, `address` |
//! | `neighbour up`, `neighbour down` | info | `address`, `interface`: neighbour and host hear each other, or no longer do |
//! | `route added`, `route changed` | info | `to`, `via`, `interface`, `hops` |
//! | `route removed` | info | `to` |
//! | `path reserved` | info | `flow`, `routers` |
//! | `path released` | info | `flow` |
//! | `configuration reloaded` | info | |
//! | `configuration not reloaded: the daemon keeps the earlier one` | warn | `error` |
//! | `peer refused` | warn; info if `unproven` | `address`, `reason` as in `datagrams` |
//!
//! The log has at most 10 lines a minute for each reason of `peer refused`, and 60 for changes of neighbours,
//! routes and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use multihop_core::Instant;

use super::Daemon;
use crate::prefix::Prefix;
use crate::router::Path;

/// State that the log has reported.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Neighbours that hear this host, with the number of the interface.
    neighbours: BTreeSet<(IpAddr, u32)>,
    routes: BTreeMap<Prefix, Path>,
}

impl Daemon {
    /// Logs changes of neighbours and routes.
    pub(super) fn watch(&mut self, now: Instant, routes: &BTreeMap<Prefix, Path>) {
        if !tracing::enabled!(tracing::Level::INFO) {
            return;
        }
        let symmetric: BTreeSet<_> =
            self.router.olsr_mut().map(|agent| agent.neighbours().collect()).unwrap_or_default();
        let is_up = |name, address| {
            // AODV has a route to every neighbour that hears this host.
            symmetric.contains(&name)
                || routes.get(&Prefix::host(address)).is_some_and(|path| path.via.is_none())
        };
        let heard = self.router.heard(now);
        let up = heard.filter(|one| is_up(one.name, one.address)).map(|one| (one.address, one.interface));
        let mut up: BTreeSet<_> = up.collect();
        let extension = self.router.extension_neighbours().into_iter();
        let used = extension.filter(|(_, one)| one.cost.is_some());
        up.extend(used.map(|(index, one)| (one.address.into(), index)));
        let name = |index: u32| self.name(index);
        let limit = MAX_LINES;
        for (address, interface) in up.difference(&self.watched.neighbours) {
            tracing::info!(limit, %address, interface = name(*interface), "neighbour up");
        }
        for (address, interface) in self.watched.neighbours.difference(&up) {
            tracing::info!(limit, %address, interface = name(*interface), "neighbour down");
        }
        for (to, path) in routes {
            let (via, interface, hops) =
                (path.via.map(tracing::field::display), name(path.interface), path.hops);
            match self.watched.routes.get(to) {
                None => tracing::info!(limit, %to, via, interface, hops, "route added"),
                Some(old) if (old.via, old.interface) != (path.via, path.interface) => {
                    tracing::info!(limit, %to, via, interface, hops, "route changed");
                }
                Some(_) => {}
            }
        }
        for to in self.watched.routes.keys().filter(|to| !routes.contains_key(to)) {
            tracing::info!(limit, %to, "route removed");
        }
        self.watched = Watched { neighbours: up, routes: routes.clone() };
    }
}

/// Largest number of log lines per minute for each kind of change.
const MAX_LINES: u64 = 60;
