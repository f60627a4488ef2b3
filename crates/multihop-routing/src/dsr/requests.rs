//! The route request table (RFC 4728 §4.3): searches of this node, and requests of other nodes.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Rng};

use super::Config;

/// State of this node's searches, and the requests seen.
#[derive(Clone, Debug)]
pub(super) struct RequestTable {
    seen: BTreeMap<Ipv4Addr, Seen>,
    searches: BTreeMap<Ipv4Addr, Search>,
}

/// Range over which a request propagates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// The request reaches the neighbours only.
    Ring0,
    /// The request is flooded through the whole network.
    Everyone,
}

impl RequestTable {
    pub(super) const fn new() -> Self {
        Self { seen: BTreeMap::new(), searches: BTreeMap::new() }
    }

    /// Whether a request of this initiator with this id or a later one has been seen.
    pub(super) fn has_seen(&self, initiator: Ipv4Addr, id: u16) -> bool {
        // Ids wrap: half of the values count as earlier.
        self.seen.get(&initiator).is_some_and(|seen| seen.id.wrapping_sub(id) < 1 << 15)
    }

    /// Remembers the id of a request if it is later than the last remembered id.
    pub(super) fn note_seen(&mut self, now: Instant, initiator: Ipv4Addr, id: u16) {
        if self.has_seen(initiator, id) {
            return;
        }
        make_room(&mut self.seen, initiator, |seen| seen.at);
        self.seen.insert(initiator, Seen { id, at: now });
    }

    /// Range of the request for `target` that is due now; `None` if none is due. `own` is false if only
    /// packets of other nodes wait, for which only a single non-propagating request is sent.
    pub(super) fn next(
        &mut self,
        now: Instant,
        target: Ipv4Addr,
        own: bool,
        config: &Config,
    ) -> Option<Reach> {
        make_room(&mut self.searches, target, |search| search.started.unwrap_or(Instant::ZERO));
        let search = self.searches.entry(target).or_default();
        if search.next_start(config).is_none_or(|at| at <= now) {
            search.cycles = (search.cycles + 1).min(CYCLES_MAX);
            search.started = Some(now);
            search.only_ring0 = config.ring0;
            if own || search.cycles == 1 {
                return Some(if config.ring0 { Reach::Ring0 } else { Reach::Everyone });
            }
            search.only_ring0 = false;
        } else if own && search.ring0_ends(config).is_some_and(|at| at <= now) {
            search.only_ring0 = false;
            return Some(Reach::Everyone);
        }
        None
    }

    /// Whether the search for `target` failed and starts again now.
    pub(super) fn begins_again(&self, now: Instant, target: Ipv4Addr) -> bool {
        self.searches.get(&target).is_some_and(|search| search.cycles > 1 && search.started == Some(now))
    }

    /// Schedules the next check of the packets to `target`, after the next step of its search.
    pub(super) fn plan_look(
        &mut self,
        now: Instant,
        target: Ipv4Addr,
        own: bool,
        config: &Config,
        rng: &mut Rng,
    ) {
        let Some(search) = self.searches.get_mut(&target) else { return };
        let step = if own { search.ring0_ends(config) } else { None };
        let due = step.or(search.next_start(config)).unwrap_or(now);
        search.look_at = Some(due.max(now + LOOK_GAP) + rng.duration_below(LOOK_GAP));
    }

    /// Schedules a check of the packets to `target` at `at` at the latest.
    pub(super) fn look_by(&mut self, target: Ipv4Addr, at: Instant) {
        make_room(&mut self.searches, target, |search| search.started.unwrap_or(Instant::ZERO));
        let search = self.searches.entry(target).or_default();
        search.look_at = Some(search.look_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Instant of the next check of the send buffer.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.searches.values().filter_map(|search| search.look_at).min()
    }

    /// Removes a target whose check is due.
    pub(super) fn pop_look(&mut self, now: Instant) -> Option<Ipv4Addr> {
        let mut due = self.searches.iter_mut();
        let (&target, search) = due.find(|(_, search)| search.look_at.is_some_and(|at| at <= now))?;
        search.look_at = None;
        Some(target)
    }

    /// Ends the search for `target`, because a path was found: the next search may start at once.
    pub(super) fn found(&mut self, target: Ipv4Addr) {
        self.searches.remove(&target);
    }
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    id: u16,
    at: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// Number of searches so far: non-propagating requests, or propagating ones if `ring0` is off.
    cycles: u8,
    /// Instant at which the last search started.
    started: Option<Instant>,
    /// Whether the current search has sent only a non-propagating request.
    only_ring0: bool,
    look_at: Option<Instant>,
}

impl Search {
    // DEVIATION dsr-7: Requests may leave from the start of the run. ns-2 sends none in the first 0.5 s.
    /// Earliest start of the next search: 4^n periods after the n-th one.
    fn next_start(&self, config: &Config) -> Option<Instant> {
        let gap = config.request_period.saturating_mul(1 << (2 * self.cycles));
        Some(self.started? + gap.min(config.rreq_backoff_max))
    }

