use multihop_core::{Duration, Instant};

use super::path::{Path, Waypoint};
use crate::grid::Point;

/// The roaming node of TPA's testbed (section 4.5): three nodes form a chain, and the fourth walks along it and back.
///
/// The roaming node walks on a parallel line at a distance of `spacing` metres, from the first node (one hop)
/// to the third (three hops) and back. It stops for 40 s next to each node and takes 20 s between two nodes.
/// After 280 s it stays.
pub fn roaming(spacing: f64) -> ([Point; 3], Path) {
    let chain = [0.0, 1.0, 2.0].map(|n| Point { x: n * spacing, y: 0.0 });
    let stops = [0, 1, 2, 1, 0].map(|n: usize| Point { x: chain[n].x, y: spacing });
    let mut now = Instant::ZERO;
    let mut waypoints = Vec::new();
    for place in stops {
        let leaves = now + Duration::from_secs(40);
        waypoints.extend([Waypoint { at: now, place }, Waypoint { at: leaves, place }]);
        now = leaves + Duration::from_secs(20);
    }
    (chain, Path::through(waypoints.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::super::movement::{Movement, Track};
    use super::*;

    #[test]
    fn hops_to_the_first_node_follow_the_paper() {
        let (chain, path) = roaming(200.0);
        let mut track = Track::new(Movement::along(path));
        let mut reached_at = |seconds| {
            let place = track.at(Instant::ZERO + Duration::from_secs(seconds));
            chain.iter().position(|node| node.distance(place) <= 250.0).map(|n| n + 1)
        };
        let stops = [0, 39, 60, 99, 120, 159, 180, 219, 240, 280, 1000].map(&mut reached_at);
        assert_eq!(stops, [1, 1, 2, 2, 3, 3, 2, 2, 1, 1, 1].map(Some));
    }

    #[test]
    fn the_node_is_always_in_range_of_the_chain() {
        let (chain, path) = roaming(200.0);
        assert!((Movement::along(path.clone()).speed_limit() - 10.0).abs() < 1e-12);
        let mut track = Track::new(Movement::along(path));
        for tenth in 0..3000 {
            let place = track.at(Instant::ZERO + Duration::from_millis(100 * tenth));
            assert!(chain.iter().any(|node| node.distance(place) <= 250.0), "at {tenth}");
        }
    }
}
