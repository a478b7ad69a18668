//! Velocity from quantised positions.
//!
//! The backward difference of encoder positions with step Δ over a time T has an error of up to Δ/T. For a step of 10
//! µm and a time of 1 ms, this is 10 mm/s. The adaptive window averages over many samples when the hand is slow and not
//! at all when it is fast.

use nalgebra::Vector2;

/// Velocity estimate by backward difference: the change since the last position, divided by the elapsed time. Zero for
/// the first position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BackwardDifference {
    before_m: Option<Vector2<f64>>,
}

impl BackwardDifference {
    /// Creates an estimator without samples.
    pub const fn new() -> Self {
        Self { before_m: None }
    }

    /// Adds a position measured `elapsed_s` after the last one, and returns the velocity, m/s.
    ///
    /// Real-time: one division.
    pub fn update(&mut self, position_m: Vector2<f64>, elapsed_s: f64) -> Vector2<f64> {
        match self.before_m.replace(position_m) {
            Some(before_m) if elapsed_s > 0.0 => (position_m - before_m) / elapsed_s,
            _ => Vector2::zeros(),
        }
    }
}

/// Maximum length of the window, in intervals between samples. With 16 intervals, the estimate for a resting hand
/// settles within 16 ms; longer windows gain little.
pub const MAX_WINDOW: usize = 16;

/// First-order adaptive windowing (Janabi-Sharifi, Hayward and Chen 2000): the longest window whose end-to-end line
/// passes within one encoder step of every sample in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveWindow {
    encoder_step_m: f64,
    /// Samples of each axis, newest first; one more than the number of intervals in the window.
    samples: [[Sample; MAX_WINDOW + 1]; 2],
    filled: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    position_m: f64,
    age_s: f64,
}

impl AdaptiveWindow {
    /// Creates an estimator without samples, for an encoder with a step of `encoder_step_m`.
    pub fn new(encoder_step_m: f64) -> Self {
        Self { encoder_step_m, samples: [[Sample::default(); MAX_WINDOW + 1]; 2], filled: 0 }
    }

    /// Adds a position measured `elapsed_s` after the last one, and returns the velocity, m/s. Ignores the position if
    /// no time has elapsed.
    ///
    /// Real-time: at most MAX_WINDOW² comparisons per axis.
    pub fn update(&mut self, position_m: Vector2<f64>, elapsed_s: f64) -> Vector2<f64> {
        if elapsed_s > 0.0 || self.filled == 0 {
            self.filled = (self.filled + 1).min(MAX_WINDOW + 1);
            for (axis, samples) in self.samples.iter_mut().enumerate() {
                push(samples, position_m[axis], elapsed_s);
            }
        }
        Vector2::from_fn(|axis, _| self.slope(&self.samples[axis][..self.filled]))
    }

    fn slope(&self, samples: &[Sample]) -> f64 {
        let mut slope = 0.0;
        for oldest in 1..samples.len() {
            let candidate = (samples[0].position_m - samples[oldest].position_m) / samples[oldest].age_s;
            if oldest > 1 && !self.fits(&samples[..oldest], candidate) {
                break;
            }
            slope = candidate;
        }
        slope
    }

    fn fits(&self, samples: &[Sample], slope: f64) -> bool {
        let newest_m = samples[0].position_m;
        // Slightly more than the step: a steady hand gives samples exactly one step off the line.
        let bound_m = self.encoder_step_m * (1.0 + 1e-9);
        samples.iter().all(|sample| (newest_m - slope * sample.age_s - sample.position_m).abs() <= bound_m)
    }
}

fn push(samples: &mut [Sample], position_m: f64, elapsed_s: f64) {
    samples.rotate_right(1);
    for sample in samples.iter_mut() {
        sample.age_s += elapsed_s;
    }
    samples[0] = Sample { position_m, age_s: 0.0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_S: f64 = 0.001;
    const STEP_M: f64 = 1e-5;

    fn quantised(position_m: f64) -> Vector2<f64> {
        Vector2::new((position_m / STEP_M).floor() * STEP_M, 0.0)
    }

    /// Largest error during steady motion, after settling, m/s.
    fn worst_error(speed: f64, mut update: impl FnMut(Vector2<f64>) -> Vector2<f64>) -> f64 {
        let estimates = (0..1000).map(|tick| update(quantised(speed * TICK_S * f64::from(tick))).x);
        estimates.skip(50).map(|estimate| (estimate - speed).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_first_difference_is_zero_and_the_next_exact() {
        let mut estimator = BackwardDifference::new();
        assert_eq!(estimator.update(Vector2::new(0.5, 0.25), TICK_S), Vector2::zeros());
        assert_eq!(estimator.update(Vector2::new(1.0, 0.0), 0.5), Vector2::new(1.0, -0.5));
    }

    #[test]
    fn a_repeated_instant_gives_no_infinite_velocity() {
        let mut difference = BackwardDifference::new();
        let mut window = AdaptiveWindow::new(STEP_M);
        for position in [0.0, 0.1, 0.2] {
            assert!(difference.update(Vector2::new(position, 0.0), 0.0).norm().is_finite());
            assert!(window.update(Vector2::new(position, 0.0), 0.0).norm().is_finite());
        }
    }

    #[test]
    fn the_adaptive_window_is_quieter_than_the_difference_on_a_slow_hand() {
        let (mut difference, mut window) = (BackwardDifference::new(), AdaptiveWindow::new(STEP_M));
        let plain = worst_error(0.0037, |position| difference.update(position, TICK_S));
        let adaptive = worst_error(0.0037, |position| window.update(position, TICK_S));
        assert!(plain > 0.006, "a step a tick is 10 mm/s: {plain}");
        assert!(adaptive < STEP_M / (MAX_WINDOW as f64 * TICK_S) * 1.01, "{adaptive}");
    }

    #[test]
    fn the_adaptive_window_follows_a_reversal_within_two_ticks() {
        let mut window = AdaptiveWindow::new(STEP_M);
        let position = |tick: i32| 0.5 * TICK_S * f64::from(100 - (tick - 100).abs());
        let velocities: Vec<f64> = (0..110).map(|tick| window.update(quantised(position(tick)), TICK_S).x).collect();
        assert!((velocities[100] - 0.5).abs() < 0.01);
        assert!((velocities[102] + 0.5).abs() < 0.011, "{}", velocities[102]);
    }

    #[test]
    fn the_window_counts_real_time_when_samples_are_missed() {
        let mut window = AdaptiveWindow::new(STEP_M);
        let mut time_s = 0.0;
        let mut velocity = 0.0;
        for tick in 0..40 {
            let elapsed_s = if tick % 3 == 0 { 0.002 } else { TICK_S };
            time_s += elapsed_s;
            velocity = window.update(quantised(0.2 * time_s), elapsed_s).x;
        }
        assert!((velocity - 0.2).abs() < 0.002, "{velocity}");
    }
}
