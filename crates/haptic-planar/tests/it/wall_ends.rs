//! Tools at the ends of short, thin walls: they slide past the ends and rotate around them.

use crate::common::measure::assert_below;
use crate::common::*;
use nalgebra::vector;

/// With a margin of zero, a box that lies flat on a wall touched its face or not by rounding; if not, the opposite face
/// was the one of least depth.
#[test]
fn the_opposite_face_is_not_reported_when_a_box_slides_past_the_end_of_a_wall() {
    for run in 0..300 {
        let angle_rad = 0.01 * f64::from(run);
        let (sine, cosine) = libm::sincos(angle_rad);
        let (along, across) = (vector![cosine, sine], vector![-sine, cosine]);
        let wall = with(fixed("wall", box_shape(0.1, 0.0012), 0.0, 0.0), 1.0, 0.3, 0.0);
        let start = along * 0.04 + across * 0.0086;
        let mut tool = with(body("tool", box_shape(0.04, 0.016), start.x, start.y), 0.09, 0.3, 0.0);
        tool.velocity_m_per_s = along * 3.4;
        let mut bodies = [wall, tool];
        bodies.iter_mut().for_each(|body| body.angle_rad = angle_rad);
        let mut lab = Lab::new(&scene(0.0, bodies.to_vec(), None));
        lab.run_s(0.01);
        assert_below(&format!("angle {angle_rad}: penetration, m"), lab.penetration_m, 1e-5);
    }
}
