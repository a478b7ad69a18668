//! Axis-aligned bounding boxes.

use crate::shape::piece::PlacedPiece;
use nalgebra::Vector2;

/// Margin by which the *fat* box of a dynamic piece is larger than needed, m. A smaller margin causes more look-ups, a
/// larger one more near pairs that do not touch.
pub const AABB_MARGIN_M: f64 = 2e-3;

/// An axis-aligned box, world, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower left corner.
    pub low: Vector2<f64>,
    /// Upper right corner.
    pub high: Vector2<f64>,
}

impl Aabb {
    /// The empty box, which meets no other box.
    pub const NOWHERE: Self = Self {
        low: Vector2::new(f64::INFINITY, f64::INFINITY),
        high: Vector2::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    /// Returns the bounding box of a placed core, grown by `grow_m` on every side.
    #[inline]
    pub fn around(placed: &PlacedPiece, grow_m: f64) -> Self {
        let mut low = placed.corners[0];
        let mut high = low;
        for corner in &placed.corners[1..placed.count] {
            low = lower(low, *corner);
            high = upper(high, *corner);
        }
        let grow = Vector2::new(grow_m, grow_m);
        Self { low: low - grow, high: high + grow }
    }

    /// Returns the smallest box that contains this box before and after the displacement `by`.
    #[inline]
    pub fn swept(self, by: Vector2<f64>) -> Self {
        Self { low: self.low + lower(by, Vector2::zeros()), high: self.high + upper(by, Vector2::zeros()) }
    }

    /// Returns the smallest box that contains this box and another.
    #[inline]
    pub fn joined(self, other: &Self) -> Self {
        Self { low: self.low.inf(&other.low), high: self.high.sup(&other.high) }
    }

    /// Returns the box enlarged by `m` metres on every side.
    #[inline]
    pub fn grown(self, m: f64) -> Self {
        let grow = Vector2::new(m, m);
        Self { low: self.low - grow, high: self.high + grow }
    }

    /// Whether this box contains `inner`.
    #[inline]
    pub fn contains(&self, inner: &Self) -> bool {
        self.low.x <= inner.low.x
            && self.low.y <= inner.low.y
            && self.high.x >= inner.high.x
            && self.high.y >= inner.high.y
    }

    /// Whether the two boxes share a point.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }

    /// Returns four times the squared distance between the centres of the boxes, m².
    pub fn centre_distance(&self, other: &Self) -> f64 {
        (self.low + self.high - other.low - other.high).norm_squared()
    }
}

/// Returns the smaller coordinates of two points. Plain comparisons here and below: a minimum that handles NaN costs
/// three times as much.
#[inline]
fn lower(a: Vector2<f64>, b: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(if a.x < b.x { a.x } else { b.x }, if a.y < b.y { a.y } else { b.y })
}

/// Returns the larger coordinates of two points.
#[inline]
fn upper(a: Vector2<f64>, b: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(if a.x > b.x { a.x } else { b.x }, if a.y > b.y { a.y } else { b.y })
}
