//! Measurements from outside the simulation, and assertions that print the measured value.

use super::Lab;
use haptic_planar::shape::piece::PlacedPiece;

/// Fails with the measured value if it is not below the limit; NaN fails too.
#[track_caller]
pub fn assert_below(what: &str, measured: f64, limit: f64) {
    assert!(measured < limit, "{what}: {measured:.4e}, must be below {limit:.1e}");
}

/// Fails with the measured value if it differs from `expected` by more than the relative `tolerance`.
#[track_caller]
pub fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let off = (measured / expected - 1.0).abs();
    assert!(
        off <= tolerance,
        "{what}: {measured:.9}, must be {expected:.9} within {tolerance:.1e}, is off by {off:.2e}"
    );
}

/// Samples of a value that should be steady.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the root mean square deviation relative to the mean.
    pub fn ripple(&self) -> f64 {
        let mean = self.mean();
        let square = self.0.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / self.0.len() as f64;
        square.sqrt() / mean.abs()
    }

    /// Returns the largest relative deviation of any sample from a value.
    pub fn worst_from(&self, value: f64) -> f64 {
        self.0.iter().map(|v| (v / value - 1.0).abs()).fold(0.0, f64::max)
    }

    pub fn quantile(&self, fraction: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * fraction) as usize]
    }
}

/// Returns the overlap of the outlines of two bodies, m, computed from their poses alone; negative if they are apart.
pub fn overlap_m(lab: &Lab, a: usize, b: usize) -> f64 {
    let mut deepest = f64::NEG_INFINITY;
    for i in lab.scene.bodies[a].pieces.clone() {
        for j in lab.scene.bodies[b].pieces.clone() {
            let radii = lab.scene.pieces[i].radius_m + lab.scene.pieces[j].radius_m;
            deepest = deepest.max(radii - separation_m(&placed(lab, i), &placed(lab, j)));
        }
    }
    deepest
}

/// Returns the deepest overlap of any two bodies that can touch, m, computed from their poses alone.
pub fn worst_overlap_m(lab: &Lab) -> f64 {
    let bodies = &lab.scene.bodies;
    let mut worst = f64::NEG_INFINITY;
    for a in 0..bodies.len() {
        for b in a + 1..bodies.len() {
            if bodies[a].layer == bodies[b].layer && !(bodies[a].fixed && bodies[b].fixed) && can_meet(lab, a, b) {
                worst = worst.max(overlap_m(lab, a, b));
            }
        }
    }
    worst
}

/// Whether the bounding circles of two bodies overlap.
fn can_meet(lab: &Lab, a: usize, b: usize) -> bool {
    let reach = |body: usize| {
        let pieces = &lab.scene.pieces[lab.scene.bodies[body].pieces.clone()];
        pieces.iter().map(|piece| piece.reach_m).fold(0.0, f64::max)
    };
    (lab.state.bodies[a].centre_m - lab.state.bodies[b].centre_m).norm() < reach(a) + reach(b)
}

fn placed(lab: &Lab, piece: usize) -> PlacedPiece {
    let piece = &lab.scene.pieces[piece];
    let body = &lab.state.bodies[piece.body as usize];
    PlacedPiece::new(piece, body.centre_m, body.rotation)
}

/// Returns the largest separation along any face normal or line between corners, m: the distance between the cores or,
/// if they overlap, minus their depth.
pub fn separation_m(a: &PlacedPiece, b: &PlacedPiece) -> f64 {
    let mut max = f64::NEG_INFINITY;
    for (of, other) in [(a, b), (b, a)] {
        for i in 0..of.count {
            let height = |j: usize| of.normals[i].dot(&(other.corners[j] - of.corners[i]));
            if of.count > 1 {
                max = max.max((0..other.count).map(height).fold(f64::INFINITY, f64::min));
            }
        }
    }
    for i in 0..a.count {
        for j in 0..b.count {
            let between = b.corners[j] - a.corners[i];
            let size = between.norm();
            if size > 0.0 {
                max = max.max(gap_along(a, b, between / size));
            }
        }
    }
    max
}

fn gap_along(a: &PlacedPiece, b: &PlacedPiece, axis: nalgebra::Vector2<f64>) -> f64 {
    let low = b.corners[..b.count].iter().map(|c| axis.dot(c)).fold(f64::INFINITY, f64::min);
    let high = a.corners[..a.count].iter().map(|c| axis.dot(c)).fold(f64::NEG_INFINITY, f64::max);
    low - high
}
