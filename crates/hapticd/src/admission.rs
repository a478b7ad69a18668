//! Measures the cost of a scene's worst-case tick on this machine and decides whether the scene may run.

use crate::failure::Failure;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::ImpactState;
use haptic_planar::step::worst_case::WorstCase;
use haptic_planar::tick::TICK_S;
use haptic_realtime::clock::{monotonic_ns, thread_cpu_ns};
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
/// CPU time of a tick above which those with more pairs are not measured, ns. Nothing runs such a scene in time, and
/// its worst-case tick may take seconds.
const HOPELESS_NS: u64 = 10_000_000;
/// Number of near pairs of the first tick that is measured, if the scene can have many more.
const MIN_PAIRS: usize = 2000;
/// Number of bodies from which on a measurement may take so long that it is logged.
const MANY_BODIES: usize = 1000;
/// Largest number of dynamic bodies for which `run` keeps a history for black boxes; it takes 100 kB for each.
const MAX_DYNAMIC_IN_RUN: usize = 2000;
/// Ratio of elapsed time to CPU time above which the machine was busy during a measurement.
const BUSY_RATIO: f64 = 1.25;
/// Excess over the limit, as a factor, that may be due to a busy machine: other threads on the core's sibling and in its
/// caches cost CPU time, too.
const MAX_BUSY_EXCESS: f64 = 2.0;
/// Number of measurements that must all exceed the limit before a scene is rejected, because a busy machine may slow
/// down some of them.
const MEASUREMENTS_TO_REJECT: usize = 8;

/// Cost of a scene's worst-case tick on this machine, in CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstTick {
    /// CPU time of the worst-case tick, ns.
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
    /// Whether the cost is that of a tick with fewer pairs, because one with all of them would take too long to measure.
    pub is_lower_bound: bool,
    /// Shortest elapsed time of a worst-case tick, ns.
    #[serde(skip)]
    pub elapsed_ns: u64,
    /// Whether other threads had the core for much of the measurement.
    #[serde(skip)]
    pub was_busy: bool,
}

/// Whether the worst-case tick of a scene is short enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It takes at most [`MAX_FRACTION`] of the period.
    Fits,
    /// It takes longer, perhaps only because the machine was busy.
    Busy(String),
    /// It takes longer.
    TooLong(String),
}

/// Decides whether a scene may run. If its worst-case tick takes more than [`MAX_FRACTION`] of the period, the scene is
/// rejected on hardware, because the hand would be at risk; on a simulated device it may run with a warning.
///
/// # Errors
/// If the cost of the scene is unbounded, too high for hardware, or could not be measured because the machine is busy.
pub fn admit(name: &str, scene: &Scene, is_simulated: bool) -> Result<Option<String>, Failure> {
    if let Some(problem) = unfit_for_run(scene) {
        return Err(Failure::BadInput(format!("{name}: {problem}")));
    }
    if scene.bodies.len() >= MANY_BODIES {
        tracing::info!("{name}: measuring the worst tick of {} bodies", scene.bodies.len());
    }
    match (WorstTick::measure_for_admission(scene).judgement(), is_simulated) {
        (Judgement::Fits, _) | (Judgement::Busy(_), true) => Ok(None),
        (Judgement::Busy(text), false) => Err(Failure::Runtime(format!("{name}: {text}"))),
        (Judgement::TooLong(text), true) => Ok(Some(format!("{name}: {text}"))),
        (Judgement::TooLong(text), false) => Err(Failure::BadInput(format!("{name}: {text}"))),
    }
}

/// Returns why `run` rejects a scene that `simulate` accepts, with the remedy; `None` if it does not.
pub fn unfit_for_run(scene: &Scene) -> Option<String> {
    if scene.impact_state == ImpactState::Exact {
        let problem = "world.impact_state: \"exact\" has no bound on its cost and works with `simulate` only";
        return Some(format!("{problem}; write impact_state = \"inter-state\""));
    }
    let count = scene.bodies.iter().filter(|body| !body.fixed).count();
    (count > MAX_DYNAMIC_IN_RUN).then(|| {
        let problem = format!("{count} dynamic bodies are more than the {MAX_DYNAMIC_IN_RUN} that `run` accepts");
        format!("{problem}; write fixed = true for bodies that need not move, or use `hapticd simulate`")
    })
}

