//! The route cache (RFC 4728 §4.1): a path cache in two parts, as in the CMU extensions to ns-2.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::dsr::Addresses;

use super::Config;

/// Paths that begin at one node, stored without that node.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    owner: Ipv4Addr,
    stores: [Store; 2],
    timeout: Option<Duration>,
    negative: Option<Duration>,
    broken: Vec<Broken>,
    version: u32,
    /// Last used path of the primary part, and the version of the cache when it was used.
    used: Option<(Addresses, u32)>,
}

/// Part of the cache that contains a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// Routes that this node requested or used.
    Primary,
    /// Routes learnt from overheard packets.
    Secondary,
}

impl Cache {
    pub(super) fn new(owner: Ipv4Addr, config: &Config) -> Self {
        Self {
            owner,
            stores: [Store::new(config.primary_cache), Store::new(config.secondary_cache)],
            timeout: config.cache_timeout,
            negative: config.negative_cache,
            broken: Vec::new(),
            version: 0,
            used: None,
        }
    }

    /// Changes whenever the cached paths change.
    pub(super) const fn version(&self) -> u32 {
        self.version
    }

    /// Adds a path without repeated nodes; true if the cache has changed.
    pub(super) fn learn(&mut self, now: Instant, part: Part, path: &[Ipv4Addr]) -> bool {
        let path = &path[..self.unbroken(now, path).min(Addresses::MAX - 1)];
        let timeout = self.timeout;
        let new = !path.is_empty() && self.stores[part as usize].insert(now, timeout, path);
        self.version = self.version.wrapping_add(u32::from(new));
        new
    }

    /// The shortest path to `destination`.
    pub(super) fn find(&self, now: Instant, destination: Ipv4Addr) -> Option<Addresses> {
        let (_, _, path) = self.search(now, destination)?;
        Some(path)
    }

    /// The shortest path to `destination`, which moves to the primary part.
    pub(super) fn find_for_use(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Addresses> {
        let known = self.used.filter(|(path, version)| {
            self.timeout.is_none() && *version == self.version && path.last() == Some(&destination)
        });
        if let Some((path, _)) = known {
            return Some(path);
        }
        let (part, index, path) = self.search(now, destination)?;
        if part == Part::Secondary {
            let whole = self.stores[1].entries[index].path;
            self.stores[1].truncate(index, 0);
            self.stores[0].insert(now, self.timeout, &whole);
            self.version = self.version.wrapping_add(1);
        } else {
            self.used = Some((path, self.version));
        }
        Some(path)
    }

    /// Truncates paths before a broken link.
    pub(super) fn link_broke(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) {
        let owner = self.owner;
        let cut = self.stores.iter_mut().map(|store| store.cut(owner, from, to));
        let cut = cut.fold(false, |any, this| any | this);
        self.version = self.version.wrapping_add(u32::from(cut));
        if let Some(time) = self.negative {
            self.broken.retain(|link| link.until > now && (link.from, link.to) != (from, to));
            if self.broken.len() == BROKEN_MAX {
                self.broken.remove(0);
            }
            self.broken.push(Broken { from, to, until: now + time });
        }
    }

    fn search(&self, now: Instant, destination: Ipv4Addr) -> Option<(Part, usize, Addresses)> {
        let mut best: Option<(Part, usize, usize)> = None;
        for (part, store) in [Part::Primary, Part::Secondary].into_iter().zip(&self.stores) {
            let mut start = 0;
            while let Some(index) = store.place_with(sign(destination), start) {
                start = index + 1;
                let entry = &store.entries[index];
                let limit = best.map_or(entry.path.len(), |(.., hops)| entry.path.len().min(hops - 1));
                let found = entry.path[..limit].iter().position(|&node| node == destination);
                if let Some(at) = found.filter(|_| !entry.is_old(now, self.timeout)) {
                    best = Some((part, index, at + 1));
                }
            }
        }
        let (part, index, hops) = best?;
        let mut path = self.stores[part as usize].entries[index].path;
        path.truncate(hops);
        Some((part, index, path))
    }

    /// Number of nodes in a path before the first link that was recently reported broken.
    fn unbroken(&self, now: Instant, path: &[Ipv4Addr]) -> usize {
        if self.broken.is_empty() {
            return path.len();
        }
        let froms = core::iter::once(&self.owner).chain(path);
        froms
            .zip(path)
            .position(|(&from, &to)| {
                self.broken.iter().any(|link| link.until > now && (link.from, link.to) == (from, to))
            })
            .unwrap_or(path.len())
    }
}

/// A link that was reported broken.
#[derive(Clone, Copy, Debug)]
struct Broken {
    from: Ipv4Addr,
    to: Ipv4Addr,
    until: Instant,
}

/// Paths in fixed entries, with an index that speeds up searches.
#[derive(Clone, Debug)]
struct Store {
    entries: Vec<Entry>,
    /// Combined [`sign`]s of the nodes of each path.
    signs: Vec<u64>,
    size: usize,
    victim: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Nodes of the path; empty if the entry is free.
    path: Addresses,
    learnt: Instant,
}

impl Store {
    const fn new(size: usize) -> Self {
        Self { entries: Vec::new(), signs: Vec::new(), size, victim: 0 }
    }

