//! Axis-aligned rectangles in the world.

use nalgebra::Vector2;

/// An axis-aligned rectangle, m; empty until a disc is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower left corner.
    pub low_m: Vector2<f64>,
    /// Upper right corner.
    pub high_m: Vector2<f64>,
}

impl Bounds {
    /// The empty rectangle.
    pub fn empty() -> Self {
        Self { low_m: Vector2::repeat(f64::INFINITY), high_m: Vector2::repeat(f64::NEG_INFINITY) }
    }

    /// Grows to contain a disc.
    pub fn add(&mut self, centre_m: Vector2<f64>, radius_m: f64) {
        self.low_m = self.low_m.inf(&centre_m.add_scalar(-radius_m));
        self.high_m = self.high_m.sup(&centre_m.add_scalar(radius_m));
    }

    /// The rectangle widened by a distance on every side.
    pub fn widened(&self, by_m: f64) -> Self {
        Self { low_m: self.low_m.add_scalar(-by_m), high_m: self.high_m.add_scalar(by_m) }
    }

    /// The smallest rectangle that contains both.
    pub fn joined(&self, other: &Self) -> Self {
        Self { low_m: self.low_m.inf(&other.low_m), high_m: self.high_m.sup(&other.high_m) }
    }

    /// The intersection of both.
    pub fn common(&self, other: &Self) -> Self {
        Self { low_m: self.low_m.sup(&other.low_m), high_m: self.high_m.inf(&other.high_m) }
    }

    /// Width and height, m.
    pub fn size_m(&self) -> Vector2<f64> {
        self.high_m - self.low_m
    }

    /// Centre, m.
    pub fn middle_m(&self) -> Vector2<f64> {
        (self.low_m + self.high_m) / 2.0
    }

    /// Whether it contains no point.
    pub fn is_empty(&self) -> bool {
        self.low_m.x > self.high_m.x || self.low_m.y > self.high_m.y
    }
}
