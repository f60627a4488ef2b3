//! Helpers of the fuzz targets. Run the targets with `tools/fuzz.sh`.

use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};
use multihop_radio::mobility::{Movement, Path, Track};

/// Writes the correct checksum at `at`, if that is inside the packet: a fuzzer cannot guess it, and most of a parser is
/// only reached with it.
pub fn set_checksum(packet: &mut [u8], at: usize, checksum: impl Fn(&[u8]) -> u16) {
    if packet.len() >= at + 2 {
        packet[at..at + 2].fill(0);
        let sum = checksum(packet);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Makes a value from an input; None if the input is too short or not valid.
pub fn arbitrary<'a, T: Arbitrary<'a>>(data: &'a [u8]) -> Option<T> {
    if data.len() < T::size_hint(0).0 {
        return None;
    }
    T::arbitrary_take_rest(Unstructured::new(data)).ok()
}

/// Checks that both give the same positions at every waypoint of either.
pub fn assert_same_paths(ones: &[Path], others: &[Path]) {
    assert_eq!(ones.len(), others.len());
    for (one, other) in ones.iter().zip(others) {
        assert_same_places(one, other);
        assert_same_places(other, one);
    }
}

fn assert_same_places(path: &Path, other: &Path) {
    let mut track = Track::new(Movement::along(other.clone()));
    // For later times, seconds as a double cannot distinguish nanoseconds.
    for waypoint in path.waypoints().iter().take_while(|waypoint| waypoint.at.as_secs_f64() < 1e6) {
        let apart = track.at(waypoint.at).distance(waypoint.place);
        assert!(apart < 1e-3, "{apart} m apart at {}", waypoint.at);
    }
}
