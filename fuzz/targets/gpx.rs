//! Movements read from a GPX file are within 100 km of the origin.

use multihop_fuzz::arbitrary;
use multihop_radio::grid::Point;
use multihop_radio::mobility::{Plane, gpx};

pub fn fuzz(data: &[u8]) {
    let Some(text) = arbitrary::<&str>(data) else { return };
    let Ok(paths) = gpx::read(text, &Plane::new(48.0, 11.0)) else { return };
    for waypoint in paths.iter().flat_map(|path| path.waypoints()) {
        assert!(waypoint.place.distance(Point::default()) <= 100_000.0, "{waypoint:?}");
    }
}
