//! The routes of the kernel, kept equal to those of the router.

use std::collections::BTreeMap;
use std::io;

use multihop_netlink::{Route, add_route, remove_route, routes};

use crate::config::{Config, Prefix};
use crate::router::Path;

/// The protocol number of this daemon's routes: `ip route show proto 77`.
pub const PROTOCOL: u8 = 77;

/// The routes that are in the kernel's tables.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    routes: BTreeMap<Prefix, Route>,
    /// Changes that the kernel refused.
    pub(crate) refused: u64,
    /// Changes made.
    pub(crate) changes: u64,
}

impl Installed {
    /// Makes the kernel's routes these. Routes that are no longer wanted remain if `keep`.
    pub(crate) fn update(&mut self, wanted: &BTreeMap<Prefix, Path>, config: &Config, keep: bool) {
        let of = |(to, path): (&Prefix, &Path)| {
            let (via, interface) = (path.via, path.interface);
            let (table, priority) = (config.table, config.priority);
            (*to, Route { destination: to.parts(), via, interface, table, priority })
        };
        let wanted: BTreeMap<_, _> = wanted.iter().map(of).collect();
        // A replaced route has the same table and priority as before; others are removed.
        let same_place = |a: &Route, b: &Route| (a.table, a.priority) == (b.table, b.priority);
        let goes = |to: &Prefix, route: &Route| match wanted.get(to) {
            None => !keep,
            Some(new) => !same_place(route, new),
        };
        let gone: Vec<_> = self.routes.extract_if(.., |to, route| goes(to, route)).collect();
        for (_, route) in gone {
            self.count(remove_route(&route, PROTOCOL), "remove", &route);
        }
        // A neighbour must be reachable before what is behind it; the kernel does not require it, packets do.
        for (to, route) in wanted {
            if self.routes.get(&to) != Some(&route) && self.count(add_route(&route, PROTOCOL), "add", &route)
            {
                self.routes.insert(to, route);
            }
        }
    }

    fn count(&mut self, done: io::Result<()>, what: &str, route: &Route) -> bool {
        self.changes += 1;
        if let Err(error) = &done {
            self.refused += 1;
            let (address, bits) = route.destination;
            tracing::warn!("cannot {what} the route to {address}/{bits}: {error}");
        }
        done.is_ok()
    }

    /// Asks the kernel which routes are left: it removes those of an interface that goes down.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let left = routes(PROTOCOL)?;
        self.routes.retain(|_, route| left.contains(route));
        Ok(())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }
}

/// Removes all routes with this daemon's protocol number; returns how many there were.
pub fn flush() -> io::Result<usize> {
    let left = routes(PROTOCOL)?;
    left.iter().try_for_each(|route| remove_route(route, PROTOCOL))?;
    Ok(left.len())
}
