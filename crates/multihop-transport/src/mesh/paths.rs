//! Connections with two paths: selection of the path for each segment, and recovery when a path fails.

use multihop_core::{Duration, Instant};

use super::MeshEnd;
use super::path::Path;

/// Largest number of paths of a connection: a bit of each segment distinguishes them.
pub(super) const PATHS: usize = 2;

/// Smallest share of the backlog on a path: without a queue, the path's window would have no signal.
const MIN_SHARE: f64 = 0.05;

impl MeshEnd {
    /// Starts to probe a second path to the peer, and returns whether the connection now has one. Requires an
    /// established connection whose both ends support a second path. Data uses the path once the peer has answered.
    pub fn add_path(&mut self) -> bool {
        let may = self.state().is_synchronised() && self.agrees_on_second_path();
        if may && self.paths.len() < PATHS {
            let first = self.send.transmissions(self.paths.len());
            self.paths.push(Path::unproved(&self.config, first));
            self.send.split();
            self.recv.split();
        }
        may
    }

    /// Whether the connection uses a second path: the peer has answered on it, and no timeout has frozen it since.
    pub fn uses_second_path(&self) -> bool {
        self.paths.get(1).is_some_and(|path| !path.is_frozen())
    }

    /// The paths on which data may leave; the first path if there is none.
    pub(super) fn each_in_use(&self) -> impl Iterator<Item = &Path> {
        let (in_use, first) = (self.paths.iter().filter(|path| !path.is_frozen()), self.paths.first());
        let none = self.paths.iter().all(Path::is_frozen);
        in_use.chain(first.filter(|_| none))
    }

    /// The first path on which data may leave; the first path if there is none.
    pub(super) fn path_in_use(&self) -> &Path {
        self.paths.iter().find(|path| !path.is_frozen()).unwrap_or(&self.paths[0])
    }

    /// Segments that arrive in a shortest round trip, on all paths together.
    pub(super) fn carried(&self) -> Option<f64> {
        self.paths.iter().filter_map(|path| path.control.carried()).reduce(|sum, carried| sum + carried)
    }

    /// Whether an ACK on a path is overdue after a timeout.
    pub(super) fn has_outstanding(&self, path: usize) -> bool {
        if self.paths.len() == 1 {
            return !self.send.is_empty();
        }
        let is_idle = self.send.is_empty() && !self.send.has_data();
        self.send.in_flight(path) > 0 || (self.paths[path].is_frozen() && !is_idle)
    }

    /// Whether the connection has another path that is not frozen, on which data may leave.
    pub(super) fn has_other_path(&self, path: usize) -> bool {
        self.paths.iter().enumerate().any(|(other, one)| other != path && !one.is_frozen())
    }

    /// Resets the queueing estimate of an idle path before a segment leaves on it, because the estimate is outdated.
    pub(super) fn forget_old_queue(&mut self, path: usize) {
        if self.paths.len() > 1 && self.send.in_flight(path) == 0 {
            self.paths[path].control.forget_queue();
        }
    }

    /// Path for the next segment: the one with the earliest arrival, of those whose window and pacing permit it.
    pub(super) fn next_path(&self, now: Instant) -> Option<usize> {
        let is_urgent = self.send.is_urgent(self.mss);
        let may_leave =
            |&path: &usize| self.paths[path].is_its_turn(now, is_urgent) && self.may_send(path, is_urgent);
        if self.paths.len() == 1 {
            return Some(0).filter(may_leave);
        }
        let delay = |path: usize| self.one_way(path).unwrap_or(0.0);
        let first = (0..self.paths.len()).filter(may_leave).min_by(|&a, &b| delay(a).total_cmp(&delay(b)))?;
        (!self.waits_for_faster(now, first)).then_some(first)
    }

    /// Whether the next segment should wait for a faster path than `path`. Either the faster path can deliver all
    /// remaining segments before this path delivers one, or the receive window would block the faster path until this
    /// path has delivered.
    pub(super) fn waits_for_faster(&self, now: Instant, path: usize) -> bool {
        self.paths.len() > 1 && (self.is_too_slow(now, path) || self.lacks_room(path))
    }

    fn is_too_slow(&self, now: Instant, path: usize) -> bool {
        let left = self.send.left(self.mss) as f64;
        self.faster(path).any(|Faster { path, own, delay, gap }| {
            delay + path.wait(now, false).as_secs_f64() + left * gap < own
        })
    }

    fn lacks_room(&self, path: usize) -> bool {
        let room = self.send.room() as f64;
        !self.send.has_lost()
            && self.faster(path).any(|Faster { own, delay, gap, .. }| own + delay > room * gap)
    }

    /// Whether a larger receive window of the peer would let more segments leave.
    pub(super) fn needs_room(&self) -> bool {
        self.send.is_held_back()
            || (self.paths.len() > 1
                && (0..self.paths.len()).any(|path| !self.paths[path].is_frozen() && self.lacks_room(path)))
    }

    /// The paths in use on which a segment arrives earlier than on this one.
    fn faster(&self, path: usize) -> impl Iterator<Item = Faster<'_>> {
        let own = self.one_way(path);
        (0..self.paths.len()).filter(move |&other| other != path).filter_map(move |other| {
            let path = Some(&self.paths[other]).filter(|path| !path.is_frozen())?;
            let (delay, gap) = (self.one_way(other)?, path.control.gap()?.as_secs_f64());
            let own = own.filter(|&own| delay < own)?;
            Some(Faster { path, own, delay, gap })
        })
    }

    /// Estimated time until the arrival of a segment that leaves now, s: queueing delay plus half of the shortest
    /// round trip. An idle path has no queueing delay.
    fn one_way(&self, path: usize) -> Option<f64> {
        let control = &self.paths[path].control;
        let queueing = if self.send.in_flight(path) > 0 { control.queueing() } else { Duration::ZERO };
        Some((control.base()? / 2 + queueing).as_secs_f64())
    }

    /// Divides the backlog of the connection among the paths in use, in proportion to their rates.
    pub(super) fn share_backlog(&mut self) {
        if self.paths.len() == 1 {
            return;
        }
        let rates = self.paths.iter().filter(|path| !path.is_frozen()).map(|path| path.control.rate());
        let sum: f64 = rates.sum();
        for path in self.paths.iter_mut().filter(|path| !path.is_frozen()) {
            let share = if sum > 0.0 { path.control.rate() / sum } else { 1.0 };
            path.control.set_share(share.max(MIN_SHARE));
        }
    }

    /// Moves segments in flight on a frozen path to the other path.
    pub(super) fn move_from_frozen_paths(&mut self) {
        for path in 0..self.paths.len() {
            if self.paths[path].is_frozen() && self.has_other_path(path) {
                self.send.move_from(path);
            }
        }
    }
}

/// A path in use that is faster than another one.
struct Faster<'a> {
    path: &'a Path,
    /// Time until the arrival of a segment on the slower path, s.
    own: f64,
    /// Time until the arrival of a segment on the faster path, s.
    delay: f64,
    /// Time between two segments on the faster one, s.
    gap: f64,
}
