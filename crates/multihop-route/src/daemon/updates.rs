//! Schedule of updates, which make the kernel's routes equal to those of the router.

use multihop_core::{Duration, Instant, earliest};

use crate::router::Revision;

/// Instants of the last and of the next update.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Instant of the next update.
    pub(super) at: Option<Instant>,
    last: Instant,
    /// State of the router at the last update.
    revision: Option<Revision>,
}

impl Updates {
    /// Schedules one update for changes that come close together, not before `ready`.
    pub(super) fn soon(&mut self, now: Instant, ready: Instant) {
        self.by(now + UPDATE_AFTER, ready);
    }

    /// Schedules an update unless the routes must be those of the last update. Changes of costs do not change the revision;
    /// routes follow them once per `cost_interval`. Costs are averages of which almost every packet of a mesh changes some.
    pub(super) fn if_changed(
        &mut self,
        now: Instant,
        ready: Instant,
        revision: Option<Revision>,
        cost_interval: Option<Duration>,
    ) {
        let soon = now + UPDATE_AFTER;
        if revision.is_none() || revision != self.revision {
            self.by(soon, ready);
        } else if let Some(interval) = cost_interval {
            self.by(soon.max(self.last + interval), ready);
        }
    }

    /// Notes an update that begins now.
    pub(super) const fn begin(&mut self, now: Instant) {
        (self.at, self.last) = (None, now);
    }

    /// Notes the state of the router from which the kernel's routes were made.
    pub(super) const fn follow(&mut self, revision: Option<Revision>) {
        self.revision = revision;
    }

    /// Schedules an update for this instant, unless an earlier one is scheduled.
    fn by(&mut self, at: Instant, ready: Instant) {
        self.at = earliest(self.at, Some(at.max(ready)));
    }
}

/// Delay before routes are updated, so that the changes of one flood, or of several neighbours, are applied
/// together.
const UPDATE_AFTER: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    const READY: Instant = Instant::ZERO;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A schedule whose last update was at 1 s.
    fn updated(revision: Option<Revision>) -> Updates {
        let mut updates = Updates::default();
        updates.begin(at(1_000));
        updates.follow(revision);
        updates
    }

    #[test]
    fn only_changes_lead_to_updates() {
        let [before, after] = [Revision(4, 1), Revision(5, 1)].map(Some);
        let mut updates = updated(before);
        updates.if_changed(at(1_100), READY, before, None);
        assert_eq!(updates.at, None);
        updates.if_changed(at(1_200), READY, after, None);
        updates.if_changed(at(1_230), READY, after, None);
        assert_eq!(updates.at, Some(at(1_250)), "one update for both");
        let mut unknown = updated(None);
        unknown.if_changed(at(1_100), READY, None, None);
        assert_eq!(unknown.at, Some(at(1_150)));
        let mut busy = updated(before);
        busy.soon(at(1_100), at(1_400));
        assert_eq!(busy.at, Some(at(1_400)));
    }

    #[test]
    fn routes_follow_costs_once_per_interval_and_links_at_once() {
        let [before, after] = [Revision(4, 1), Revision(5, 1)].map(Some);
        let interval = Some(Duration::from_secs(2));
        let mut updates = updated(before);
        updates.if_changed(at(1_100), READY, before, interval);
        assert_eq!(updates.at, Some(at(3_000)));
        updates.if_changed(at(1_200), READY, after, interval);
        assert_eq!(updates.at, Some(at(1_250)), "a link is new or lost");
        let mut late = updated(before);
        late.if_changed(at(9_000), READY, before, interval);
        assert_eq!(late.at, Some(at(9_050)));
    }
}
