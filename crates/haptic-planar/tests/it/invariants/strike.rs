//! Random symmetric strikes: a body moves along the x axis towards pairs of bodies that mirror each other.

use super::generate::{chance, log_between, pick, scrambled};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::vector;

/// Duration of a strike, ticks.
const TICKS: usize = 100;

/// Bodies of a strike: the striker first, then mirrored pairs, upper body first.
pub struct Strike {
    bodies: Vec<BodyDescription>,
    speed_m_per_s: f64,
}

impl Strike {
    pub fn generate(seed: u64) -> Self {
        let mut random = scrambled(seed);
        let speed_m_per_s = log_between(&mut random, 0.05, 3.0);
        let surface = (pick(&mut random, &[0.0, 0.1, 0.5]), pick(&mut random, &[0.0, 0.5, 0.8, 0.95, 1.0]));
        let radius = random.between(0.005, 0.02);
        let mut striker = with(body("striker", striker(&mut random, radius), 0.0, 0.0), 0.1, surface.0, surface.1);
        striker.velocity_m_per_s = vector![speed_m_per_s, 0.0];
        let mut bodies = vec![striker];
        // Rows of balls, one behind the other; the first row is hit, and passes the strike on.
        let (size, gap) = (random.between(0.005, 0.015), pick(&mut random, &[0.0, 1e-6, 1e-3]));
        let mass = log_between(&mut random, 0.02, 0.5);
        for row in 0..1 + random.index(3) {
            let x = radius + 2e-3 + size * 2.2 + row as f64 * (2.0 * size + gap);
            let y = size + gap / 2.0;
            for (side, name) in [(1.0, "up"), (-1.0, "down")] {
                bodies.push(with(body(&format!("{name}{row}"), disc(size), x, side * y), mass, surface.0, surface.1));
            }
        }
        Self { bodies, speed_m_per_s }
    }

    /// Runs the strike with the bodies in file order, or with every pair in the other order and the striker last.
    /// Returns the largest deviation from a mirrored motion, relative to the speed of the striker.
    pub fn asymmetry(&self, reverse: bool) -> f64 {
        let mut bodies = self.bodies.clone();
        if reverse {
            bodies.reverse();
        }
        let mut lab = Lab::new(&SceneDescription { bodies, ..scene(0.0, Vec::new(), None) });
        let mut worst = 0.0_f64;
        for _ in 0..TICKS {
            lab.free();
            worst = worst.max(self.deviation_m_per_s(&lab));
        }
        worst / self.speed_m_per_s
    }

    fn deviation_m_per_s(&self, lab: &Lab) -> f64 {
        let striker = lab.body("striker");
        let mut worst = striker.velocity_m_per_s.y.abs();
        for row in 0..self.bodies.len() / 2 {
            let (up, down) = (lab.body(&format!("up{row}")), lab.body(&format!("down{row}")));
            let sum = up.velocity_m_per_s.y + down.velocity_m_per_s.y;
            worst = worst.max(sum.abs()).max((up.velocity_m_per_s.x - down.velocity_m_per_s.x).abs());
        }
        worst
    }
}

/// Returns a shape that mirrors itself about the x axis.
fn striker(random: &mut Random, radius: f64) -> ShapeDescription {
    if chance(random, 0.5) { disc(radius) } else { box_shape(2.0 * radius, random.between(1.0, 4.0) * radius) }
}
