//! Pose and velocity of one body.

use super::Body;
use crate::math::rotate;
use nalgebra::Vector2;

/// Pose and velocity of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Position of the centre of mass, world, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of the angle.
    pub rotation: Vector2<f64>,
    /// Angle, rad, anticlockwise, not wrapped.
    pub angle_rad: f64,
    /// Velocity of the centre of mass, world, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Angular velocity, rad/s, anticlockwise.
    pub angular_velocity_rad_per_s: f64,
}

impl BodyState {
    /// The state at rest at the origin.
    pub const AT_REST: Self = Self {
        centre_m: Vector2::new(0.0, 0.0),
        rotation: Vector2::new(1.0, 0.0),
        angle_rad: 0.0,
        velocity_m_per_s: Vector2::new(0.0, 0.0),
        angular_velocity_rad_per_s: 0.0,
    };

    /// Returns the position of the origin of the body's shape frame, world, m, and a copy of this state with the
    /// velocity of that origin.
    pub fn at_origin(&self, body: &Body) -> (Vector2<f64>, Self) {
        let origin_from_centre = rotate(self.rotation, -body.centre_m);
        let around = Vector2::new(-origin_from_centre.y, origin_from_centre.x) * self.angular_velocity_rad_per_s;
        let origin_m = self.centre_m - rotate(self.rotation, body.centre_m);
        (origin_m, Self { velocity_m_per_s: self.velocity_m_per_s + around, ..*self })
    }

    pub(crate) fn at_start(body: &Body) -> Self {
        let (centre_m, rotation) = body.start_pose();
        Self {
            centre_m,
            rotation,
            angle_rad: body.angle_rad,
            velocity_m_per_s: body.velocity_m_per_s,
            angular_velocity_rad_per_s: body.angular_velocity_rad_per_s,
        }
    }
}
