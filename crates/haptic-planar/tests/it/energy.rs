//! The energy balance, also in piles stirred by a hand, in which an incomplete solve would show up as a gain.

use crate::common::measure::{Samples, assert_below, assert_near, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::ShapeDescription;
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

/// Inner width of the pile's box, m.
const WIDTH_M: f64 = 0.12;

/// Shape of a body by its index in the pile.
type Mix = fn(usize) -> ShapeDescription;

fn boxes(_: usize) -> ShapeDescription {
    box_shape(0.01, 0.01)
}

fn many_shapes(i: usize) -> ShapeDescription {
    match i % 4 {
        0 => disc(0.005),
        1 => capsule(0.004, 0.003),
        2 => hexagon(0.0055),
        _ => box_shape(0.01, 0.01),
    }
}

/// Returns thirty bodies of 10 mm and 5 to 50 g in an open box, with a tool of 20 mm above them.
fn pile(random: &mut Random, shapes: Mix) -> Lab {
    let wall = |name: &str, width, height, x, y| with(fixed(name, box_shape(width, height), x, y), 1.0, 0.4, 0.3);
    let mut bodies = vec![
        wall("bottom", WIDTH_M + 0.08, 0.04, 0.0, -0.02),
        wall("left", 0.04, 0.4, -WIDTH_M / 2.0 - 0.02, 0.2),
        wall("right", 0.04, 0.4, WIDTH_M / 2.0 + 0.02, 0.2),
    ];
    for i in 0..30 {
        let (x, y) = (-0.05 + 0.0125 * (i % 9) as f64, 0.006 + 0.0125 * (i / 9) as f64);
        let name = format!("{i}");
        bodies.push(with(body(&name, shapes(i), x, y), random.between(0.005, 0.05), 0.4, 0.3));
    }
    bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, 0.09), 0.1, 0.4, 0.3));
    Lab::new(&scene(GRAVITY, bodies, Some("tool"))).gains(800.0, 4.0).upright(0.5, 0.002)
}

/// Path of a hand through the pile: sums of slow sines with random rates and phases.
struct Wander([[f64; 3]; 6]);

impl Wander {
    /// Creates a random path; `fastest` is the highest rate, rad/s.
    fn new(random: &mut Random, fastest: f64) -> Self {
        Self(std::array::from_fn(|i| {
            let rate = random.between(fastest / 8.0, fastest);
            [rate, random.between(0.0, std::f64::consts::TAU), if i < 3 { 0.016 } else { 0.009 }]
        }))
    }

    fn at(&self, time_s: f64) -> Vector2<f64> {
        let sum =
            |range: &[[f64; 3]]| range.iter().map(|[rate, phase, size]| size * libm::sin(rate * time_s + phase)).sum();
        let (x, y): (f64, f64) = (sum(&self.0[..3]), sum(&self.0[3..]));
        vector![x, 0.034 + y]
    }
}

/// Stirs a pile; asserts that its bodies do not penetrate each other, stay inside and gain no energy.
#[track_caller]
fn assert_stirs(shapes: Mix, fastest: f64, seed: u64, seconds: f64) {
    let mut random = Random(seed);
    let mut lab = pile(&mut random, shapes);
    let path = Wander::new(&mut random, fastest);
    lab.lead(lab.input.hand_m, 1, |_, _| ());
    lab.lead(path.at(0.0), 500, |_, _| ());
    let (mut overlap, mut work_in) = (Samples::default(), 0.0);
    for tick in 0..(seconds * 1000.0) as usize {
        let before = lab.input.hand_m;
        let output = lab.hand(path.at(tick as f64 * 1e-3));
        work_in += (-output.force_on_hand_n.dot(&(lab.input.hand_m - before))).max(0.0);
        if tick % 5 == 0 {
            overlap.push(worst_overlap_m(&lab).max(0.0));
        }
    }
    for (body, state) in lab.scene.bodies.iter().zip(&lab.state.bodies).filter(|(body, _)| !body.fixed) {
        let place = state.centre_m;
        assert!(place.x.abs() < WIDTH_M / 2.0 && place.y > 0.0, "seed {seed}: {} left the box at {place}", body.name);
    }
    assert_eq!(lab.dropped, 0, "near pairs dropped");
    assert!(work_in > 0.1, "the hand did no work: {work_in} J");
    let what = |name: &str| format!("seed {seed}: {name}");
    assert_below(&what("median overlap, m"), overlap.quantile(0.5), 1e-5);
    assert_below(&what("worst overlap, m"), overlap.max(), 3e-4);
    assert_below(&what("energy gain, fraction of the work"), lab.gain_j() / work_in, 0.01);
}

#[test]
fn a_pile_stirred_for_twenty_seconds_stays_hard_and_gains_nothing() {
    assert_stirs(boxes, 4.0, 2026, 20.0);
}

#[test]
fn so_do_other_piles_and_piles_stirred_briskly() {
    for (seed, fastest) in [(1, 4.0), (17, 8.0), (404, 12.0)] {
        assert_stirs(boxes, fastest, seed, 5.0);
    }
}

#[test]
fn so_does_a_pile_of_many_shapes() {
    for seed in [3, 33] {
        assert_stirs(many_shapes, 4.0, seed, 5.0);
    }
}

#[test]
fn the_work_of_a_sliding_tool_equals_friction() {
    let tool = with(body("tool", box_shape(0.04, 0.02), 0.0, 0.01), 0.1, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.5, 0.0), tool], Some("tool")));
    lab.lead(vector![0.0, 0.005], 500, |_, _| ());
    lab.lead(vector![0.05, 0.005], 1000, |_, _| ());
    let start = lab.state.energy;
    lab.lead(vector![0.1, 0.005], 1000, |_, _| ());
    let work = lab.state.energy.work_in_j - start.work_in_j;
    assert_near("work, J", work, 0.5 * 5.0 * 0.05, 1e-3);
    assert_near("friction, J", lab.state.energy.friction_j - start.friction_j, work, 1e-3);
}

#[test]
fn the_loss_of_a_plastic_fall_is_counted_as_impact() {
    let falling = with(body("ball", disc(0.01), 0.0, 0.11), 0.1, 0.0, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.0, 0.0), falling], None));
    lab.run_s(1.0);
    assert_near("lost in the impact, J", lab.state.energy.impact_j, 0.1 * GRAVITY * 0.1, 0.02);
    assert_below("left, J", (lab.energy_j() + 0.1 * GRAVITY * 0.1).abs(), 1e-5);
}

#[test]
fn a_pile_left_alone_comes_to_rest() {
    let mut random = Random(99);
    let mut lab = pile(&mut random, boxes);
    lab.run_s(4.0);
    let fastest = lab.state.bodies.iter().map(|m| m.velocity_m_per_s.norm()).fold(0.0, f64::max);
    assert_below("fastest, m/s", fastest, 1e-3);
    assert_below("overlap, m", worst_overlap_m(&lab), 2e-5);
}

#[test]
fn a_body_that_starts_deep_in_another_is_pushed_out_slowly() {
    let sunk = with(body("box", box_shape(0.04, 0.02), 0.0, 0.0087), 0.1, 0.5, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.5, 0.0), sunk], None));
    let mut fastest = 0.0_f64;
    for _ in 0..500 {
        lab.free();
        fastest = fastest.max(lab.body("box").velocity_m_per_s.norm());
    }
    assert_below("overlap left, m", worst_overlap_m(&lab), 1e-5);
    assert_below("fastest, m/s", fastest, 1e-2);
}
