//! Reader of the polygons in a GeoJSON file (RFC 7946); all other contents are ignored.

use multihop_radio::grid::Point;
use multihop_radio::mobility::Plane;
use multihop_radio::params::Obstacle;
use serde_json::Value;

use crate::document::shorten;

/// Default losses of polygons without specific losses.
#[derive(Clone, Copy)]
pub(super) struct Losses {
    /// Loss at each crossing of an outline, dB.
    pub(super) wall_db: f64,
    /// Loss of a metre inside an obstacle, dB.
    pub(super) metre_db: f64,
}

/// Reads polygons from a GeoJSON document. Positions are longitude and latitude with a plane, otherwise x and y in
/// metres.
pub(super) fn obstacles(text: &str, losses: Losses, plane: Option<&Plane>) -> Result<Vec<Obstacle>, String> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| format!("not a JSON document: {error}"))?;
    let mut reader = Reader { plane, found: Vec::new(), corners: 0 };
    reader.object(&document, losses)?;
    Ok(reader.found)
}

struct Reader<'a> {
    plane: Option<&'a Plane>,
    found: Vec<Obstacle>,
    corners: usize,
}

impl Reader<'_> {
    /// Reads a geometry, a feature, or a collection of either. The JSON reader limits the depth of a
    /// document.
    fn object(&mut self, object: &Value, losses: Losses) -> Result<(), String> {
        let list = |key: &str| object.get(key).and_then(Value::as_array).into_iter().flatten();
        match object.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => list("features").try_for_each(|each| self.object(each, losses)),
            Some("GeometryCollection") => list("geometries").try_for_each(|each| self.object(each, losses)),
            Some("Feature") => {
                let losses = losses_of(object, losses)?;
                object.get("geometry").map_or(Ok(()), |geometry| self.object(geometry, losses))
            }
            Some("Polygon") => self.polygon(object.get("coordinates"), losses),
            Some("MultiPolygon") => list("coordinates").try_for_each(|each| self.polygon(Some(each), losses)),
            Some(_) => Ok(()),
            None if object.is_null() => Ok(()),
            None => Err("found an object without type, allowed: a GeoJSON document".to_owned()),
        }
    }

    fn polygon(&mut self, rings: Option<&Value>, losses: Losses) -> Result<(), String> {
        let rings = rings.and_then(Value::as_array).into_iter().flatten();
        let rings = rings.map(|ring| self.ring(ring)).collect::<Result<Vec<_>, _>>()?;
        if rings.is_empty() {
            return Err("found a polygon without an outline, allowed: one or more".to_owned());
        }
        self.found.push(Obstacle { rings, wall_db: losses.wall_db, metre_db: losses.metre_db });
        Ok(())
    }

    fn ring(&mut self, ring: &Value) -> Result<Vec<Point>, String> {
        let positions = ring.as_array().into_iter().flatten();
        let mut corners = positions.map(|position| self.point(position)).collect::<Result<Vec<_>, _>>()?;
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        self.corners += corners.len();
        if corners.len() < 3 {
            return Err(format!("found an outline of {} corners, allowed: 3 or more", corners.len()));
        }
        if self.corners > MAX_CORNERS {
            return Err(format!("found more than {MAX_CORNERS} corners, allowed: up to {MAX_CORNERS}"));
        }
        Ok(corners)
    }

    fn point(&self, position: &Value) -> Result<Point, String> {
        let number = |index| position.get(index).and_then(Value::as_f64);
        let found = || shorten(&position.to_string());
        let (Some(x), Some(y)) = (number(0), number(1)) else {
            return Err(format!("found {} as a position, allowed: two numbers", found()));
        };
        if let Some(plane) = self.plane {
            return plane.point(y, x);
        }
        if x.abs().max(y.abs()) > FARTHEST {
            let hint = "or degrees with the key origin";
            return Err(format!("found {}, allowed: -{FARTHEST:e} to {FARTHEST:e} m, {hint}", found()));
        }
        Ok(Point { x, y })
    }
}

/// The losses of a feature: its properties wall_db and metre_db, or else `losses`.
fn losses_of(feature: &Value, losses: Losses) -> Result<Losses, String> {
    let read = |key: &str, default: f64| match feature.get("properties").and_then(|all| all.get(key)) {
        None | Some(Value::Null) => Ok(default),
        Some(found) => found.as_f64().filter(|db| (0.0..=1000.0).contains(db)).ok_or_else(|| {
            format!("found {} as {key}, allowed: a number from 0 to 1000", shorten(&found.to_string()))
        }),
    };
    Ok(Losses { wall_db: read("wall_db", losses.wall_db)?, metre_db: read("metre_db", losses.metre_db)? })
}

