//! Initial guess of the model from the momentum balance m·Δv + b·Δx + f_c·∫sign v − c·Δt = ∫u over short windows.
//!
//! The balance is linear in all parameters except the delay, for which several values are tried. Velocities are slopes
//! over a few readings, so the guess is rough with a coarse encoder. The fit starts from this guess.

use crate::TICK_S;
use crate::motion::AxisModel;
use crate::recording::Recording;
use nalgebra::{Matrix4, Vector4};

/// Length of a window, ticks.
const WINDOW: usize = 24;
/// Number of readings on each side of a slope.
const SLOPE: usize = 4;
/// Trial delays, s.
const DELAYS_S: [f64; 14] =
    [0.0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003, 0.004, 0.005, 0.007, 0.009, 0.012, 0.016, 0.02];

/// Normal equations for mass, damping, friction and bias.
#[derive(Clone, Copy, Debug)]
struct Normal {
    matrix: Matrix4<f64>,
    right: Vector4<f64>,
    square: f64,
}

/// Motion at every tick: positions, smoothed velocities, and cumulative sums.
struct Smooth {
    positions_m: Vec<f64>,
    velocities_m_per_s: Vec<f64>,
    /// Sum of the direction of motion (−1, 0 or 1) over all ticks before each tick.
    directions: Vec<f64>,
    /// Sum of the commands over all ticks before each tick, N.
    impulses: Vec<f64>,
}

/// Returns the best initial guess; `None` if the recording is too short or the axis barely moved.
pub fn first_guess(recording: &Recording) -> Option<AxisModel> {
    let smooth = Smooth::of(recording)?;
    let guesses = DELAYS_S.iter().filter_map(|&delay_s| smooth.guess(delay_s));
    let best = guesses.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(best.0)
}

impl Smooth {
    fn of(recording: &Recording) -> Option<Self> {
        let count = recording.len();
        if count < 4 * WINDOW {
            return None;
        }
        let positions_m: Vec<f64> = (0..count).filter_map(|tick| recording.position_near_m(tick)).collect();
        if positions_m.len() < count {
            return None;
        }
        let slope = |tick: usize| {
            let (low, high) = (tick.saturating_sub(SLOPE), (tick + SLOPE).min(count - 1));
            (positions_m[high] - positions_m[low]) / ((high - low) as f64 * TICK_S)
        };
        let velocities_m_per_s: Vec<f64> = (0..count).map(slope).collect();
        let sums = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let running = values.scan(0.0, |sum, value| {
                let before = *sum;
                *sum += value;
                Some(before)
            });
            running.collect()
        };
        let directions = sums(&mut velocities_m_per_s.iter().map(|v| if *v == 0.0 { 0.0 } else { v.signum() }));
        let impulses = sums(&mut recording.commands_n.iter().copied());
        Some(Self { positions_m, velocities_m_per_s, directions, impulses })
    }

    /// Returns the best model for a given delay, and its squared residual.
    fn guess(&self, delay_s: f64) -> Option<(AxisModel, f64)> {
        let mut normal = Normal { matrix: Matrix4::zeros(), right: Vector4::zeros(), square: 0.0 };
        let last = self.positions_m.len() - SLOPE - 1;
        for start in (SLOPE + DELAYS_S.len() + 20..last.saturating_sub(WINDOW)).step_by(WINDOW / 3) {
            self.add(&mut normal, start, start + WINDOW, delay_s);
        }
        let solution = normal.matrix.cholesky()?.solve(&normal.right);
        let misfit = normal.square - solution.dot(&normal.right);
        let model = AxisModel {
            mass_kg: solution[0].clamp(1e-3, 10.0),
            damping_n_s_per_m: solution[1].max(0.0),
            coulomb_n: solution[2].max(0.0),
            delay_s,
            bias_n: solution[3],
        };
        Some((model, misfit))
    }

    fn add(&self, normal: &mut Normal, start: usize, end: usize, delay_s: f64) {
        let is_at_rest = (start..end).any(|tick| self.velocities_m_per_s[tick] == 0.0);
        if is_at_rest {
            // Friction at rest is unknown; it can be any force up to f_c.
            return;
        }
        let row = Vector4::new(
            self.velocities_m_per_s[end] - self.velocities_m_per_s[start],
            self.positions_m[end] - self.positions_m[start],
            (self.directions[end] - self.directions[start]) * TICK_S,
            -((end - start) as f64) * TICK_S,
        );
        let impulse = self.impulse_before(end, delay_s) - self.impulse_before(start, delay_s);
        normal.matrix += row * row.transpose();
        normal.right += row * impulse;
        normal.square += impulse * impulse;
    }

    /// Returns the impulse applied before a tick, N·s, if commands take effect after `delay_s`.
    fn impulse_before(&self, tick: usize, delay_s: f64) -> f64 {
        let ticks = delay_s / TICK_S;
        let whole = ticks.floor();
        let newer = tick - whole as usize;
        let fraction = ticks - whole;
        TICK_S * (self.impulses[newer] * (1.0 - fraction) + self.impulses[newer - 1] * fraction)
    }
}
