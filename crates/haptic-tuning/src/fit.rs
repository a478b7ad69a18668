//! Output-error fit: simulates the model and fits it to the readings with the Levenberg–Marquardt method.
//!
//! The recording is divided into segments, each with its own initial position and velocity, so that an external push
//! affects only one segment and errors do not accumulate over seconds. The unknown initial states are eliminated
//! segment by segment, which leaves a system in the five model parameters.
//!
//! An encoder that rounds down shifts all positions by half a step; the initial states absorb this.

use crate::TICK_S;
use crate::motion::{AxisModel, AxisState, Stepper};
use crate::recording::Recording;
use nalgebra::{Matrix2, Matrix5, Matrix5x2, Vector2, Vector5};

/// Length of a segment, ticks.
pub const SEGMENT: usize = 250;
/// Maximum number of iterations; a good fit takes about ten.
const ITERATIONS: usize = 60;
/// Relative reduction of the squared error below which the fit has converged.
const CONVERGED: f64 = 1e-7;
/// Upper bound on the fitted delay, s.
pub const MAX_DELAY_S: f64 = 0.03;

/// Finite-difference steps for log mass, damping, Coulomb friction, delay and bias, in SI units.
const NUDGES: [f64; 5] = [1e-5, 1e-5, 1e-5, 1e-7, 1e-6];
/// Finite-difference step for a segment's initial velocity, m/s.
const VELOCITY_NUDGE: f64 = 1e-6;

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Best model.
    pub model: AxisModel,
    /// Curvature of the squared error with respect to log mass, damping, Coulomb friction, delay and bias, with the
    /// initial states eliminated.
    pub information: Matrix5<f64>,
    /// Readings minus model, for each segment, m.
    pub residuals_m: Vec<Vec<f64>>,
}

impl Fit {
    /// Returns the sum of squared residuals, m².
    pub fn square_m2(&self) -> f64 {
        self.residuals_m.iter().flatten().map(|residual| residual * residual).sum()
    }

    /// Returns the number of readings used.
    pub fn readings(&self) -> usize {
        self.residuals_m.iter().map(Vec::len).sum()
    }

    /// Returns the root mean square of the residuals, m.
    pub fn rms_m(&self) -> f64 {
        (self.square_m2() / self.readings().max(1) as f64).sqrt()
    }
}

/// A segment of a recording: its range of ticks and its initial state.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    end: usize,
    begin: AxisState,
}

/// Linearised system of one iteration.
struct Linearised {
    square_m2: f64,
    matrix: Matrix5<f64>,
    gradient: Vector5<f64>,
    locals: Vec<Local>,
}

/// Contribution of one segment to the linearised system.
struct Local {
    matrix: Matrix2<f64>,
    cross: Matrix5x2<f64>,
    gradient: Vector2<f64>,
}

/// Fits a model to a recording, starting from a guess. Returns `None` if the recording is too short or the linearised
/// system is singular.
pub fn fit(recording: &Recording, guess: AxisModel) -> Option<Fit> {
    let mut model = guess;
    let mut segments = segments(recording);
    if segments.is_empty() {
        return None;
    }
    let mut trust = 1e-3;
    let mut here = linearise(recording, &segments, model);
    for _ in 0..ITERATIONS {
        let Some((next_model, next_segments)) = step(&here, &segments, model, trust) else { break };
        let square_m2 = square(recording, &next_segments, next_model);
        if square_m2.is_nan() || square_m2 >= here.square_m2 {
            trust *= 8.0;
            if trust > 1e8 {
                break;
            }
            continue;
        }
        let gain = 1.0 - square_m2 / here.square_m2;
        (model, segments, trust) = (next_model, next_segments, (trust / 5.0).max(1e-9));
        here = linearise(recording, &segments, model);
        if gain < CONVERGED {
            break;
        }
    }
    let residuals_m = segments.iter().map(|segment| residuals(recording, segment, &Stepper::new(model))).collect();
    Some(Fit { model, information: eliminated(&here, 0.0)?.0, residuals_m })
}

