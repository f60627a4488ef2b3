use multihop_core::Rng;

use crate::grid::Point;

/// The rectangle from the origin to (`width`, `height`), metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Extent from west to east, in metres.
    pub width: f64,
    /// Extent from north to south, in metres.
    pub height: f64,
}

impl Area {
    /// A uniformly distributed point.
    pub(super) fn draw(self, rng: &mut Rng) -> Point {
        Point { x: rng.range(0.0, self.width), y: rng.range(0.0, self.height) }
    }

    /// Panics if the area is empty.
    pub(super) fn check(self) {
        assert!(
            self.width > 0.0 && self.height > 0.0 && self.width.is_finite() && self.height.is_finite(),
            "an area of {} m x {} m has no room",
            self.width,
            self.height
        );
    }
}
