//! Measures the cost of a scene's worst-case tick on this machine and decides whether the scene may run.

use crate::failure::Failure;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::ImpactState;
use haptic_planar::step::worst_case::WorstCase;
use haptic_planar::tick::TICK_S;
use haptic_realtime::clock::monotonic_ns;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Maximum number of repetitions of a measurement. The shortest counts, because disturbances only lengthen a tick.
const REPETITIONS: u32 = 200;
/// Number of repetitions before the time limit applies.
const MIN_REPETITIONS: u32 = 3;
/// Fraction of the period that the worst-case tick may take; the rest is for the device, late wake-ups and the system.
pub const MAX_FRACTION: f64 = 0.5;

/// Time limit for one measurement of the worst-case tick before a scene is run.
const ADMISSION_BUDGET: Duration = Duration::from_millis(200);
/// Number of measurements that must all exceed the limit before a scene is rejected, because a busy machine may slow
/// down some of them.
const MEASUREMENTS_TO_REJECT: usize = 8;

/// Cost of a scene's worst-case tick on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstTick {
    /// Duration of the worst-case tick, ns.
    pub ns: u64,
    /// Duration of the worst-case tick as a fraction of the period; may exceed 1.
    pub share_of_period: f64,
    /// Number of near pairs in the worst-case tick, equal to the capacity of the pair table.
    pub pairs: usize,
    /// Cost of a tick without near pairs, ns: the offset of a line fitted to measurements with a quarter, half and all
    /// of [`Self::pairs`].
    pub fixed_ns: f64,
    /// Cost per near pair, ns: the slope of the line fitted for [`Self::fixed_ns`].
    pub per_pair_ns: f64,
}

/// Decides whether a scene may run. If its worst-case tick takes more than [`MAX_FRACTION`] of the period, the scene is
/// rejected on hardware, because the hand would be at risk; on a simulated device it may run with a warning.
///
/// # Errors
/// If the cost of the scene is unbounded, or too high for hardware.
pub fn admit(name: &str, scene: &Scene, is_simulated: bool) -> Result<Option<String>, Failure> {
    if scene.impact_state == ImpactState::Exact {
        let problem = "world.impact_state: \"exact\" has no bound on its cost and works with `simulate` only";
        return Err(Failure::BadInput(format!("{name}: {problem}; write impact_state = \"inter-state\"")));
    }
    match WorstTick::measure_for_admission(scene).objection().map(|text| format!("{name}: {text}")) {
        Some(text) if !is_simulated => Err(Failure::BadInput(text)),
        objection => Ok(objection),
    }
}

impl WorstTick {
    /// Measures the worst-case tick within about `budget`.
    pub fn measure(scene: &Scene, budget: Duration) -> Self {
        let pairs = scene.pair_capacity;
        let points = [pairs / 4, pairs / 2, pairs].map(|count| {
            let ns = least_ns(scene, count, budget / 3);
            (count as f64, ns as f64)
        });
        let (fixed_ns, per_pair_ns) = line_through(&points);
        let [.., (_, worst_ns)] = points;
        Self { ns: worst_ns as u64, share_of_period: worst_ns * 1e-9 / TICK_S, pairs, fixed_ns, per_pair_ns }
    }

    /// Repeats the measurement at most `MEASUREMENTS_TO_REJECT` times, until the worst-case tick is short enough, and
    /// returns the shortest result.
    fn measure_for_admission(scene: &Scene) -> Self {
        let mut least = Self::measure(scene, ADMISSION_BUDGET);
        for _ in 1..MEASUREMENTS_TO_REJECT {
            if least.objection().is_none() {
                break;
            }
            let again = Self::measure(scene, ADMISSION_BUDGET);
            least = if again.ns < least.ns { again } else { least };
        }
        least
    }

    /// Returns the reason why the scene should not run; `None` if its worst-case tick is short enough.
    pub fn objection(&self) -> Option<String> {
        if self.share_of_period <= MAX_FRACTION {
            return None;
        }
        let [worst_us, most_us] = [self.share_of_period, MAX_FRACTION].map(|share| share * TICK_S * 1e6);
        Some(format!(
            "the worst tick takes {worst_us:.0} µs on this machine, {:.0} µs more than half the period; use fewer \
             bodies near each other, fewer corners, convex instead of concave shapes, or layers",
            worst_us - most_us
        ))
    }
}

impl std::fmt::Display for WorstTick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ns, share_of_period, pairs, fixed_ns, per_pair_ns } = self;
        let [worst_us, fixed_us, per_pair_us] = [*ns as f64, *fixed_ns, *per_pair_ns].map(|ns| ns / 1e3);
        let percent = share_of_period * 100.0;
        let noun = if *pairs == 1 { "pair" } else { "pairs" };
        write!(f, "worst tick: {worst_us:.1} µs with {pairs} {noun}, {percent:.1} % of the period; ")?;
        write!(f, "estimated cost: {fixed_us:.1} µs + {per_pair_us:.2} µs per pair")
    }
}

/// Returns the shortest measured duration of a worst-case tick with `pairs` near pairs, ns.
fn least_ns(scene: &Scene, pairs: usize, budget: Duration) -> u64 {
    let mut worst = WorstCase::with_pairs(scene, pairs);
    let began = Instant::now();
    let mut least = u64::MAX;
    for repetition in 0..REPETITIONS {
        let start_ns = monotonic_ns();
        black_box(worst.tick(scene));
        least = least.min(monotonic_ns() - start_ns);
        if repetition >= MIN_REPETITIONS && began.elapsed() > budget {
            break;
        }
    }
    least
}

/// Fits a line to points by least squares and returns its offset and slope. The slope is zero if all x values are
/// equal.
fn line_through(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = if spread > 0.0 { common / spread } else { 0.0 };
    (mean_y - slope * mean_x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(ns: u64) -> WorstTick {
        WorstTick { ns, share_of_period: ns as f64 / 1e6, pairs: 10, fixed_ns: 0.0, per_pair_ns: 0.0 }
    }

    #[test]
    fn half_the_period_is_admitted_and_the_excess_is_reported() {
        assert_eq!(taking(500_000).objection(), None);
        let text = taking(812_000).objection().unwrap();
        assert!(text.contains("takes 812 µs") && text.contains("312 µs more than half"), "{text}");
    }

    #[test]
    fn the_law_of_growth_is_the_line_through_the_measurements() {
        let (fixed, slope) = line_through(&[(10.0, 130.0), (20.0, 160.0), (40.0, 220.0)]);
        assert!((fixed - 100.0).abs() < 1e-9 && (slope - 3.0).abs() < 1e-9);
        assert_eq!(line_through(&[(0.0, 5.0), (0.0, 7.0)]), (6.0, 0.0));
    }
}
