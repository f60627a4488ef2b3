//! Keeps the routes of the kernel equal to those of the router.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

use multihop_linux::netlink::{Route, add_route, find_link_address, remove_route, routes};

use crate::budget::take_turns;
use crate::config::Config;
use crate::prefix::Prefix;
use crate::router::Path;

/// The protocol number of this daemon's routes: `ip route show proto 77`.
pub const PROTOCOL: u8 = 77;

/// The routes of one family that are in the kernel's tables.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    routes: BTreeMap<Prefix, Route>,
    /// Routes that the kernel refuses, for example a route through an address of this host. The daemon tries
    /// them again when an interface changes.
    impossible: BTreeSet<Route>,
    /// Changes that the kernel refused.
    pub(crate) refused: u64,
    /// Number of changes made to the kernel's routes.
    pub(crate) changes: u64,
}

impl Installed {
    /// Makes the kernel's routes equal to `wanted`, routes to the nearest nodes first. Routes that are no
    /// longer wanted remain if `keep` is set. Returns whether changes remain to be made: a flood of claimed
    /// routes must not keep the daemon from its neighbours for long. If many changes wait, additions and
    /// removals share each round equally, and neighbours take turns.
    pub(crate) fn update(&mut self, wanted: &BTreeMap<Prefix, Path>, config: &Config, keep: bool) -> bool {
        // A replaced route has the same table and priority as before; others are removed.
        let place = (config.table, config.priority);
        let goes = |to: &Prefix, route: &Route| match wanted.get(to) {
            None => !keep,
            Some(_) => (route.table, route.priority) != place,
        };
        let refused = self.refused;
        let of =
            |(to, path): (&Prefix, &Path)| ((path.hops, path.cost), *to, kernel_route(*to, path, config));
        let is_new = |(_, to, route): &(Distance, Prefix, Route)| {
            self.routes.get(to) != Some(route) && !self.impossible.contains(route)
        };
        let mut new: Vec<_> = wanted.iter().map(of).filter(is_new).collect();
        new.sort_unstable_by_key(|(distance, ..)| *distance);
        let mut gone: Vec<_> = self.routes.iter().filter(|(to, route)| goes(to, route)).collect();
        let left = gone.len() + new.len();
        if left > MAX_AT_ONCE {
            take_turns(&mut new, |(.., route)| neighbour(route));
            take_turns(&mut gone, |(_, route)| neighbour(route));
        }
        let gone_at_once = (MAX_AT_ONCE / 2).max(MAX_AT_ONCE.saturating_sub(new.len()));
        let gone: Vec<_> = gone.into_iter().take(gone_at_once).map(|(to, route)| (*to, *route)).collect();
        let new_at_once = MAX_AT_ONCE - gone.len();
        for (to, route) in gone {
            self.routes.remove(&to);
            self.count(remove_route(&route, PROTOCOL), "remove", &route, refused);
        }
        for (_, to, route) in new.into_iter().take(new_at_once) {
            // A route whose table or priority has changed is removed first.
            if self.routes.get(&to).is_some_and(|old| (old.table, old.priority) != place) {
                continue;
            }
            if self.count(add_route(&route, PROTOCOL), "add", &route, refused) {
                resolve(&route);
                self.routes.insert(to, route);
            } else {
                if self.impossible.len() >= MAX_IMPOSSIBLE {
                    self.impossible.clear();
                }
                self.impossible.insert(route);
            }
        }
        left > MAX_AT_ONCE
    }

    /// Returns whether a change was made. Only the first refused change since there were `before` is logged,
    /// so that neighbours cannot fill the log.
    fn count(&mut self, done: io::Result<()>, what: &str, route: &Route, before: u64) -> bool {
        self.changes += 1;
        if let Err(error) = &done {
            if self.refused == before {
                let (address, bits) = route.destination;
                tracing::debug!("cannot {what} the route to {address}/{bits}: {error}");
            }
            self.refused += 1;
        }
        done.is_ok()
    }

    /// Whether the kernel has acknowledged the route along a path, and has not removed it since.
    pub(crate) fn has(&self, to: Prefix, path: &Path, config: &Config) -> bool {
        self.routes.get(&to) == Some(&kernel_route(to, path, config))
    }

    /// Reads the kernel's routes, because the kernel removes the routes of an interface that goes down.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let left = routes(PROTOCOL)?;
        self.impossible.clear();
        self.routes.retain(|_, route| left.contains(route));
        Ok(())
    }

    /// Number of installed routes.
    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }
}

/// The kernel's route along a path.
fn kernel_route(to: Prefix, path: &Path, config: &Config) -> Route {
    let Path { via, interface, source, .. } = *path;
    let (table, priority) = (config.table, config.priority);
    Route { destination: to.parts(), via, interface, table, priority, source }
}

/// Hops and cost of a path.
type Distance = (Option<u8>, Option<u64>);

/// The neighbour over which a route leads.
fn neighbour(route: &Route) -> IpAddr {
    route.via.unwrap_or(route.destination.0)
}

/// Makes the kernel resolve the link address of a neighbour to which a route leads. Otherwise the first packets would wait, for a
/// second if a request is lost.
pub(crate) fn resolve(route: &Route) {
    if route.via.is_none()
        && let Err(error) = find_link_address(route.interface, route.destination.0)
    {
        tracing::debug!("cannot look up the link address of {}: {error}", route.destination.0);
    }
}

/// Largest number of route changes in one round, which takes a few milliseconds.
const MAX_AT_ONCE: usize = 256;
const MAX_IMPOSSIBLE: usize = 16_384;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use multihop_linux::netlink::interfaces;
    use multihop_linux::netns::Namespace;

    use super::*;

    #[test]
    fn routes_that_the_kernel_refuses_do_not_keep_others_out() {
        let made =
            Namespace::new().and_then(|made| made.ip("link add a0 type veth peer name a1").map(|()| made));
        let Ok(host) = made else {
            println!("skipped: network namespaces need root and the command ip");
            return;
        };
        host.ip("addr add 10.0.1.1/24 dev a0").unwrap();
        host.ip("link set a1 up").unwrap();
        host.ip("link set a0 up").unwrap();
        let (installed, left) = host
            .run(|| {
                let interface = interfaces().unwrap().into_iter().find(|one| one.name == "a0").unwrap().index;
                let path = |via: &str, hops| Path {
                    via: Some(via.parse().unwrap()),
                    interface,
                    hops: Some(hops),
                    cost: None,
                    source: None,
                };
                // The kernel refuses a route through an address of this host itself.
                let refused = (0..600_u32)
                    .map(|n| (Prefix::host(Ipv4Addr::from_bits(0x0b00_0000 + n)), path("10.0.1.1", 1)));
                let genuine = (Prefix::host([10, 9, 9, 9]), path("10.0.1.2", 2));
                let wanted: BTreeMap<_, _> = refused.chain([genuine]).collect();
                let mut installed = Installed::default();
                let rounds =
                    (0..10).take_while(|_| installed.update(&wanted, &Config::default(), false)).count();
                let shown = wanted.iter().filter(|(to, path)| installed.has(**to, path, &Config::default()));
                let shown: Vec<_> = shown.map(|(to, _)| *to).collect();
                assert_eq!(shown, [Prefix::host([10, 9, 9, 9])], "routes that the kernel has acknowledged");
                let other = path("10.0.1.3", 2);
                assert!(!installed.has(shown[0], &other, &Config::default()), "another next hop");
                (installed, rounds)
            })
            .unwrap();
        assert_eq!((installed.len(), installed.refused), (1, 600));
        assert!(left <= 3, "{left} rounds");
    }
}