    /// Inserts a path, which may replace another one. Returns true if the cache has changed.
    fn insert(&mut self, now: Instant, timeout: Option<Duration>, path: &[Ipv4Addr]) -> bool {
        let signs = signs(path);
        for (place, &those) in self.signs.iter().enumerate() {
            let is_old = self.entries[place].is_old(now, timeout);
            let common = those & signs;
            if common != those && common != signs && !is_old {
                continue; // neither is a prefix of the other
            }
            let old: &[_] = if is_old { &[] } else { &self.entries[place].path };
            let common = old.iter().zip(path).take_while(|(a, b)| a == b).count();
            if common == old.len() {
                let longer = common < path.len();
                self.put(place, now, path);
                return longer;
            }
            if common == path.len() {
                return false;
            }
        }
        let end = self.entries.len();
        if end < self.size {
            self.entries.push(Entry { path: Addresses::EMPTY, learnt: now });
            self.signs.push(0);
            self.put(end, now, path);
        } else if self.size > 0 {
            self.put(self.victim, now, path);
            self.victim = (self.victim + 1) % self.size;
        } else {
            return false;
        }
        true
    }

    fn put(&mut self, place: usize, now: Instant, path: &[Ipv4Addr]) {
        self.entries[place] = Entry { path: to_list(path), learnt: now };
        self.signs[place] = signs(path);
    }

    /// Truncates a path to its first `len` nodes.
    fn truncate(&mut self, place: usize, len: usize) {
        let path = &mut self.entries[place].path;
        path.truncate(len);
        self.signs[place] = signs(path);
    }

    /// First entry from `start` on whose path may contain all nodes with these signs.
    fn place_with(&self, signs: u64, start: usize) -> Option<usize> {
        let step = self.signs[start..].iter().position(|&those| those & signs == signs)?;
        Some(start + step)
    }

