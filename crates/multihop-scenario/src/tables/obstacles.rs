//! Keys of the table `[obstacles]`.

use core::ops::RangeInclusive;

use multihop_core::settings::Settings;

use super::{LONGEST_TEXT, METRES_AWAY};

/// Houses and other obstacles.
// Sommer and others, 2011: houses at 5.9 GHz.
#[derive(Settings)]
pub(crate) struct ObstaclesTable {
    /// GeoJSON file of polygons, in degrees if the scenario has an origin and otherwise in metres; relative to the scenario's folder. A
    /// polygon's properties `wall_db` and `metre_db` take the place of those below.
    #[key(LONGEST_TEXT)]
    pub(crate) file: Option<String>,
    /// Further polygons, each a list of corners [x, y], m.
    #[key(METRES_AWAY)]
    pub(crate) polygons: Vec<Vec<[f64; 2]>>,
    /// Loss where a signal crosses an outline, dB.
    #[key(LOSS, default = 9.0)]
    pub(crate) wall_db: f64,
    /// Loss inside of an obstacle, dB per metre.
    #[key(LOSS, default = 0.4)]
    pub(crate) metre_db: f64,
}

/// Attenuations that obstacles may have, in dB.
pub(crate) const LOSS: RangeInclusive<f64> = 0.0..=1000.0;
