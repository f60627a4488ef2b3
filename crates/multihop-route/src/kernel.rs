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
    /// Makes the kernel's routes these, those of the nearest nodes first. Routes that are no longer wanted remain if
    /// `keep`. Whether something is left to do: a flood of claims must not keep the daemon from its neighbours for long.
    pub(crate) fn update(&mut self, wanted: &BTreeMap<Prefix, Path>, config: &Config, keep: bool) -> bool {
        // A replaced route has the same table and priority as before; others are removed.
        let place = (config.table, config.priority);
        let goes = |to: &Prefix, route: &Route| match wanted.get(to) {
            None => !keep,
            Some(_) => (route.table, route.priority) != place,
        };
        let mut left = MOST_AT_ONCE;
        let gone: Vec<_> = self.routes.extract_if(.., |to, route| goes(to, route)).take(left).collect();
        left -= gone.len();
        for (_, route) in gone {
            self.count(remove_route(&route, PROTOCOL), "remove", &route);
        }
        let of = |(to, path): (&Prefix, &Path)| {
            let (via, interface) = (path.via, path.interface);
            let route = Route { destination: to.parts(), via, interface, table: place.0, priority: place.1 };
            (path.hops, *to, route)
        };
        let new = |(_, to, route): &(u8, Prefix, Route)| self.routes.get(to) != Some(route);
        let mut new: Vec<_> = wanted.iter().map(of).filter(new).collect();
        new.sort_unstable_by_key(|(hops, ..)| *hops);
        let is_part = new.len() > left;
        for (_, to, route) in new.into_iter().take(left) {
            if self.count(add_route(&route, PROTOCOL), "add", &route) {
                self.routes.insert(to, route);
            }
        }
        is_part || left == 0
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

/// Changes in one go: a few milliseconds.
const MOST_AT_ONCE: usize = 256;
