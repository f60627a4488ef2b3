//! `[obstacles]`.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Settings, Value, Visitor};

use super::LONGEST_TEXT;
use super::mobility::numbers;

/// Houses and other obstacles.
pub(crate) struct ObstaclesTable {
    /// Relative to the scenario's folder.
    pub(crate) file: Option<String>,
    pub(crate) polygons: Vec<Vec<[f64; 2]>>,
    pub(crate) wall_db: f64,
    pub(crate) metre_db: f64,
}

impl Default for ObstaclesTable {
    fn default() -> Self {
        // Sommer and others, 2011: houses at 5.9 GHz.
        Self { file: None, polygons: Vec::new(), wall_db: 9.0, metre_db: 0.4 }
    }
}

impl Settings for ObstaclesTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "A GeoJSON file of polygons, in degrees if the scenario has an origin and otherwise in metres; \
                     relative to the scenario's folder. A polygon's properties wall_db and metre_db take the place \
                     of those below.";
        keys.about(about).text_if_set("file", &mut self.file, LONGEST_TEXT);
        let coordinate = Allowed::Number(-1e7, 1e7);
        let corner = Allowed::List(&coordinate, Some(2));
        let polygon = Allowed::List(&corner, None);
        let about = "Further polygons, each a list of corners [x, y], m.";
        let given = keys.about(about).value("polygons", Allowed::List(&polygon, None), None);
        let polygon = |polygon: Value| {
            polygon.into_list().into_iter().map(|corner| numbers(corner.into_list())).collect()
        };
        self.polygons = given.map_or_else(Vec::new, |all| all.into_list().into_iter().map(polygon).collect());
        let about = "Loss where a signal crosses an outline, dB.";
        keys.about(about).number("wall_db", &mut self.wall_db, LOSS);
        keys.about("Loss inside, dB per metre.").number("metre_db", &mut self.metre_db, LOSS);
    }
}

/// dB.
pub(crate) const LOSS: RangeInclusive<f64> = 0.0..=1000.0;
