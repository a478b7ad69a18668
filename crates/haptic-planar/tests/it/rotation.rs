//! Bodies that rotate so fast that their gaps are curved within a tick.

use crate::common::measure::{assert_below, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::vector;

/// Returns a body at a pose, with its velocity and angular velocity.
fn flying(
    name: &str,
    shape: ShapeDescription,
    [x, y, angle_rad]: [f64; 3],
    [vx, vy, angular_velocity_rad_per_s]: [f64; 3],
    restitution: f64,
) -> BodyDescription {
    let velocity_m_per_s = vector![vx, vy];
    let one = with(body(name, shape, x, y), 0.003, 0.5, restitution);
    BodyDescription { angle_rad, velocity_m_per_s, angular_velocity_rad_per_s, ..one }
}

/// Returns a star with three points.
fn star(radius: f64) -> ShapeDescription {
    let corner = |i: usize| {
        let (sine, cosine) = libm::sincos(i as f64 * std::f64::consts::FRAC_PI_3);
        let reach = if i.is_multiple_of(2) { radius } else { 0.51 * radius };
        [reach * cosine, reach * sine]
    };
    polygon(&std::array::from_fn::<_, 6, _>(corner))
}

/// Returns the deepest true overlap in the first ticks of a world without a hand, m.
fn deepest_m(bodies: Vec<BodyDescription>, gravity: f64, ticks: usize) -> f64 {
    let mut lab = Lab::new(&scene(gravity, bodies, None));
    let mut deepest = f64::NEG_INFINITY;
    for _ in 0..ticks {
        lab.free();
        deepest = deepest.max(worst_overlap_m(&lab));
    }
    deepest
}

#[test]
fn a_corner_that_comes_round_within_a_tick_is_stopped_by_a_wall() {
    let mut random = Random(101);
    for run in 0..300 {
        let shape = if run % 2 == 0 { star(0.015) } else { box_shape(0.025, 0.012) };
        let wall = with(fixed("wall", box_shape(0.002, 0.3), -0.016, 0.0), 1.0, 0.3, 0.95);
        let pose = [random.between(2e-4, 0.004), 0.0, random.between(-3.0, 3.0)];
        let velocity = [random.between(-1.5, 0.5), random.between(-0.5, 0.5), random.between(-200.0, 200.0)];
        let deepest = deepest_m(vec![wall, flying("star", shape, pose, velocity, 0.5)], 0.0, 8);
        assert_below(&format!("run {run}: overlap, m"), deepest, 2.5e-4);
    }
}

#[test]
fn a_capsule_that_spins_by_half_a_radian_in_a_tick_is_stopped_by_a_disc() {
    for shift in 0..21 {
        let post = with(fixed("post", disc(0.022290238), 0.024391283, -0.021219431), 1.0, 0.5, 0.0);
        let pose = [-0.001125357 + 1e-4 * f64::from(shift - 10), -0.016186737, 2.051186954];
        let bar = flying("bar", capsule(0.004500742, 0.000749629), pose, [1.590543, -0.00784, -569.83025], 0.95);
        let deepest = deepest_m(vec![post, bar], GRAVITY, 8);
        assert_below(&format!("shift {shift}: overlap, m"), deepest, 2.5e-4);
    }
}

#[test]
fn two_bodies_that_spin_into_each_other_do_not_overlap() {
    let mut random = Random(103);
    for run in 0..300 {
        let (a, b) = (random.between(-3.0, 3.0), random.between(-3.0, 3.0));
        let mut spin = || random.between(-320.0, 320.0);
        let left = flying("left", box_shape(0.006, 0.005), [-0.006, 0.0, a], [0.8, 0.0, spin()], 0.95);
        let right = flying("right", hexagon(0.006), [0.006, 0.001, b], [-0.4, 0.0, spin()], 1.0);
        assert_below(&format!("run {run}: overlap, m"), deepest_m(vec![left, right], GRAVITY, 20), 2.5e-4);
    }
}

#[test]
fn a_box_beside_the_point_of_a_star_is_struck_when_the_point_comes_round() {
    let pose = [-0.09336956053737105, -0.08116869392656453, 32.263582188428025];
    let velocity = [0.8449578042188981, -0.10845564531841821, -167.81278315576503];
    let left = flying("left", box_shape(0.005994385977493529, 0.004909064454837289), pose, velocity, 0.95);
    let pose = [-0.08459586628756069, -0.07964132855046796, -35.400850533875534];
    let velocity = [-0.3451977946272683, -0.036737242569659, 311.82411478061283];
    let right = flying("right", star(0.005986839460247603), pose, velocity, 1.0);
    assert_below("overlap, m", deepest_m(vec![left, right], GRAVITY, 8), 2.5e-4);
}

#[test]
fn the_impulse_of_an_impact_is_that_of_its_own_pose() {
    const MASS_KG: f64 = 0.003;
    let (width, height, restitution) = (0.04, 0.025, 0.5);
    let inertia = MASS_KG * (width * width + height * height) / 12.0;
    let slow = [0.05, 0.1, 0.2, 0.5, 1.0].into_iter().flat_map(|u| [(u, 50.0, 0.0), (u, -50.0, 0.0), (u, 20.0, 0.0)]);
    // Fast pairs, some of which stay apart in a tick although their linear gaps close.
    let fast = [0.1, 0.2, 0.5].into_iter().flat_map(|u| [(u, 50.0, 6.0), (u, -50.0, 15.0), (u, 100.0, 15.0)]);
    for (approach, spin, along) in slow.chain(fast) {
        for time in [2e-4, 4e-4, 6e-4, 8e-4, 1.3e-3] {
            // At the time of the impact, the lower left corner is the lowest.
            let angle = 0.3;
            let (sine, cosine) = libm::sincos(angle);
            let arm = vector![-cosine * width + sine * height, -sine * width - cosine * height] / 2.0;
            let fall = approach + spin * arm.x;
            let pose = [0.0, fall * time - arm.y, angle - spin * time];
            let mut one = flying("box", box_shape(width, height), pose, [along, -fall, spin], restitution);
            one.friction = 0.0;
            let mut lab = Lab::new(&scene(0.0, vec![floor(0.0, restitution), one], None));
            lab.run_s(if time > 1e-3 { 2e-3 } else { 1e-3 });
            let impulse = (1.0 + restitution) * approach / (1.0 / MASS_KG + arm.x * arm.x / inertia);
            let felt = MASS_KG * (lab.body("box").velocity_m_per_s.y + fall);
            let what = format!("{approach} m/s, {spin} rad/s, {along} m/s along, after {time} s: impulse off by");
            assert_below(&what, (felt / impulse - 1.0).abs(), 5e-3);
        }
    }
}

#[test]
fn an_elastic_box_that_meets_a_second_wall_in_the_tick_of_its_first_impact_keeps_its_energy() {
    let wall = |name: &str, width, height, x, y| with(fixed(name, box_shape(width, height), x, y), 1.0, 0.0, 1.0);
    let walls = [wall("right", 0.1, 1.8, 1.05, 0.0), wall("bottom", 2.0, 0.1, 0.0, -0.85)];
    let mut one = with(body("box", box_shape(0.2, 0.13), 0.8736226044638088, -0.6974038585602874), 100.0, 0.0, 1.0);
    one.angle_rad = 66.0949647619476;
    one.velocity_m_per_s = vector![41.86206000824032, -27.403104281963707];
    one.angular_velocity_rad_per_s = 52.75910293010577;
    let mut lab = Lab::new(&scene(GRAVITY, walls.into_iter().chain([one]).collect(), None));
    let kinetic = 0.5 * 100.0 * 2503.0;
    lab.free();
    let first = lab.energy_j();
    let inertia = 100.0 * (0.2 * 0.2 + 0.13 * 0.13) / 12.0;
    let start = 0.5 * 100.0 * (41.86206000824032_f64.powi(2) + 27.403104281963707_f64.powi(2))
        + 0.5 * inertia * 52.75910293010577_f64.powi(2);
    assert_below("energy lost in the first tick", (first - start).abs() / kinetic, 1e-9);
    lab.run_s(0.005);
    assert_below("energy lost later", (lab.energy_j() - first).abs() / kinetic, 1e-9);
}

#[test]
fn elastic_boxes_in_a_gas_do_not_overlap() {
    for seed in [8, 9, 10] {
        let mut random = Random(seed);
        let mut bodies = room(0.1, 0.0, 1.0);
        for i in 0..9 {
            let (x, y) = (-0.06 + 0.06 * f64::from(i % 3), -0.06 + 0.06 * f64::from(i / 3));
            let mut one =
                with(body(&format!("{i}"), box_shape(0.02, 0.012), x, y), random.between(0.02, 0.2), 0.0, 1.0);
            one.angle_rad = random.between(-3.0, 3.0);
            one.velocity_m_per_s = vector![random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
            one.angular_velocity_rad_per_s = random.between(-8.0, 8.0);
            bodies.push(one);
        }
        assert_below(&format!("seed {seed}: overlap, m"), deepest_m(bodies, 0.0, 5000), 2.5e-4);
    }
}

/// Shortly before they meet, the end of one bar has fallen below the face of the other, outside which the face of the
/// bar separated them in the last tick.
#[test]
fn a_corner_that_meets_a_nearly_parallel_face_is_struck_along_the_normal_of_that_face() {
    let restitution = 0.63;
    let face_rad: f64 = -0.05836;
    for shift in [0.0, 2e-4, 4e-4] {
        let below = BodyDescription {
            angle_rad: face_rad,
            velocity_m_per_s: vector![0.063, 1.287],
            ..with(body("below", box_shape(0.0129, 0.0276), 0.0, 0.0), 0.026, 0.0, restitution)
        };
        let bar = BodyDescription {
            angle_rad: 1.4921,
            velocity_m_per_s: vector![-0.572, -3.132],
            angular_velocity_rad_per_s: 44.16,
            ..with(body("bar", box_shape(0.03888, 0.008725), 0.00093 + shift, 0.04047), 0.021, 0.0, restitution)
        };
        let mut lab = Lab::new(&scene(0.0, vec![below, bar], None));
        let before = lab.body("bar").velocity_m_per_s;
        let output = lab.free();
        assert_eq!(output.impacts, 0, "the bodies met too early");
        assert_eq!(lab.free().impacts, 1, "the bodies did not meet");
        let change = lab.body("bar").velocity_m_per_s - before;
        let (sine, cosine) = libm::sincos(face_rad);
        let along = (change.x * cosine + change.y * sine) / change.norm();
        assert_below(&format!("shift {shift} m: part of the impulse along the face"), along.abs(), 1e-9);
    }
}
