//! The five-bar linkage of planar haptic devices: two motors on a base line, each with an upper and a lower link. The
//! lower links are joined at the handle.
//!
//! Motor 1 is at the origin, and motor 2 is at (base, 0). The upper links, of length l, end at the elbows A and B; the
//! lower links, of length L, meet at the handle P. Angles are measured anticlockwise from the x axis. Of the two
//! possible handle positions for given motor angles, P is the one to the left of the line from A to B. For a given
//! handle position, A is to the left of the line from motor 1 to the handle, and B is to the right of the line from
//! motor 2 to the handle. Virtual work gives the torques τ = Jᵀ·F for a force F on the hand, where J is the Jacobian
//! from motor speeds to handle velocity.

use nalgebra::{Matrix2, Vector2};

/// Smallest permitted sine of the angle between the lower links. Poses with a smaller sine count as singular: the
/// motors cannot resist a push in one direction, and entries of the Jacobian become very large. In well-conditioned
/// poses the sine is above 0.2.
const MIN_LINK_SINE: f64 = 1e-3;

/// Maximum excess of a cosine's magnitude over 1 that is attributed to rounding at the edge of the travel. Beyond it,
/// the handle position is unreachable.
const EDGE_ROUNDING: f64 = 1e-12;

/// Reason the kinematics have no solution for a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoseError {
    /// The linkage cannot reach the pose.
    Unreachable,
    /// The lower links are parallel, or nearly so.
    Singular {
        /// Sine of the angle between the lower links.
        link_sine: f64,
    },
    /// An input is not finite.
    NotFinite,
}

impl core::fmt::Display for PoseError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Unreachable => write!(out, "the linkage cannot reach this pose"),
            Self::Singular { link_sine } => {
                write!(out, "the lower links are parallel (sine {link_sine:.1e}): move the handle towards the middle")
            }
            Self::NotFinite => write!(out, "the pose is not made of finite numbers"),
        }
    }
}

impl std::error::Error for PoseError {}

/// Lengths of a five-bar linkage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pantograph {
    /// Distance from each motor to its elbow, m.
    pub upper_link_m: f64,
    /// Distance from each elbow to the handle, m.
    pub lower_link_m: f64,
    /// Distance from motor 1 to motor 2, m.
    pub base_m: f64,
}

/// Motor angles of the linkage, and the positions of its elbows and handle.
#[derive(Clone, Copy, Debug)]
struct Pose {
    angles_rad: Vector2<f64>,
    elbow_1_m: Vector2<f64>,
    elbow_2_m: Vector2<f64>,
    handle_m: Vector2<f64>,
}

impl Pantograph {
    /// Linkage of the Haply 2diy, version 3 (plastic).
    pub const HAPLY_V3: Self = Self { upper_link_m: 0.07, lower_link_m: 0.09, base_m: 0.038 };
    /// Linkage of the Haply 2diy, version 2 (metal), whose motors share one axis.
    pub const HAPLY_V2: Self = Self { upper_link_m: 0.07, lower_link_m: 0.09, base_m: 0.0 };
    /// Linkage of the older Haply kit.
    pub const HAPLY_KIT: Self = Self { upper_link_m: 0.05, lower_link_m: 0.07, base_m: 0.02 };

    /// Returns the handle position for two motor angles, m.
    ///
    /// Real-time: four trigonometric functions, two square roots.
    pub fn handle_m(&self, angles_rad: Vector2<f64>) -> Result<Vector2<f64>, PoseError> {
        Ok(self.pose(angles_rad)?.handle_m)
    }

    /// Returns the motor angles for a handle position, rad, from −π to π.
    ///
    /// Real-time: four inverse and four plain trigonometric functions.
    pub fn angles_rad(&self, handle_m: Vector2<f64>) -> Result<Vector2<f64>, PoseError> {
        if !(handle_m.x.is_finite() && handle_m.y.is_finite()) {
            return Err(PoseError::NotFinite);
        }
        let from_motor_2 = Vector2::new(handle_m.x - self.base_m, handle_m.y);
        let angles_rad = Vector2::new(
            wrapped(direction_rad(handle_m) + self.bend_rad(handle_m)?),
            wrapped(direction_rad(from_motor_2) - self.bend_rad(from_motor_2)?),
        );
        let [elbow_1_m, elbow_2_m] = self.elbows_m(angles_rad);
        let on_the_far_side = cross(elbow_2_m - elbow_1_m, handle_m - elbow_1_m) >= 0.0;
        if on_the_far_side { Ok(angles_rad) } else { Err(PoseError::Unreachable) }
    }