fn segments(recording: &Recording) -> Vec<Segment> {
    let starts = (0..recording.len().saturating_sub(SEGMENT / 2)).step_by(SEGMENT);
    let begin = |start: usize| {
        let (low, high) = (start.saturating_sub(3), (start + 3).min(recording.len() - 1));
        let (from_m, to_m) = (recording.position_near_m(low)?, recording.position_near_m(high)?);
        let velocity_m_per_s = (to_m - from_m) / ((high - low) as f64 * TICK_S);
        Some(AxisState { position_m: recording.position_near_m(start)?, velocity_m_per_s })
    };
    starts
        .filter_map(|start| {
            let end = (start + SEGMENT).min(recording.len());
            Some(Segment { start, end, begin: begin(start)? })
        })
        .collect()
}

/// Simulates a segment and passes the number of each tick and the position at that tick to `each`.
fn run(recording: &Recording, segment: &Segment, stepper: &Stepper, mut each: impl FnMut(usize, f64)) {
    let mut state = segment.begin;
    for tick in segment.start..segment.end {
        each(tick, state.position_m);
        stepper.tick(&mut state, &recording.commands_n, tick);
    }
}

fn residuals(recording: &Recording, segment: &Segment, stepper: &Stepper) -> Vec<f64> {
    let mut residuals = Vec::with_capacity(segment.end - segment.start);
    run(recording, segment, stepper, |tick, position_m| {
        let residual = recording.positions_m[tick] - position_m;
        if residual.is_finite() {
            residuals.push(residual);
        }
    });
    residuals
}

fn square(recording: &Recording, segments: &[Segment], model: AxisModel) -> f64 {
    let stepper = Stepper::new(model);
    let of = |segment: &Segment| {
        let mut sum = 0.0;
        run(recording, segment, &stepper, |tick, position_m| {
            let residual = recording.positions_m[tick] - position_m;
            sum += if residual.is_finite() { residual * residual } else { 0.0 };
        });
        sum
    };
    segments.iter().map(of).sum()
}

fn linearise(recording: &Recording, segments: &[Segment], model: AxisModel) -> Linearised {
    let stepper = Stepper::new(model);
    let nudged: [(Stepper, f64); 5] = std::array::from_fn(|index| {
        let (moved, by) = nudged(model, index);
        (Stepper::new(moved), by)
    });
    let mut all =
        Linearised { square_m2: 0.0, matrix: Matrix5::zeros(), gradient: Vector5::zeros(), locals: Vec::new() };
    let mut columns: [Vec<f64>; 7] = std::array::from_fn(|_| Vec::with_capacity(SEGMENT));
    for segment in segments {
        columns.iter_mut().for_each(Vec::clear);
        let [base, by_velocity, by_model @ ..] = &mut columns;
        run(recording, segment, &stepper, |_, position_m| base.push(position_m));
        let mut faster = *segment;
        faster.begin.velocity_m_per_s += VELOCITY_NUDGE;
        run(recording, &faster, &stepper, |_, position_m| by_velocity.push(position_m));
        for (column, (stepper, _)) in by_model.iter_mut().zip(&nudged) {
            run(recording, segment, stepper, |_, position_m| column.push(position_m));
        }
        add_segment(&mut all, recording, segment, &columns, &nudged.map(|(_, by)| by));
    }
    all
}

