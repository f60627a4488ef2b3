use std::f64::consts::PI;

use crate::grid::Point;

/// The plane that touches the Earth (WGS 84) at a given place, its origin (0, 0): x points east, y south, as
/// layouts are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    latitude: f64,
    longitude: f64,
    /// The origin of the plane in Earth-centred coordinates, in metres.
    origin: [f64; 3],
}

impl Plane {
    /// The plane at the place with this latitude and longitude in degrees.
    pub fn new(latitude: f64, longitude: f64) -> Self {
        Self { latitude, longitude, origin: place(latitude, longitude) }
    }

    /// Position of a geographic place on the plane; heights are ignored. Places beyond 100 km are refused: within
    /// this radius distances are wrong by at most 0.02 %.
    pub fn point(&self, latitude: f64, longitude: f64) -> Result<Point, String> {
        // The comparison is negated so that NaN fails.
        if !(latitude.abs() <= 90.0 && longitude.abs() <= 180.0) {
            return Err(format!(
                "found {latitude}, {longitude}, allowed: a latitude from -90 to 90 and a longitude from -180 to 180"
            ));
        }
        let place = place(latitude, longitude);
        let [dx, dy, dz]: [f64; 3] = std::array::from_fn(|axis| place[axis] - self.origin[axis]);
        let away = (dx * dx + dy * dy + dz * dz).sqrt();
        if away > FARTHEST {
            return Err(format!(
                "found {latitude}, {longitude}, {:.0} km from the origin, allowed: up to {:.0} km",
                away / 1e3,
                FARTHEST / 1e3
            ));
        }
        let ((sin_lat, cos_lat), (sin_lon, cos_lon)) = (turned(self.latitude), turned(self.longitude));
        let outward = cos_lon * dx + sin_lon * dy;
        Ok(Point { x: cos_lon * dy - sin_lon * dx, y: sin_lat * outward - cos_lat * dz })
    }
}

/// A place on the ellipsoid, metres from the centre of the Earth.
fn place(latitude: f64, longitude: f64) -> [f64; 3] {
    let ((sin_lat, cos_lat), (sin_lon, cos_lon)) = (turned(latitude), turned(longitude));
    let squeezed = FLATTENING * (2.0 - FLATTENING);
    let normal = EQUATOR / (1.0 - squeezed * sin_lat * sin_lat).sqrt();
    [normal * cos_lat * cos_lon, normal * cos_lat * sin_lon, normal * (1.0 - squeezed) * sin_lat]
}

fn turned(degrees: f64) -> (f64, f64) {
    libm::sincos(degrees * PI / 180.0)
}

/// WGS 84: the radius at the equator, m, and the flattening.
const EQUATOR: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// Largest distance of a coordinate from the origin, in metres.
const FARTHEST: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_have_the_published_lengths() {
        // Lengths of a degree of latitude and of longitude on WGS 84, m, at three latitudes.
        for (latitude, north, east) in
            [(0.0, 110_574.0, 111_320.0), (45.0, 111_132.0, 78_847.0), (60.0, 111_412.0, 55_800.0)]
        {
            let plane = Plane::new(latitude, 10.0);
            let hundredth = 0.005;
            let [low, high] = [-hundredth, hundredth].map(|d| plane.point(latitude + d, 10.0).unwrap());
            assert!((100.0 * (low.y - high.y) - north).abs() < 2.0, "{high:?} at {latitude}");
            let [west, right] = [-hundredth, hundredth].map(|d| plane.point(latitude, 10.0 + d).unwrap());
            assert!((100.0 * (right.x - west.x) - east).abs() < 2.0, "{right:?} at {latitude}");
            assert!(low.x.abs() < 1e-6 && west.y.abs() < 1.0);
        }
        assert_eq!(Plane::new(48.0, 11.0).point(48.0, 11.0), Ok(Point { x: 0.0, y: 0.0 }));
    }

    #[test]
    fn distances_far_from_the_origin_are_right_to_a_fiftieth_of_a_percent() {
        let plane = Plane::new(48.0, 11.0);
        // The points are 90 km to the north, and from there 1 km on the ellipsoid in both directions.
        let near = Plane::new(48.81, 11.0);
        let corner = [48.8145, 11.0068];
        let there = plane.point(48.81, 11.0).unwrap().distance(plane.point(corner[0], corner[1]).unwrap());
        let truth = near.point(corner[0], corner[1]).unwrap().distance(Point::default());
        assert!((there / truth - 1.0).abs() < 2e-4, "{there} {truth}");
    }

    #[test]
    fn the_date_line_is_no_border() {
        let plane = Plane::new(-17.0, 180.0);
        let point = plane.point(-17.0, -179.99).unwrap();
        assert!((point.x - 1_064.9).abs() < 0.5 && point.y.abs() < 0.1, "{point:?}");
    }

    #[test]
    fn far_and_impossible_places_are_refused() {
        let refused = |latitude, longitude| Plane::new(48.0, 11.0).point(latitude, longitude).unwrap_err();
        assert_eq!(refused(49.0, 11.0), "found 49, 11, 111 km from the origin, allowed: up to 100 km");
        let allowed = "allowed: a latitude from -90 to 90 and a longitude from -180 to 180";
        assert_eq!(refused(91.0, 11.0), format!("found 91, 11, {allowed}"));
        assert_eq!(refused(f64::NAN, 11.0), format!("found NaN, 11, {allowed}"));
    }
}
