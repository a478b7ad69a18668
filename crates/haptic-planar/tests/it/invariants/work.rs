//! Adversarial ticks: hands that jump across the scene in every tick and never let it come to rest. Their counted work
//! is compared with that of the worst-case step.

use super::generate::{World, scrambled};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, SceneDescription};
use haptic_planar::step::worst_case::WorstCase;
use haptic_planar::work::Work;
use haptic_testing::Random;
use nalgebra::vector;

/// Largest jump of the hand in one tick, m.
const JUMP_M: f64 = 0.6;
/// Highest speed and angular velocity that a body is given at random, m/s and rad/s.
const KICK_M_PER_S: f64 = 200.0;
const KICK_RAD_PER_S: f64 = 5000.0;

/// Largest work in a number of adversarial ticks of a scene, and the work of its worst-case step.
pub struct Adversarial {
    pub largest: Work,
    pub bound: Work,
    /// First kind of operation that exceeds the bound, with both numbers.
    pub exceeding: Option<(&'static str, u32, u32)>,
}

/// Runs adversarial ticks of a scene. In most ticks, the hand jumps; now and then, bodies are set in fast motion.
pub fn run(description: &SceneDescription, seed: u64, ticks: usize) -> Adversarial {
    let mut random = scrambled(seed);
    let mut lab = Lab::new(description).gains(5000.0, 1.0);
    let mut worst = WorstCase::new(&lab.scene);
    worst.tick(&lab.scene);
    let (bound, mut largest) = (worst.work(), Work::default());
    let start = lab.state.clone();
    for tick in 0..ticks {
        if tick % 500 == 0 {
            lab.state = start.clone();
        }
        if tick % 50 == 0 {
            kick(&mut random, &mut lab);
        }
        let jump = vector![random.between(-JUMP_M, JUMP_M), random.between(-JUMP_M, JUMP_M)];
        let calm = tick % 100 < 50;
        lab.hand(if calm { lab.input.hand_m } else { jump });
        largest = largest.max(&lab.workspace.work());
    }
    Adversarial { largest, bound, exceeding: largest.exceeding(&bound) }
}

/// Sets a few dynamic bodies in fast motion.
fn kick(random: &mut Random, lab: &mut Lab) {
    for (body, state) in lab.scene.bodies.iter().zip(&mut lab.state.bodies).filter(|(body, _)| !body.fixed) {
        if !body.fixed && random.between(0.0, 1.0) < 0.3 {
            let speed = random.between(0.0, KICK_M_PER_S);
            state.velocity_m_per_s = vector![random.between(-1.0, 1.0), random.between(-1.0, 1.0)] * speed;
            state.angular_velocity_rad_per_s = random.between(-KICK_RAD_PER_S, KICK_RAD_PER_S);
        }
    }
}

/// Returns a light tool among `count` fixed discs, packed so densely that the tool just fits between them.
pub fn field(count: usize) -> SceneDescription {
    let columns = (count as f64).sqrt().ceil() as usize;
    let place = |i: usize| 0.01 * (i as f64 - columns as f64 / 2.0);
    let disc_at =
        |i: usize| fixed(&format!("{i}"), disc(0.003), place(i % columns) + 0.005, place(i / columns) + 0.005);
    let mut bodies: Vec<BodyDescription> = (0..count).map(disc_at).collect();
    bodies.push(with(body("tool", disc(0.002), 0.0, 0.0), 0.001, 0.3, 0.5));
    scene(0.0, bodies, Some("tool"))
}

/// Returns the scene of a generated world.
pub fn generated(seed: u64) -> SceneDescription {
    World::generate(seed).description
}
