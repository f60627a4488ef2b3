//! Conversion of powers and ratios between decibels and linear values.

/// Converts a power from dBm to milliwatts.
pub fn dbm_to_mw(dbm: f64) -> f64 {
    from_db(dbm)
}

/// Converts milliwatts to dBm; 0 mW is minus infinity.
pub fn mw_to_dbm(mw: f64) -> f64 {
    10.0 * libm::log10(mw)
}

/// A ratio from decibels.
pub(crate) fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}
