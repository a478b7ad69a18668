//! The worst step of a scene, as measured when a scene is admitted.

use crate::common::*;
use haptic_planar::scene::Scene;
use haptic_planar::step::worst_case::WorstCase;
use haptic_testing::assert_no_allocator_calls;
use nalgebra::vector;

fn crowded() -> Scene {
    let mut bodies = room(0.1, 0.4, 0.5);
    for i in 0..10 {
        let shape = if i % 2 == 0 { box_shape(0.012, 0.012) } else { disc(0.006) };
        bodies.push(with(body(&format!("{i}"), shape, -0.08 + 0.016 * f64::from(i), 0.0), 0.01, 0.4, 0.5));
    }
    bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, 0.07), 0.1, 0.4, 0.3));
    Scene::build(&scene(GRAVITY, bodies, Some("tool"))).unwrap()
}

#[test]
fn the_worst_step_has_all_pairs_there_is_capacity_for() {
    let scene = crowded();
    assert_eq!(WorstCase::new(&scene).pairs(), scene.pair_capacity);
    assert_eq!(WorstCase::with_pairs(&scene, 7).pairs(), 7);
}

#[test]
fn worst_steps_stay_finite_repeat_themselves_and_allocate_nothing() {
    let scene = crowded();
    let mut worst = WorstCase::new(&scene);
    worst.tick(&scene);
    let mut sums = [0.0; 4];
    assert_no_allocator_calls(|| sums.iter_mut().for_each(|sum| *sum = worst.tick(&scene)));
    assert!(sums.iter().all(|&sum| sum.is_finite() && sum == sums[0]), "{sums:?}");
}

#[test]
fn the_work_of_events_includes_pairs_that_stay_apart() {
    let mut bodies = vec![with(fixed("wall", box_shape(0.01, 0.2), 0.03, 0.0), 1.0, 0.0, 1.0)];
    for i in 0..20 {
        let (x, y) = (-0.01 - 0.003 * f64::from(i), if i % 2 == 0 { 0.008 } else { -0.008 });
        bodies.push(fixed(&format!("{i}"), disc(0.001), x, y));
    }
    let mut ball = with(body("ball", disc(0.005), 0.0, 0.0), 0.01, 0.0, 1.0);
    ball.velocity_m_per_s = vector![80.0, 0.0];
    bodies.push(ball);
    let mut lab = Lab::new(&scene(0.0, bodies, None));
    lab.free();
    assert!(lab.body("ball").velocity_m_per_s.x < -79.0, "the ball bounces");
    let work = lab.workspace.work();
    assert!(work.near_pairs >= 10, "{work:?}");
    assert!(work.relaxations >= 2 * 6 * work.near_pairs, "each pair is searched twice: {work:?}");
}