    /// Truncates the paths of `owner` at the link between `from` and `to`. Returns true if a path was truncated.
    fn cut(&mut self, owner: Ipv4Addr, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let mut any = false;
        let signs = sign(to) | if from == owner { 0 } else { sign(from) };
        let mut start = 0;
        while let Some(place) = self.place_with(signs, start) {
            let path = &self.entries[place].path;
            let befores = core::iter::once(&owner).chain(path.iter());
            let cut = befores.zip(path.iter()).position(|(&before, &node)| (before, node) == (from, to));
            if let Some(at) = cut {
                self.truncate(place, at);
                any = true;
            }
            start = place + 1;
        }
        any
    }
}

impl Entry {
    fn is_old(&self, now: Instant, timeout: Option<Duration>) -> bool {
        timeout.is_some_and(|timeout| now.saturating_since(self.learnt) >= timeout)
    }
}

fn signs(path: &[Ipv4Addr]) -> u64 {
    path.iter().fold(0, |signs, &node| signs | sign(node))
}

/// A bit for each node, as in a Bloom filter: a path whose signs lack the bit does not contain the
/// node. The test avoids most searches of paths.
fn sign(node: Ipv4Addr) -> u64 {
    1 << (u32::from(node) % u64::BITS)
}

fn to_list(path: &[Ipv4Addr]) -> Addresses {
    Addresses::collect(path.iter().copied()).expect("paths are truncated to the maximum length")
}

/// Capacity of the negative cache, in links.
const BROKEN_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn node(n: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, n)
    }

    fn path(nodes: &[u8]) -> Addresses {
        Addresses::collect(nodes.iter().map(|&n| node(n))).unwrap()
    }

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    struct Fixture(Cache);

    impl Fixture {
        fn new(config: Config) -> Self {
            Self(Cache::new(node(1), &config))
        }
        fn learn(&mut self, part: Part, nodes: &[u8]) -> bool {
            self.0.learn(at(0), part, &path(nodes))
        }
        fn find(&self, n: u8) -> Option<Addresses> {
            self.0.find(at(0), node(n))
        }
        fn sizes(&self) -> [usize; 2] {
            [0, 1].map(|part| self.0.stores[part].entries.iter().filter(|e| !e.path.is_empty()).count())
        }
    }

    #[test]
    fn the_shortest_path_is_found_and_ties_go_to_the_primary_part() {
        let mut cache = Fixture::new(Config::default());
        cache.learn(Part::Secondary, &[2, 3, 9]);
        cache.learn(Part::Primary, &[4, 5, 9, 6]);
        assert_eq!(cache.find(9), Some(path(&[4, 5, 9])));
        cache.learn(Part::Secondary, &[7, 9]);
        assert_eq!(cache.find(9), Some(path(&[7, 9])));
        assert_eq!(cache.find(3), Some(path(&[2, 3])));
        assert_eq!(cache.find(8), None);
    }

    #[test]
    fn a_longer_path_replaces_its_prefix_and_a_prefix_adds_nothing() {
        let mut cache = Fixture::new(Config::default());
        assert!(cache.learn(Part::Primary, &[2, 3]));
        assert!(cache.learn(Part::Primary, &[2, 3, 4]));
        assert!(!cache.learn(Part::Primary, &[2, 3, 4]));
        assert!(!cache.learn(Part::Primary, &[2]));
        assert_eq!(cache.sizes(), [1, 0]);
        assert!(cache.learn(Part::Primary, &[2, 4]));
        assert_eq!(cache.sizes(), [2, 0]);
    }

    #[test]
    fn the_parts_hold_30_and_64_paths_and_replace_the_oldest_first() {
        let mut cache = Fixture::new(Config::default());
        for n in 2..102 {
            cache.learn(Part::Primary, &[n, 200]);
            cache.learn(Part::Secondary, &[n, 201]);
        }
        assert_eq!(cache.sizes(), [30, 64]);
        // Entries are replaced round robin: of 100 paths, the last 30 and the last 64 remain.
        assert!(cache.find(200).is_some());
        assert_eq!([37, 38, 71, 72, 101].map(|n| cache.find(n).is_some()), [false, true, true, true, true]);
        let primary = |n: u8| cache.0.stores[0].entries.iter().any(|entry| entry.path[0] == node(n));
        assert_eq!([71, 72, 101].map(primary), [false, true, true]);
    }

    #[test]
    fn a_used_path_moves_to_the_primary_part() {
        let mut cache = Fixture::new(Config::default());
        cache.learn(Part::Secondary, &[2, 3, 4]);
        assert_eq!(cache.find(3), Some(path(&[2, 3])));
        assert_eq!(cache.sizes(), [0, 1]);
        assert_eq!(cache.0.find_for_use(at(0), node(3)), Some(path(&[2, 3])));
        assert_eq!(cache.sizes(), [1, 0]);
        assert_eq!(cache.find(4), Some(path(&[2, 3, 4])));
    }

    #[test]
    fn a_broken_link_truncates_the_paths_that_cross_it_in_its_direction() {
        let mut cache = Fixture::new(Config::default());
        cache.learn(Part::Primary, &[2, 3, 4]);
        cache.learn(Part::Secondary, &[5, 3, 4]);
        cache.learn(Part::Secondary, &[6, 4, 3]);
        let version = cache.0.version();
        cache.0.link_broke(at(0), node(3), node(4));
        assert_ne!(cache.0.version(), version);
        assert_eq!(cache.find(4), Some(path(&[6, 4])));
        assert_eq!(cache.find(3), Some(path(&[2, 3])));
        cache.0.link_broke(at(0), node(1), node(2));
        assert_eq!(cache.find(2), None);
        assert_eq!(cache.find(3), Some(path(&[5, 3])));
        let version = cache.0.version();
        cache.0.link_broke(at(0), node(1), node(2));
        assert_eq!(cache.0.version(), version);
    }

    #[test]
    fn paths_expire_only_if_a_timeout_is_configured() {
        let forever = Fixture::new(Config::default());
        let timeout = Some(Duration::from_secs(10));
        for mut cache in [forever, Fixture::new(Config { cache_timeout: timeout, ..Config::default() })] {
            let expected = cache.0.timeout.is_none();
            cache.learn(Part::Primary, &[2, 3]);
            assert!(cache.0.find(at(9), node(3)).is_some());
            assert_eq!(cache.0.find(at(10), node(3)).is_some(), expected);
            // The path is learned again with an extension, which refreshes the whole path.
            cache.0.learn(at(11), Part::Primary, &path(&[2, 3, 4]));
            assert!(cache.0.find(at(20), node(3)).is_some());
        }
    }

    #[test]
    fn the_negative_cache_refuses_paths_beyond_a_broken_link() {
        let negative_cache = Some(Duration::from_secs(2));
        let mut cache = Fixture::new(Config { negative_cache, ..Config::default() });
        cache.0.link_broke(at(0), node(2), node(3));
        assert!(cache.0.learn(at(1), Part::Primary, &path(&[2, 3, 4])));
        assert_eq!((cache.find(2), cache.find(3)), (Some(path(&[2])), None));
        assert!(cache.0.learn(at(2), Part::Primary, &path(&[2, 3, 4])));
        assert_eq!(cache.find(4), Some(path(&[2, 3, 4])));
        for n in 0..200 {
            cache.0.link_broke(at(0), node(n), node(201));
        }
        assert_eq!(cache.0.broken.len(), BROKEN_MAX);
    }

    #[test]
    fn a_cache_may_be_empty() {
        let mut cache = Fixture::new(Config { primary_cache: 0, secondary_cache: 0, ..Config::default() });
        assert!(!cache.learn(Part::Primary, &[2, 3]));
        assert_eq!(cache.find(3), None);
    }
}