/// Largest allowed coordinate, metres from the origin.
const FARTHEST: f64 = 1e7;
/// Largest number of corners of all polygons.
pub(super) const MAX_CORNERS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: Losses = Losses { wall_db: 9.0, metre_db: 0.4 };

    fn read(text: &str) -> Result<Vec<Obstacle>, String> {
        obstacles(text, LOSSES, None)
    }

    const TOWN: &str = r#"{"type": "FeatureCollection", "name": "town", "features": [
        {"type": "Feature", "properties": {"wall_db": 5, "height": 9}, "geometry":
            {"type": "Polygon", "coordinates": [[[0, 0], [10, 0, 3.5], [10, 10], [0, 10], [0, 0]],
                                                [[2, 2], [4, 2], [4, 4], [2, 2]]]}},
        {"type": "Feature", "properties": null, "geometry": {"type": "Point", "coordinates": [1, 1]}},
        {"type": "Feature", "geometry": null},
        {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": [
            {"type": "MultiPolygon", "coordinates": [[[[0, 0], [1, 0], [0, 1], [0, 0]]],
                                                     [[[5, 5], [6, 5], [5, 6]]]]}]}}]}"#;

    #[test]
    fn polygons_of_all_kinds_are_obstacles() {
        let found = read(TOWN).unwrap();
        let shapes: Vec<_> = found
            .iter()
            .map(|o| (o.rings.iter().map(Vec::len).collect::<Vec<_>>(), o.wall_db, o.metre_db))
            .collect();
        assert_eq!(shapes, [(vec![4, 3], 5.0, 0.4), (vec![3], 9.0, 0.4), (vec![3], 9.0, 0.4)]);
        assert_eq!(found[0].rings[0][1], Point { x: 10.0, y: 0.0 });
        let geometry = r#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1]]]}"#;
        assert_eq!(read(geometry).unwrap().len(), 1);
        assert_eq!(read(r#"{"type": "FeatureCollection", "features": []}"#), Ok(Vec::new()));
    }

    #[test]
    fn degrees_are_longitude_then_latitude() {
        let plane = Plane::new(48.0, 11.0);
        let text = r#"{"type": "Polygon", "coordinates": [[[11.001, 48.0], [11.0, 48.001], [11.0, 48.0]]]}"#;
        let found = obstacles(text, LOSSES, Some(&plane)).unwrap();
        let east = found[0].rings[0][0];
        assert!((east.x - 74.6).abs() < 0.1 && east.y.abs() < 0.1, "{east:?}");
        let text = text.replace("48.001", "58.0");
        let refused = obstacles(&text, LOSSES, Some(&plane)).unwrap_err();
        assert_eq!(refused, "found 58, 11, 1111 km from the origin, allowed: up to 100 km");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |text: &str| read(text).unwrap_err();
        assert!(refused("{").starts_with("not a JSON document: "));
        assert_eq!(refused("[]"), "found an object without type, allowed: a GeoJSON document");
        let polygon = |rings: &str| format!(r#"{{"type": "Polygon", "coordinates": {rings}}}"#);
        assert_eq!(refused(&polygon("[]")), "found a polygon without an outline, allowed: one or more");
        assert_eq!(
            refused(&polygon("[[[0, 0], [1, 1], [0, 0]]]")),
            "found an outline of 2 corners, allowed: 3 or more"
        );
        assert_eq!(
            refused(&polygon("[[[0, \"x\"]]]")),
            "found [0,\"x\"] as a position, allowed: two numbers"
        );
        assert_eq!(
            refused(&polygon("[[[0, 1e9], [1, 1], [0, 0]]]")),
            "found [0,1000000000.0], allowed: -1e7 to 1e7 m, or degrees with the key origin"
        );
        let loud = TOWN.replace("\"wall_db\": 5", "\"wall_db\": -5");
        assert_eq!(refused(&loud), "found -5 as wall_db, allowed: a number from 0 to 1000");
        let deep = "[".repeat(1_000_000);
        assert!(refused(&deep).starts_with("not a JSON document: "));
    }
}
