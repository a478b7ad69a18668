//! Cuts that narrow the cone of directions in which a corner can be touched.

use crate::math::cross;
use crate::shape::piece::Cone;
use nalgebra::Vector2;
use std::f64::consts::{PI, TAU};

/// Angular tolerance of a cut, rad. A cut that would remove less than this angle is ignored, and a cone that misses the
/// remaining half turn by less than this angle keeps one direction. The tolerance covers rounding errors of normals
/// that should be equal, and the tilt between tiles with steps of up to 20 µm.
const SLACK_RAD: f64 = 1e-3;

/// Returns what remains of a cone after the directions d with d·`tangent` > 0 are removed. `own` is the corner's uncut
/// cone, from the normal of the edge before the corner anticlockwise to that of the edge after it.
pub(super) fn cut(cone: Cone, own: (Vector2<f64>, Vector2<f64>), tangent: Vector2<f64>) -> Cone {
    let (low, high) = match cone {
        Cone::Full => own,
        Cone::Between(low, high) => (low, high),
        Cone::Empty => return Cone::Empty,
    };
    match cut_arc(low, high, tangent) {
        Some(left) if left == own => Cone::Full,
        Some((low, high)) => Cone::Between(low, high),
        None => Cone::Empty,
    }
}

fn cut_arc(low: Vector2<f64>, high: Vector2<f64>, tangent: Vector2<f64>) -> Option<(Vector2<f64>, Vector2<f64>)> {
    let width_rad = angle_rad(low, high).max(0.0);
    // The open half turn starts a quarter turn after the tangent. Angles are measured from `low`.
    let opening = Vector2::new(-tangent.y, tangent.x);
    let start_rad = angle_rad(low, opening);
    let overlap = |start_rad: f64| (start_rad.max(0.0), (start_rad + PI).min(width_rad));
    let (here, before) = (overlap(start_rad), overlap(start_rad - TAU));
    let (from, to) = if here.1 - here.0 >= before.1 - before.0 { here } else { before };
    let snap = |angle_rad: f64, between: Vector2<f64>| match angle_rad {
        // The nearer end of the cone is chosen, so that a cone narrower than the slack keeps both of its ends.
        _ if angle_rad <= SLACK_RAD && angle_rad <= 0.5 * width_rad => low,
        _ if angle_rad >= width_rad - SLACK_RAD => high,
        _ => between,
    };
    (to - from >= -SLACK_RAD).then(|| (snap(from, opening), snap(to, -opening)))
}

/// Returns the angle from one direction to another, anticlockwise, in (−π, π].
fn angle_rad(from: Vector2<f64>, to: Vector2<f64>) -> f64 {
    libm::atan2(cross(from, to), from.dot(&to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn direction(angle_rad: f64) -> Vector2<f64> {
        Vector2::new(libm::cos(angle_rad), libm::sin(angle_rad))
    }

    const RIGHT: Vector2<f64> = Vector2::new(1.0, 0.0);
    const UP: Vector2<f64> = Vector2::new(0.0, 1.0);

    #[test]
    fn a_cut_along_one_side_leaves_that_direction_alone() {
        assert_eq!(cut(Cone::Full, (RIGHT, UP), RIGHT), Cone::Between(UP, UP));
        assert_eq!(cut(Cone::Full, (RIGHT, UP), UP), Cone::Between(RIGHT, RIGHT));
    }

    #[test]
    fn a_single_direction_survives_cuts_that_graze_it() {
        let single = Cone::Between(UP, UP);
        assert_eq!(cut(single, (RIGHT, UP), RIGHT), single);
        assert_eq!(cut(single, (RIGHT, UP), -RIGHT), single);
        assert_eq!(cut(single, (RIGHT, UP), -UP), single);
        assert_eq!(cut(single, (RIGHT, UP), UP), Cone::Empty);
    }

    #[test]
    fn a_cut_that_misses_leaves_the_cone_full() {
        assert_eq!(cut(Cone::Full, (RIGHT, UP), -RIGHT), Cone::Full);
        assert_eq!(cut(Cone::Full, (RIGHT, UP), direction(-2.3)), Cone::Full);
    }

    #[test]
    fn a_cut_through_the_middle_keeps_the_far_half() {
        let Cone::Between(low, high) = cut(Cone::Full, (RIGHT, UP), direction(-0.785)) else { panic!("not cut") };
        assert!((low - direction(0.785_796_326_794_897)).norm() < 1e-9);
        assert_eq!(high, UP);
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_the_tangent_does_not_point_along(
            low in -3.0..3.0f64, width in 0.01..3.1f64, tangent in -3.2..3.2f64, share in 0.0..1.0f64,
        ) {
            let own = (direction(low), direction(low + width));
            let probe = direction(low + share * width);
            let along = probe.dot(&direction(tangent));
            // A cone of almost half a turn can be cut in two; only its larger part is kept. Such cones are not tested
            // here.
            prop_assume!(along.abs() > 2e-3 && width < 3.0);
            let kept = match cut(Cone::Full, own, direction(tangent)) {
                Cone::Full => true,
                Cone::Empty => false,
                Cone::Between(low, high) => cross(low, probe) >= -1e-9 && cross(probe, high) >= -1e-9,
            };
            prop_assert_eq!(kept, along < 0.0);
        }

        #[test]
        fn directions_that_agree_to_rounding_errors_are_the_same(angle in -3.0..3.0f64, error in -1e-9..1e-9f64) {
            let (right, up) = (direction(angle), direction(angle + PI / 2.0));
            let left = cut(cut(Cone::Full, (right, up), direction(angle + error)), (right, up), -up);
            prop_assert_eq!(left, Cone::Between(up, up));
        }
    }
}
