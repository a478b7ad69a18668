//! Random stacks of equal boxes on a floor, left alone.

use super::generate::{log_between, scrambled};
use crate::common::*;
use haptic_planar::scene::body_state::BodyState;

/// Time for the stack to settle, and time over which its creep is measured, s.
const SETTLE_S: f64 = 1.0;
const MEASURE_S: f64 = 1.0;

/// Runs a stack of 2 to 10 equal boxes, each a little off the axis. Returns the creep: the largest displacement of a
/// box per second after the stack has settled, m/s.
pub fn creep_m_per_s(seed: u64) -> f64 {
    let mut random = scrambled(seed);
    let count = 2 + random.index(9);
    let (width, height) = (random.between(0.02, 0.06), random.between(0.008, 0.02));
    let (mass, friction) = (log_between(&mut random, 0.005, 0.5), random.between(0.2, 0.8));
    let mut bodies = vec![floor(friction, 0.0)];
    for i in 0..count {
        let x = random.between(-0.01, 0.01) * width;
        let y = height / 2.0 + 1e-5 + i as f64 * (height + 1e-5);
        bodies.push(with(body(&format!("{i}"), box_shape(width, height), x, y), mass, friction, 0.0));
    }
    let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
    lab.run_s(SETTLE_S);
    let start = lab.state.bodies.clone();
    lab.run_s(MEASURE_S);
    let moved = |(a, b): (&BodyState, &BodyState)| (a.centre_m - b.centre_m).norm() / MEASURE_S;
    start.iter().zip(&lab.state.bodies).map(moved).fold(0.0, f64::max)
}