    fn ring0_ends(&self, config: &Config) -> Option<Instant> {
        self.started.filter(|_| self.only_ring0).map(|at| at + config.ring0_timeout)
    }
}

/// Removes the oldest entry of a full table, unless the table has an entry for `key`.
fn make_room<T>(table: &mut BTreeMap<Ipv4Addr, T>, key: Ipv4Addr, age: impl Fn(&T) -> Instant) {
    if table.len() >= TABLE_SIZE && !table.contains_key(&key) {
        let oldest = table.iter().min_by_key(|(_, entry)| age(entry)).map(|(&key, _)| key);
        oldest.map(|key| table.remove(&key));
    }
}

/// Size of ns-2's request table.
const TABLE_SIZE: usize = 128;

/// Largest value of ns-2's counter of cycles.
const CYCLES_MAX: u8 = 15;

// DEVIATION dsr-3: The agent checks a buffered packet at each step of its search, and when it overhears a route. ns-2
// polls its buffer every 30 to 60 ms. Requests are up to 30 ms late.
/// Longest time between two checks of the buffer: ns-2's `BUFFER_CHECK`.
pub(super) const LOOK_GAP: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Instants at which requests leave if each is sent as early as possible.
    fn requests(config: &Config, own: bool, seconds: u64) -> Vec<(u64, Reach)> {
        let mut table = RequestTable::new();
        (0..seconds * 100)
            .map(|n| n * 10)
            .filter_map(|at| table.next(ms(at), TARGET, own, config).map(|reach| (at, reach)))
            .collect()
    }

    #[test]
    fn the_back_off_is_2_8_10_10_seconds() {
        let (ring0, everyone) = (Reach::Ring0, Reach::Everyone);
        let expected =
            [0, 2_000, 10_000, 20_000, 30_000].map(|at| [(at, ring0), (at + 30, everyone)]).concat();
        assert_eq!(requests(&Config::default(), true, 31), expected);
        let config = Config { ring0: false, ..Config::default() };
        let expected = [0, 2_000, 10_000, 20_000, 30_000].map(|at| (at, everyone));
        assert_eq!(requests(&config, true, 31), expected);
    }

    #[test]
    fn the_longest_back_off_is_configurable() {
        let config = Config { ring0: false, rreq_backoff_max: Duration::from_secs(3), ..Config::default() };
        let times: Vec<u64> = requests(&config, true, 12).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times, [0, 2_000, 5_000, 8_000, 11_000]);
    }

    #[test]
    fn packets_of_others_cause_a_single_non_propagating_request() {
        assert_eq!(requests(&Config::default(), false, 31), [(0, Reach::Ring0)]);
        let mut table = RequestTable::new();
        table.next(ms(0), TARGET, false, &Config::default());
        assert!(!table.begins_again(ms(0), TARGET));
        table.next(ms(2_000), TARGET, false, &Config::default());
        assert!(table.begins_again(ms(2_000), TARGET));
        assert!(!table.begins_again(ms(2_001), TARGET));
    }

    #[test]
    fn a_reply_ends_the_back_off() {
        let mut table = RequestTable::new();
        let config = Config::default();
        assert_eq!(table.next(ms(0), TARGET, true, &config), Some(Reach::Ring0));
        assert_eq!(table.next(ms(10), TARGET, true, &config), None);
        table.found(TARGET);
        assert_eq!(table.next(ms(10), TARGET, true, &config), Some(Reach::Ring0));
    }

    #[test]
    fn request_ids_wrap() {
        let mut table = RequestTable::new();
        table.note_seen(ms(0), TARGET, 65_530);
        let seen = |id| table.has_seen(TARGET, id);
        assert_eq!([65_529, 65_530, 65_531, 3, 32_762].map(seen), [true, true, false, false, false]);
        assert!(!table.has_seen(Ipv4Addr::LOCALHOST, 65_530));
    }

    #[test]
    fn the_table_is_bounded() {
        let mut table = RequestTable::new();
        for n in 0..1_000_u32 {
            let node = Ipv4Addr::from_bits(n);
            table.note_seen(ms(u64::from(n)), node, 7);
            table.next(ms(u64::from(n)), node, true, &Config::default());
            table.look_by(node, ms(u64::from(n)));
        }
        assert_eq!((table.seen.len(), table.searches.len()), (TABLE_SIZE, TABLE_SIZE));
        assert!(table.has_seen(Ipv4Addr::from_bits(999), 7));
        assert!(!table.has_seen(Ipv4Addr::from_bits(0), 7));
    }
}
