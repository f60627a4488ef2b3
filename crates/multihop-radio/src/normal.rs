//! Draws from the normal distribution.

use multihop_core::Rng;

/// Two independent draws from the standard normal distribution (Marsaglia's polar method).
pub(crate) fn normals(rng: &mut Rng) -> (f64, f64) {
    loop {
        let (x, y) = (rng.range(-1.0, 1.0), rng.range(-1.0, 1.0));
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            let scale = (-2.0 * libm::log(s) / s).sqrt();
            return (x * scale, y * scale);
        }
    }
}