    /// Returns the Jacobian from motor speeds to handle velocity, m/rad.
    ///
    /// Real-time: same as [`Self::handle_m`], plus four trigonometric functions and one 2×2 inverse.
    pub fn jacobian(&self, angles_rad: Vector2<f64>) -> Result<Matrix2<f64>, PoseError> {
        Ok(self.jacobian_at(&self.pose(angles_rad)?))
    }

    /// Returns the motor torques, N·m, that apply a force to the hand.
    ///
    /// Real-time: same as [`Self::jacobian`].
    pub fn torques_n_m(&self, angles_rad: Vector2<f64>, force_n: Vector2<f64>) -> Result<Vector2<f64>, PoseError> {
        Ok(self.jacobian(angles_rad)?.tr_mul(&force_n))
    }

    fn elbows_m(&self, angles_rad: Vector2<f64>) -> [Vector2<f64>; 2] {
        let (sine_1, cosine_1) = libm::sincos(angles_rad.x);
        let (sine_2, cosine_2) = libm::sincos(angles_rad.y);
        let elbow_1_m = Vector2::new(cosine_1, sine_1) * self.upper_link_m;
        let elbow_2_m = Vector2::new(self.base_m, 0.0) + Vector2::new(cosine_2, sine_2) * self.upper_link_m;
        [elbow_1_m, elbow_2_m]
    }

    fn pose(&self, angles_rad: Vector2<f64>) -> Result<Pose, PoseError> {
        if !(angles_rad.x.is_finite() && angles_rad.y.is_finite()) {
            return Err(PoseError::NotFinite);
        }
        let [elbow_1_m, elbow_2_m] = self.elbows_m(angles_rad);
        let across = elbow_2_m - elbow_1_m;
        let half_width = 0.5 * across.norm();
        let height_squared = self.lower_link_m * self.lower_link_m - half_width * half_width;
        if height_squared < 0.0 {
            return Err(PoseError::Unreachable);
        }
        // If the elbows coincide, the handle can rotate about them and its position is undetermined.
        let height_m = height_squared.sqrt();
        let link_sine = 2.0 * half_width * height_m / (self.lower_link_m * self.lower_link_m);
        if link_sine < MIN_LINK_SINE {
            return Err(PoseError::Singular { link_sine });
        }
        let left = Vector2::new(-across.y, across.x) / (2.0 * half_width);
        let handle_m = (elbow_1_m + elbow_2_m) * 0.5 + left * height_m;
        Ok(Pose { angles_rad, elbow_1_m, elbow_2_m, handle_m })
    }

    /// Returns the Jacobian at a pose. It follows from (P−A)·(P'−A') = 0 and (P−B)·(P'−B') = 0, where ' denotes a
    /// velocity: both lower links keep their lengths.
    fn jacobian_at(&self, pose: &Pose) -> Matrix2<f64> {
        let (link_1, link_2) = (pose.handle_m - pose.elbow_1_m, pose.handle_m - pose.elbow_2_m);
        let elbow_speed = |angle_rad: f64| {
            let (sine, cosine) = libm::sincos(angle_rad);
            Vector2::new(-sine, cosine) * self.upper_link_m
        };
        let gain_1 = link_1.dot(&elbow_speed(pose.angles_rad.x));
        let gain_2 = link_2.dot(&elbow_speed(pose.angles_rad.y));
        let determinant = cross(link_1, link_2);
        let column_1 = Vector2::new(link_2.y, -link_2.x) * (gain_1 / determinant);
        let column_2 = Vector2::new(-link_1.y, link_1.x) * (gain_2 / determinant);
        Matrix2::from_columns(&[column_1, column_2])
    }

