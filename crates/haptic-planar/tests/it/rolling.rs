//! Rolling discs, and the effects that slow them down.

use crate::common::measure::{assert_below, assert_near};
use crate::common::*;
use haptic_planar::tick::TICK_S;

const RADIUS_M: f64 = 0.01;
const MASS_KG: f64 = 0.1;

/// Returns a disc that slides onto a floor at 0.5 m/s without rotating; its inertia is this fraction of m r².
fn thrown(inertia_fraction: f64, friction: f64) -> Lab {
    let mut wheel = with(body("disc", disc(RADIUS_M), -0.9, RADIUS_M), MASS_KG, friction, 0.0);
    wheel.inertia_kg_m2 = Some(inertia_fraction * MASS_KG * RADIUS_M * RADIUS_M);
    wheel.velocity_m_per_s.x = 0.5;
    Lab::new(&scene(GRAVITY, vec![floor(friction, 0.0), wheel], None))
}

/// Returns the slip of the disc's lowest point, m/s.
fn slip(lab: &Lab) -> f64 {
    let wheel = lab.body("disc");
    wheel.velocity_m_per_s.x + wheel.angular_velocity_rad_per_s * RADIUS_M
}

#[test]
fn a_sliding_disc_ends_up_rolling_with_two_thirds_of_its_speed() {
    let mut lab = thrown(0.5, 0.2);
    lab.run_s(1.0);
    assert_near("speed, m/s", lab.body("disc").velocity_m_per_s.x, 0.5 * 2.0 / 3.0, 1e-12);
    assert_below("slip, m/s", slip(&lab).abs(), 1e-12);
}

#[test]
fn a_sliding_ball_ends_up_rolling_with_five_sevenths_of_its_speed() {
    let mut lab = thrown(0.4, 0.2);
    lab.run_s(1.0);
    assert_near("speed, m/s", lab.body("disc").velocity_m_per_s.x, 0.5 * 5.0 / 7.0, 1e-12);
}

#[test]
fn a_disc_starts_to_roll_when_friction_has_removed_its_slip() {
    let mut lab = thrown(0.5, 0.2);
    while slip(&lab).abs() > 1e-12 && lab.time_s() < 2.0 {
        lab.free();
    }
    let expected = 0.5 / (3.0 * 0.2 * GRAVITY);
    assert_below("time off, s", (lab.time_s() - expected).abs(), 1.01 * TICK_S);
}

#[test]
fn a_rolling_disc_keeps_rolling() {
    let mut lab = thrown(0.5, 0.2);
    lab.run_s(1.0);
    let speed = lab.body("disc").velocity_m_per_s.x;
    lab.run_s(3.0);
    assert_near("speed, m/s", lab.body("disc").velocity_m_per_s.x, speed, 1e-12);
    assert_below("penetration, m", lab.penetration_m, 1e-5);
}

#[test]
fn rolling_friction_stops_a_disc_after_the_expected_distance() {
    for lever_m in [1e-4, 5e-4, 1e-3] {
        let mut wheel = with(body("disc", disc(RADIUS_M), -0.9, RADIUS_M), MASS_KG, 0.5, 0.0);
        wheel.velocity_m_per_s.x = 0.3;
        wheel.angular_velocity_rad_per_s = -0.3 / RADIUS_M;
        let mut world = scene(GRAVITY, vec![floor(0.5, 0.0), wheel], None);
        world.rolling_friction = lever_m;
        let mut lab = Lab::new(&world);
        lab.run_s(6.0);
        // The torque ρ m g slows both translation and rotation: a = ρ g r / (r² + k²), and k² = r²/2 for a disc.
        let braking = lever_m * GRAVITY / (1.5 * RADIUS_M);
        let way = lab.body("disc").centre_m.x + 0.9;
        assert_near("distance, m", way, 0.3 * 0.3 / (2.0 * braking), 5.0 * braking * TICK_S / 0.3);
        assert_below("speed at the end, m/s", lab.body("disc").velocity_m_per_s.norm(), 1e-9);
        assert_below("energy gain, J", lab.gain_j(), 1e-12);
    }
}

#[test]
fn air_drag_slows_a_spin_exponentially() {
    let mut wheel = with(body("disc", disc(RADIUS_M), 0.0, 0.0), MASS_KG, 0.5, 0.0);
    wheel.angular_velocity_rad_per_s = 10.0;
    let mut world = scene(0.0, vec![wheel], None);
    world.air_drag_n_m_s_per_rad = 1e-5;
    let mut lab = Lab::new(&world);
    let rate = 1e-5 / (0.5 * MASS_KG * RADIUS_M * RADIUS_M);
    lab.run_s(0.5);
    assert_near("spin, rad/s", lab.body("disc").angular_velocity_rad_per_s, 10.0 * libm::exp(-0.5 * rate), 1e-3);
    lab.run_s(100.0);
    assert_below("spin at the end, rad/s", lab.body("disc").angular_velocity_rad_per_s.abs(), 1e-6);
}

#[test]
fn a_disc_rolled_by_the_hand_feels_no_friction() {
    let wheel = with(body("disc", disc(RADIUS_M), 0.0, RADIUS_M), MASS_KG, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.5, 0.0), wheel], Some("disc")));
    let down = lab.input.hand_m - nalgebra::vector![0.0, 0.005];
    lab.lead(down, 300, |_, _| ());
    let mut tick = 0;
    lab.lead(down + nalgebra::vector![0.1, 0.0], 2000, |lab, output| {
        tick += 1;
        if tick > 1000 {
            assert_below("tangential force, N", output.tool_tangent_n.abs(), 1e-6);
            assert_below("slip, m/s", slip(lab).abs(), 1e-9);
        }
    });
    assert_below("energy gain, J", lab.gain_j(), 1e-12);
}

#[test]
fn rolling_friction_holds_a_disc_on_a_gentle_slope() {
    // The disc stays at rest as long as tan(slope) < lever / radius.
    for (slope, held) in [(0.09, true), (0.11, false)] {
        let wheel = with(body("disc", disc(RADIUS_M), 0.0, RADIUS_M), MASS_KG, 0.5, 0.0);
        let mut world = scene(GRAVITY, vec![floor(0.5, 0.0), wheel], None);
        world.gravity_m_per_s2.x = slope * GRAVITY;
        world.rolling_friction = 0.1 * RADIUS_M;
        let mut lab = Lab::new(&world);
        lab.run_s(1.0);
        let speed = lab.body("disc").velocity_m_per_s.norm();
        assert!(if held { speed < 1e-9 } else { speed > 0.01 }, "slope {slope}: {speed} m/s");
    }
}