fn add_segment(all: &mut Linearised, recording: &Recording, segment: &Segment, columns: &[Vec<f64>; 7], by: &[f64; 5]) {
    let mut local = Local { matrix: Matrix2::zeros(), cross: Matrix5x2::zeros(), gradient: Vector2::zeros() };
    let [base, by_velocity, by_model @ ..] = columns;
    for (index, tick) in (segment.start..segment.end).enumerate() {
        let residual = recording.positions_m[tick] - base[index];
        if !residual.is_finite() {
            continue;
        }
        let global = Vector5::from_fn(|row, _| (by_model[row][index] - base[index]) / by[row]);
        let own = Vector2::new(1.0, (by_velocity[index] - base[index]) / VELOCITY_NUDGE);
        all.square_m2 += residual * residual;
        all.matrix += global * global.transpose();
        all.gradient += global * residual;
        local.matrix += own * own.transpose();
        local.cross += global * own.transpose();
        local.gradient += own * residual;
    }
    all.locals.push(local);
}

/// Returns the model with one parameter increased by its finite-difference step, and that step.
fn nudged(model: AxisModel, index: usize) -> (AxisModel, f64) {
    let by = NUDGES[index];
    (moved(model, &Vector5::from_fn(|row, _| if row == index { by } else { 0.0 })), by)
}

/// Returns the model with its parameters changed by `by` and clamped to their valid ranges.
fn moved(model: AxisModel, by: &Vector5<f64>) -> AxisModel {
    AxisModel {
        mass_kg: model.mass_kg * libm::exp(by[0].clamp(-1.0, 1.0)),
        damping_n_s_per_m: (model.damping_n_s_per_m + by[1]).max(0.0),
        coulomb_n: (model.coulomb_n + by[2]).max(0.0),
        delay_s: (model.delay_s + by[3]).clamp(0.0, MAX_DELAY_S),
        bias_n: model.bias_n + by[4],
    }
}

/// Returns the system in the model parameters, with the initial states eliminated and the diagonals multiplied by 1 +
/// `trust`; `None` if a segment's system is singular.
fn eliminated(here: &Linearised, trust: f64) -> Option<(Matrix5<f64>, Vector5<f64>)> {
    let (mut matrix, mut gradient) = (damped5(here.matrix, trust), here.gradient);
    for local in &here.locals {
        let inverse = damped2(local.matrix, trust).try_inverse()?;
        let through = local.cross * inverse;
        matrix -= through * local.cross.transpose();
        gradient -= through * local.gradient;
    }
    Some((matrix, gradient))
}

fn damped5(matrix: Matrix5<f64>, trust: f64) -> Matrix5<f64> {
    Matrix5::from_fn(|row, column| matrix[(row, column)] * if row == column { 1.0 + trust } else { 1.0 })
}

fn damped2(matrix: Matrix2<f64>, trust: f64) -> Matrix2<f64> {
    Matrix2::from_fn(|row, column| matrix[(row, column)] * if row == column { 1.0 + trust } else { 1.0 })
}

fn step(here: &Linearised, segments: &[Segment], model: AxisModel, trust: f64) -> Option<(AxisModel, Vec<Segment>)> {
    let (matrix, gradient) = eliminated(here, trust)?;
    let by = solved(matrix, gradient)?;
    let next = moved(model, &by);
    let segments = segments.iter().zip(&here.locals).map(|(segment, local)| {
        let own = damped2(local.matrix, trust).try_inverse().unwrap_or_default()
            * (local.gradient - local.cross.transpose() * by);
        let begin = AxisState {
            position_m: segment.begin.position_m + own[0],
            velocity_m_per_s: segment.begin.velocity_m_per_s + own[1],
        };
        Segment { begin, ..*segment }
    });
    Some((next, segments.collect()))
}

/// Solves the system after scaling its diagonal to one, because the parameters differ by many orders of magnitude.
fn solved(matrix: Matrix5<f64>, gradient: Vector5<f64>) -> Option<Vector5<f64>> {
    let scale = Vector5::from_fn(|row, _| if matrix[(row, row)] > 0.0 { matrix[(row, row)].sqrt() } else { 1.0 });
    let scaled = Matrix5::from_fn(|row, column| matrix[(row, column)] / (scale[row] * scale[column]));
    let solution = scaled.cholesky()?.solve(&gradient.component_div(&scale));
    Some(solution.component_div(&scale))
}