impl WorstTick {
    /// Measures the worst-case tick within about `budget`, longer only if three ticks take longer.
    pub fn measure(scene: &Scene, budget: Duration) -> Self {
        let pairs = scene.pair_capacity;
        let (mut points, mut shortest) = (Vec::new(), Shortest::default());
        for count in [MIN_PAIRS.min(pairs / 4), pairs / 4, pairs / 2, pairs] {
            shortest = Shortest::measure(scene, count, budget / 4);
            points.push((count as f64, shortest.cpu_ns as f64));
            if shortest.cpu_ns > HOPELESS_NS && count < pairs {
                return Self { is_lower_bound: true, fixed_ns: shortest.cpu_ns as f64, ..Self::new(pairs, shortest) };
            }
        }
        let (fixed_ns, per_pair_ns) = line_through(&points);
        Self { fixed_ns, per_pair_ns, ..Self::new(pairs, shortest) }
    }

    fn new(pairs: usize, shortest: Shortest) -> Self {
        let Shortest { cpu_ns, elapsed_ns, was_busy } = shortest;
        let share_of_period = cpu_ns as f64 * 1e-9 / TICK_S;
        let (fixed_ns, per_pair_ns, is_lower_bound) = (0.0, 0.0, false);
        Self { ns: cpu_ns, share_of_period, pairs, fixed_ns, per_pair_ns, is_lower_bound, elapsed_ns, was_busy }
    }

    /// Repeats the measurement at most `MEASUREMENTS_TO_REJECT` times, until the worst-case tick is short enough or so
    /// long that a busy machine cannot be the reason, and returns the shortest result.
    fn measure_for_admission(scene: &Scene) -> Self {
        let mut least = Self::measure(scene, ADMISSION_BUDGET);
        for _ in 1..MEASUREMENTS_TO_REJECT {
            let is_hopeless = least.is_lower_bound || least.excess() > MAX_BUSY_EXCESS;
            if is_hopeless || least.judgement() == Judgement::Fits {
                break;
            }
            let again = Self::measure(scene, ADMISSION_BUDGET);
            least = if again.ns < least.ns { again } else { least };
        }
        least
    }

    /// CPU time of the worst-case tick as a multiple of the limit.
    fn excess(&self) -> f64 {
        self.share_of_period / MAX_FRACTION
    }

    /// Judges whether the scene may run on hardware.
    pub fn judgement(&self) -> Judgement {
        let excess = self.excess();
        let elapsed_excess = self.elapsed_ns as f64 * 1e-9 / TICK_S / MAX_FRACTION;
        match (excess > 1.0, elapsed_excess > 1.0) {
            (false, false) => Judgement::Fits,
            (true, _) if !self.was_busy || excess > MAX_BUSY_EXCESS => Judgement::TooLong(self.too_long()),
            _ => Judgement::Busy(format!(
                "the worst tick takes {:.0} µs of CPU time and {:.0} µs altogether, more than half the period, but the \
                 machine is busy; end other programs and try again",
                self.ns as f64 / 1e3,
                self.elapsed_ns as f64 / 1e3
            )),
        }
    }

    fn too_long(&self) -> String {
        let [worst_us, most_us] = [self.share_of_period, MAX_FRACTION].map(|share| share * TICK_S * 1e6);
        let more_than = if self.is_lower_bound { "more than " } else { "" };
        format!(
            "the worst tick takes {more_than}{worst_us:.0} µs on this machine, {:.0} µs more than half the period; use \
             fewer bodies near each other, fewer corners, convex instead of concave shapes, or write layer = 1 for \
             bodies that need not touch the others",
            worst_us - most_us
        )
    }
}

