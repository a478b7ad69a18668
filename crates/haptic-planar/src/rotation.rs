//! Turning by small angles without trigonometry: the same bits everywhere.

use nalgebra::Vector2;

/// Largest angle of one tick that the polynomial turns, rad; its error there is below 1e-16.
const SMALL_RAD: f64 = 0.1;

/// (cos, sin) after a further turn by `angle`. Real-time: constant.
#[inline]
pub fn integrate_rotation(rotation: Vector2<f64>, angle: f64) -> Vector2<f64> {
    let (sin, cos) = if angle.abs() <= SMALL_RAD { small_sin_cos(angle) } else { libm::sincos(angle) };
    let next = Vector2::new(rotation.x * cos - rotation.y * sin, rotation.x * sin + rotation.y * cos);
    // One Newton step towards unit length keeps rounding from adding up over hours.
    next * (1.5 - 0.5 * next.norm_squared())
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
    fn small_turns_agree_with_the_library() {
        for i in -1000..=1000 {
            let x = f64::from(i) * 1e-4;
            let (sin, cos) = small_sin_cos(x);
            assert!((sin - libm::sin(x)).abs() < 2e-16 && (cos - libm::cos(x)).abs() < 2e-16, "at {x}");
        }
    }

    #[test]
    fn a_million_turns_stay_on_the_unit_circle() {
        let mut rotation = Vector2::new(1.0, 0.0);
        for _ in 0..1_000_000 {
            rotation = integrate_rotation(rotation, 0.037);
        }
        assert!((rotation.norm() - 1.0).abs() < 1e-15);
    }
}
