//! Axis-aligned rectangles in the world frame.

use nalgebra::Vector2;

/// An axis-aligned rectangle, world frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower left corner, m.
    pub low_m: Vector2<f64>,
    /// Upper right corner, m.
    pub high_m: Vector2<f64>,
}

impl Bounds {
    /// Returns an empty rectangle. Discs can be added to it.
    pub fn empty() -> Self {
        Self { low_m: Vector2::repeat(f64::INFINITY), high_m: Vector2::repeat(f64::NEG_INFINITY) }
    }

    /// Grows the rectangle to contain a disc.
    pub fn add(&mut self, centre_m: Vector2<f64>, radius_m: f64) {
        self.low_m = self.low_m.inf(&centre_m.add_scalar(-radius_m));
        self.high_m = self.high_m.sup(&centre_m.add_scalar(radius_m));
    }

    /// Returns the rectangle widened by a distance on every side.
    pub fn widened(&self, by_m: f64) -> Self {
        Self { low_m: self.low_m.add_scalar(-by_m), high_m: self.high_m.add_scalar(by_m) }
    }

    /// Returns the smallest rectangle that contains both.
    pub fn joined(&self, other: &Self) -> Self {
        Self { low_m: self.low_m.inf(&other.low_m), high_m: self.high_m.sup(&other.high_m) }
    }

    /// Returns the intersection of two rectangles.
    pub fn common(&self, other: &Self) -> Self {
        Self { low_m: self.low_m.sup(&other.low_m), high_m: self.high_m.inf(&other.high_m) }
    }

    /// Returns the width and height, m.
    pub fn size_m(&self) -> Vector2<f64> {
        self.high_m - self.low_m
    }

    /// Returns the centre, m.
    pub fn middle_m(&self) -> Vector2<f64> {
        (self.low_m + self.high_m) / 2.0
    }

    /// Whether the rectangle contains no point.
    pub fn is_empty(&self) -> bool {
        self.low_m.x > self.high_m.x || self.low_m.y > self.high_m.y
    }
}
