//! What the targets share. Run them with `tools/fuzz.sh`.

use multihop_radio::mobility::{Movement, Path, Track};

/// Puts the right checksum at `at`, if that is inside the packet: a fuzzer does not guess it, and
/// most of a decoder lies behind it.
pub fn set_checksum(packet: &mut [u8], at: usize, checksum: impl Fn(&[u8]) -> u16) {
    if packet.len() >= at + 2 {
        packet[at..at + 2].fill(0);
        let sum = checksum(packet);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Both say where every node is, wherever one of them has a waypoint.
pub fn assert_same_paths(ones: &[Path], others: &[Path]) {
    assert_eq!(ones.len(), others.len());
    for (one, other) in ones.iter().zip(others) {
        assert_same_places(one, other);
        assert_same_places(other, one);
    }
}

fn assert_same_places(path: &Path, other: &Path) {
    let mut track = Track::new(Movement::along(other.clone()));
    // Later, a double of seconds does not tell nanoseconds apart.
    for waypoint in path.waypoints().iter().take_while(|waypoint| waypoint.at.as_secs_f64() < 1e6) {
        let apart = track.at(waypoint.at).distance(waypoint.place);
        assert!(apart < 1e-3, "{apart} m apart at {}", waypoint.at);
    }
}