impl std::fmt::Display for WorstTick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ns, share_of_period, pairs, fixed_ns, per_pair_ns, is_lower_bound, .. } = self;
        let [worst_us, fixed_us, per_pair_us] = [*ns as f64, *fixed_ns, *per_pair_ns].map(|ns| ns / 1e3);
        let percent = share_of_period * 100.0;
        let noun = if *pairs == 1 { "pair" } else { "pairs" };
        if *is_lower_bound {
            return write!(
                f,
                "worst tick with {pairs} pairs: more than {worst_us:.0} µs, {percent:.0} % of the period"
            );
        }
        write!(f, "worst tick: {worst_us:.1} µs with {pairs} {noun}, {percent:.1} % of the period; ")?;
        write!(f, "estimated cost: {fixed_us:.1} µs + {per_pair_us:.2} µs per pair")
    }
}

/// Shortest of several worst-case ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Shortest {
    cpu_ns: u64,
    elapsed_ns: u64,
    was_busy: bool,
}

impl Shortest {
    /// Repeats a worst-case tick with `pairs` near pairs.
    fn measure(scene: &Scene, pairs: usize, budget: Duration) -> Self {
        let mut worst = WorstCase::with_pairs(scene, pairs);
        let began = Instant::now();
        let [mut least_cpu_ns, mut least_ns] = [u64::MAX; 2];
        let [mut cpu_ns, mut elapsed_ns] = [0; 2];
        for repetition in 0..REPETITIONS {
            let (start_ns, cpu_start_ns) = (monotonic_ns(), thread_cpu_ns());
            black_box(worst.tick(scene));
            let (tick_cpu_ns, tick_ns) = (thread_cpu_ns() - cpu_start_ns, monotonic_ns() - start_ns);
            (least_cpu_ns, least_ns) = (least_cpu_ns.min(tick_cpu_ns), least_ns.min(tick_ns));
            (cpu_ns, elapsed_ns) = (cpu_ns + tick_cpu_ns, elapsed_ns + tick_ns);
            let is_hopeless = least_cpu_ns > HOPELESS_NS;
            if is_hopeless || repetition >= MIN_REPETITIONS && began.elapsed() > budget {
                break;
            }
        }
        let was_busy = elapsed_ns as f64 > BUSY_RATIO * cpu_ns as f64;
        Self { cpu_ns: least_cpu_ns, elapsed_ns: least_ns, was_busy }
    }
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
        WorstTick::new(10, Shortest { cpu_ns: ns, elapsed_ns: ns, was_busy: false })
    }

    #[test]
    fn half_the_period_is_admitted_and_the_excess_is_reported() {
        assert_eq!(taking(500_000).judgement(), Judgement::Fits);
        let Judgement::TooLong(text) = taking(812_000).judgement() else { panic!() };
        assert!(text.contains("takes 812 µs") && text.contains("312 µs more than half"), "{text}");
    }

    #[test]
    fn a_busy_machine_is_not_a_scene_that_is_too_expensive() {
        let was_busy = true;
        for (worst, is_busy) in [
            (WorstTick { elapsed_ns: 700_000, ..taking(300_000) }, true),
            (WorstTick { elapsed_ns: 900_000, was_busy, ..taking(600_000) }, true),
            (WorstTick { elapsed_ns: 2_000_000, was_busy, ..taking(1_100_000) }, false),
            (taking(600_000), false),
        ] {
            assert_eq!(matches!(worst.judgement(), Judgement::Busy(_)), is_busy, "{worst:?}");
        }
        assert_eq!(WorstTick { was_busy, ..taking(300_000) }.judgement(), Judgement::Fits);
    }

    #[test]
    fn a_hopeless_tick_is_reported_as_a_lower_bound() {
        let worst = WorstTick { is_lower_bound: true, ..taking(80_000_000) };
        assert_eq!(worst.to_string(), "worst tick with 10 pairs: more than 80000 µs, 8000 % of the period");
        let Judgement::TooLong(text) = worst.judgement() else { panic!() };
        assert!(text.contains("takes more than 80000 µs"), "{text}");
    }

    #[test]
    fn the_law_of_growth_is_the_line_through_the_measurements() {
        let (fixed, slope) = line_through(&[(10.0, 130.0), (20.0, 160.0), (40.0, 220.0)]);
        assert!((fixed - 100.0).abs() < 1e-9 && (slope - 3.0).abs() < 1e-9);
        assert_eq!(line_through(&[(0.0, 5.0), (0.0, 7.0)]), (6.0, 0.0));
    }
}