    /// Returns the angle at a motor between the directions to the handle and to the elbow, from the law of cosines.
    fn bend_rad(&self, from_motor_m: Vector2<f64>) -> Result<f64, PoseError> {
        let (upper, lower, reach) = (self.upper_link_m, self.lower_link_m, from_motor_m.norm());
        let cosine = (upper * upper + reach * reach - lower * lower) / (2.0 * upper * reach);
        // This also rejects a handle at the motor itself, where the cosine is infinite or NaN.
        if cosine.abs() <= 1.0 + EDGE_ROUNDING {
            Ok(libm::acos(cosine.clamp(-1.0, 1.0)))
        } else {
            Err(PoseError::Unreachable)
        }
    }
}

fn direction_rad(way: Vector2<f64>) -> f64 {
    libm::atan2(way.y, way.x)
}

fn cross(left: Vector2<f64>, right: Vector2<f64>) -> f64 {
    left.x * right.y - left.y * right.x
}

fn wrapped(angle_rad: f64) -> f64 {
    use core::f64::consts::{PI, TAU};
    if angle_rad > PI {
        angle_rad - TAU
    } else if angle_rad < -PI {
        angle_rad + TAU
    } else {
        angle_rad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xorshift::Xorshift;

    const ALL: [Pantograph; 3] = [Pantograph::HAPLY_V3, Pantograph::HAPLY_V2, Pantograph::HAPLY_KIT];

    /// Returns reachable handle positions in front of the base, away from the edge, with their motor angles.
    fn poses(linkage: Pantograph) -> Vec<(Vector2<f64>, Vector2<f64>)> {
        let mut random = Xorshift::new(5);
        let reach = linkage.upper_link_m + linkage.lower_link_m;
        let mut found = Vec::new();
        for _ in 0..4000 {
            let handle = Vector2::new(random.between(-0.8, 0.8) * reach, random.between(0.2, 0.98) * reach);
            if let Ok(angles) = linkage.angles_rad(handle)
                && linkage.jacobian(angles).is_ok()
            {
                found.push((handle, angles));
            }
        }
        assert!(found.len() > 1000, "{} poses", found.len());
        found
    }

    #[test]
    fn inverse_and_forward_agree_over_the_workspace() {
        for linkage in ALL {
            for (handle, angles) in poses(linkage) {
                let again = linkage.handle_m(angles).unwrap();
                assert!((again - handle).norm() < 1e-9, "{linkage:?} at {handle} gives {again}");
            }
        }
    }

    #[test]
    fn the_links_have_their_lengths() {
        for linkage in ALL {
            for (handle, angles) in poses(linkage) {
                for elbow in linkage.elbows_m(angles) {
                    assert!(((handle - elbow).norm() - linkage.lower_link_m).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_jacobian_is_the_derivative_of_the_handle() {
        let step = 1e-6;
        for linkage in ALL {
            for (_, angles) in poses(linkage) {
                let jacobian = linkage.jacobian(angles).unwrap();
                for axis in 0..2 {
                    let mut way = Vector2::zeros();
                    way[axis] = step;
                    let (Ok(ahead), Ok(behind)) = (linkage.handle_m(angles + way), linkage.handle_m(angles - way))
                    else {
                        continue;
                    };
                    let difference = (ahead - behind) / (2.0 * step);
                    let error = (jacobian.column(axis) - difference).norm();
                    // The error of the difference quotient grows with the gain, towards singular poses.
                    let allowed = 1e-9 * (1.0 + (jacobian.norm() / linkage.upper_link_m).powi(5));
                    assert!(error < allowed, "{linkage:?} at {angles}: off by {error}");
                }
            }
        }
    }

    #[test]
    fn torques_do_the_work_of_the_force() {
        let mut random = Xorshift::new(9);
        for linkage in ALL {
            for (_, angles) in poses(linkage) {
                let force = Vector2::new(random.between(-3.0, 3.0), random.between(-3.0, 3.0));
                let turn = Vector2::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0));
                let at_the_motors = linkage.torques_n_m(angles, force).unwrap().dot(&turn);
                let at_the_handle = force.dot(&(linkage.jacobian(angles).unwrap() * turn));
                assert!((at_the_motors - at_the_handle).abs() < 1e-9 * (1.0 + at_the_handle.abs()));
            }
        }
    }

    #[test]
    fn a_symmetric_pose_answers_a_push_with_opposite_torques() {
        let linkage = Pantograph::HAPLY_V3;
        let angles = linkage.angles_rad(Vector2::new(0.019, 0.11)).unwrap();
        assert!((angles.x + angles.y - core::f64::consts::PI).abs() < 1e-12, "mirror images: {angles}");
        let torques = linkage.torques_n_m(angles, Vector2::new(0.0, 2.0)).unwrap();
        assert!((torques.x + torques.y).abs() < 1e-12 && torques.x < 0.0, "pushing out closes the arms: {torques}");
    }

    #[test]
    fn full_torque_of_the_haply_is_two_to_three_newtons_in_the_middle() {
        let linkage = Pantograph::HAPLY_V3;
        let angles = linkage.angles_rad(Vector2::new(0.019, 0.10)).unwrap();
        let per_newton = linkage.torques_n_m(angles, Vector2::new(0.0, 1.0)).unwrap().amax();
        assert!((1.5..4.0).contains(&(0.123 / per_newton)), "{} N", 0.123 / per_newton);
    }

    #[test]
    fn places_out_of_reach_are_unreachable() {
        for linkage in ALL {
            let reach = linkage.upper_link_m + linkage.lower_link_m;
            for handle in [
                Vector2::new(0.0, reach * 1.01),
                Vector2::new(0.0, 0.0),
                Vector2::new(0.001, 0.001),
                Vector2::new(-5.0, 3.0),
            ] {
                assert_eq!(linkage.angles_rad(handle), Err(PoseError::Unreachable), "{linkage:?} {handle}");
            }
            assert_eq!(linkage.angles_rad(Vector2::new(f64::NAN, 0.1)), Err(PoseError::NotFinite));
            assert_eq!(linkage.handle_m(Vector2::new(0.1, f64::INFINITY)), Err(PoseError::NotFinite));
        }
    }

    #[test]
    fn a_handle_that_needs_the_other_assembly_is_unreachable() {
        // The links are long enough for this position close below the motors, but forward kinematics would put the
        // handle on the other side of the elbows.
        let below = Vector2::new(0.0221, -0.0189);
        assert_eq!(Pantograph::HAPLY_V3.angles_rad(below), Err(PoseError::Unreachable));
    }

    #[test]
    fn elbows_too_far_apart_are_unreachable() {
        let apart = Vector2::new(core::f64::consts::PI, 0.0);
        let short = Pantograph { lower_link_m: 0.05, ..Pantograph::HAPLY_V3 };
        assert_eq!(short.handle_m(apart), Err(PoseError::Unreachable));
    }

    #[test]
    fn parallel_lower_links_are_singular_and_never_infinite() {
        // Coincident elbows.
        let folded = Vector2::new(1.0, 1.0);
        assert!(matches!(Pantograph::HAPLY_V2.jacobian(folded), Err(PoseError::Singular { .. })));
        // Collinear lower links: the elbows are exactly two lower links apart.
        let flat = Pantograph { upper_link_m: 0.07, lower_link_m: 0.09, base_m: 0.04 };
        let straight = Vector2::new(core::f64::consts::PI, 0.0);
        assert!(flat.jacobian(straight).is_err());
        let mut random = Xorshift::new(3);
        for _ in 0..10_000 {
            let angles = Vector2::new(random.between(-4.0, 4.0), random.between(-4.0, 4.0));
            if let Ok(jacobian) = Pantograph::HAPLY_V3.jacobian(angles) {
                let bound = 2.0 * 0.07 / MIN_LINK_SINE;
                assert!(jacobian.iter().all(|value| value.abs() <= bound), "{jacobian}");
            }
        }
    }

    #[test]
    fn a_stretched_arm_at_the_edge_is_reached_and_gives_finite_torques() {
        let linkage = Pantograph::HAPLY_V3;
        let edge = Vector2::new(libm::cos(1.3), libm::sin(1.3)) * 0.16;
        let angles = linkage.angles_rad(edge).unwrap();
        let torques = linkage.torques_n_m(angles, Vector2::new(1.0, 1.0)).unwrap();
        assert!(torques.norm() < 1.0, "{torques}");
    }
}
