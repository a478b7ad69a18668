//! The few planar products that nalgebra leaves to the reader.

use nalgebra::Vector2;

/// z-component of a × b.
#[inline]
pub fn cross(a: Vector2<f64>, b: Vector2<f64>) -> f64 {
    a.x * b.y - a.y * b.x
}

/// spin × arm: the velocity that a spin gives to the end of an arm.
#[inline]
pub fn spin_cross(angular_velocity: f64, arm: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(-angular_velocity * arm.y, angular_velocity * arm.x)
}

/// The tangent of a contact whose normal is `n`: t = (n_y, −n_x).
#[inline]
pub fn tangent_of(n: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(n.y, -n.x)
}
