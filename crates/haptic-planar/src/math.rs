//! Comparisons, cross products, rotations and distances in the plane.

use nalgebra::Vector2;

/// Largest angle whose sine and cosine are computed by polynomials, rad. The truncation error is below 1e-18 up to this
/// angle.
const SMALL_RAD: f64 = 0.1;

/// Returns the larger of two numbers, or the second if the first is NaN, in one instruction; `f64::max` takes five.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the smaller of two numbers, or the second if the first is NaN, in one instruction.
#[inline]
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Whether two vectors have equal components, in half the instructions of the general comparison of matrices.
#[inline]
pub fn equal(a: Vector2<f64>, b: Vector2<f64>) -> bool {
    a.x == b.x && a.y == b.y
}

/// Returns the z-component of a × b: positive when `b` is anticlockwise of `a`. Swapping the arguments negates the
/// result exactly, so two tests of the same angle never contradict each other.
#[inline]
pub fn cross(a: Vector2<f64>, b: Vector2<f64>) -> f64 {
    a.x * b.y - a.y * b.x
}

/// Returns ω × r, the velocity of the end of the arm r that rotates at ω.
#[inline]
pub fn spin_cross(angular_velocity: f64, arm: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(-angular_velocity * arm.y, angular_velocity * arm.x)
}

/// Returns the tangent t = (n_y, −n_x) of a contact with the normal `n`.
#[inline]
pub fn tangent_of(n: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(n.y, -n.x)
}

/// Returns twice the signed area of the triangle a, b, c: positive if c is left of a→b.
#[inline]
pub fn cross_of(a: Vector2<f64>, b: Vector2<f64>, c: Vector2<f64>) -> f64 {
    cross(b - a, c - a)
}

/// Returns the distance from a point to the segment a–b, m.
pub fn distance_to_segment_m(point: Vector2<f64>, a: Vector2<f64>, b: Vector2<f64>) -> f64 {
    let along = b - a;
    let fraction = ((point - a).dot(&along) / along.norm_squared()).clamp(0.0, 1.0);
    (point - a - along * fraction).norm()
}

/// Returns a vector rotated by `rotation` = (cos, sin).
#[inline]
pub fn rotate(rotation: Vector2<f64>, v: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(rotation.x * v.x - rotation.y * v.y, rotation.y * v.x + rotation.x * v.y)
}

/// Returns a rotation (cos, sin) advanced by `angle`, rad. Gives the same bits on every machine. Real-time: constant.
#[inline]
pub fn integrate_rotation(rotation: Vector2<f64>, angle: f64) -> Vector2<f64> {
    let (sin, cos) = sin_cos(angle);
    let next = Vector2::new(rotation.x * cos - rotation.y * sin, rotation.x * sin + rotation.y * cos);
    // One Newton step towards unit length prevents rounding errors from accumulating over hours.
    next * (1.5 - 0.5 * next.norm_squared())
}

/// Returns the arm r of a rotation by `angle`, rad, of the arm `start`: the displacement of its end is exactly
/// S r · `angle`, where S is the quarter turn. It is the arm halfway, shortened by sin(x)/x with x = `angle`/2.
#[inline]
pub fn secant_arm(start: Vector2<f64>, angle: f64) -> Vector2<f64> {
    let half = angle / 2.0;
    if half == 0.0 {
        return start;
    }
    let (sin, cos) = sin_cos(half);
    rotate(Vector2::new(cos, sin), start) * (sin / half)
}

/// Returns the sine and cosine of an angle, rad. Gives the same bits on every machine.
#[inline]
fn sin_cos(angle: f64) -> (f64, f64) {
    if angle.abs() <= SMALL_RAD { small_sin_cos(angle) } else { libm::sincos(angle) }
}

#[inline]
fn small_sin_cos(x: f64) -> (f64, f64) {
    let q = x * x;
    let sin = x * (1.0 + q * (-1.0 / 6.0 + q * (1.0 / 120.0 + q * (-1.0 / 5_040.0 + q * (1.0 / 362_880.0)))));
    let cos =
        1.0 + q * (-0.5 + q * (1.0 / 24.0 + q * (-1.0 / 720.0 + q * (1.0 / 40_320.0 + q * (-1.0 / 3_628_800.0)))));
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rotations_agree_with_the_library() {
        for i in -1000..=1000 {
            let x = f64::from(i) * 1e-4;
            let (sin, cos) = small_sin_cos(x);
            assert!((sin - libm::sin(x)).abs() < 2e-16 && (cos - libm::cos(x)).abs() < 2e-16, "at {x}");
        }
    }

    #[test]
    fn the_secant_arm_gives_the_exact_displacement_of_the_end() {
        let start = Vector2::new(0.03, -0.02);
        for i in -300..=300 {
            let angle = f64::from(i) * 0.01;
            let (sin, cos) = libm::sincos(angle);
            let moved = rotate(Vector2::new(cos, sin), start) - start;
            assert!((spin_cross(angle, secant_arm(start, angle)) - moved).norm() < 1e-16, "at {angle}");
        }
    }

    #[test]
    fn a_million_rotations_stay_on_the_unit_circle() {
        let mut rotation = Vector2::new(1.0, 0.0);
        for _ in 0..1_000_000 {
            rotation = integrate_rotation(rotation, 0.037);
        }
        assert!((rotation.norm() - 1.0).abs() < 1e-15);
    }
}
