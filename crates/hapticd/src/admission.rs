//! What the worst tick of a scene costs on this machine, and whether a loop may be run with it.

use haptic_planar::scene::{Scene, TICK_S};
use haptic_planar::state::State;
use haptic_planar::worst_case::WorstCase;
use haptic_realtime::clock::monotonic_ns;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The least of so many repetitions counts: what disturbs a measurement only ever adds.
const REPETITIONS: u32 = 200;
/// Repetitions that are made however long they take.
const FEWEST_REPETITIONS: u32 = 3;
/// Share of the period that the worst tick may take; the rest is for the device, late wakes and the system.
pub const LARGEST_SHARE: f64 = 0.5;

/// The cost of the worst tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstTick {
    /// How long it takes, ns.
    pub ns: u64,
    /// How much of the period that is; one is all of it.
    pub share_of_period: f64,
    /// Near pairs in it: all that there is room for.
    pub pairs: usize,
    /// The cost grows with the number of pairs to this power.
    pub growth_exponent: f64,
}

impl WorstTick {
    /// Measures it, with the time for it as a limit.
    pub fn measure(scene: &Scene, budget: Duration) -> Self {
        let pairs = State::new(scene).pair_capacity();
        let each = budget / 2;
        let quarter_ns = least_ns(scene, pairs / 4, each);
        let ns = least_ns(scene, pairs, each);
        let share_of_period = ns as f64 * 1e-9 / TICK_S;
        Self { ns, share_of_period, pairs, growth_exponent: exponent(quarter_ns, ns) }
    }

    /// Why a loop should not be run with it, if so.
    pub fn objection(&self) -> Option<String> {
        if self.share_of_period <= LARGEST_SHARE {
            return None;
        }
        let [worst_us, most_us] = [self.share_of_period, LARGEST_SHARE].map(|share| share * TICK_S * 1e6);
        Some(format!(
            "the worst tick takes {worst_us:.0} µs on this machine, {:.0} µs more than half the period; fewer bodies near \
             each other, fewer corners, convex shapes in place of concave ones, or layers that keep bodies apart would help",
            worst_us - most_us
        ))
    }
}

impl std::fmt::Display for WorstTick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ns, share_of_period, pairs, growth_exponent } = self;
        write!(
            f,
            "worst tick: {:.1} µs with {pairs} near pairs, {:.1} % of the period; it grows as pairs^{growth_exponent:.2}",
            *ns as f64 / 1e3,
            share_of_period * 100.0
        )
    }
}

/// The least time of one worst tick with so many pairs, ns.
fn least_ns(scene: &Scene, pairs: usize, budget: Duration) -> u64 {
    let mut worst = WorstCase::with_pairs(scene, pairs);
    let began = Instant::now();
    let mut least = u64::MAX;
    for repetition in 0..REPETITIONS {
        let start_ns = monotonic_ns();
        black_box(worst.tick(scene));
        least = least.min(monotonic_ns() - start_ns);
        if repetition >= FEWEST_REPETITIONS && began.elapsed() > budget {
            break;
        }
    }
    least
}

/// The slope on a doubly logarithmic scale. Through three points of equal distance the best line has the slope between
/// the outer two.
fn exponent(quarter_ns: u64, all_ns: u64) -> f64 {
    (libm::log2(all_ns.max(1) as f64) - libm::log2(quarter_ns.max(1) as f64)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(ns: u64) -> WorstTick {
        WorstTick { ns, share_of_period: ns as f64 / 1e6, pairs: 10, growth_exponent: 1.0 }
    }

    #[test]
    fn half_the_period_is_admitted_and_more_is_told_by_how_much() {
        assert_eq!(taking(500_000).objection(), None);
        let text = taking(812_000).objection().unwrap();
        assert!(text.contains("takes 812 µs") && text.contains("312 µs more than half"), "{text}");
    }

    #[test]
    fn growth_is_the_power_of_the_number_of_pairs() {
        assert!((exponent(100, 400) - 1.0).abs() < 1e-12);
        assert!((exponent(100, 1600) - 2.0).abs() < 1e-12);
        assert_eq!(exponent(0, 0), 0.0);
    }
}
