//! Estimated model of one axis: values with intervals and warnings, or the reason why the data do not fit.

use crate::balance::first_guess;
use crate::encoder::{EncoderStep, find_step};
use crate::fit::{Fit, MAX_DELAY_S, fit};
use crate::motion::AxisModel;
use crate::recording::Recording;
use nalgebra::Matrix5;
use std::fmt;

/// Half-width of an interval in standard deviations. Encoder quantisation is not white noise: of 2000 intervals for
/// random devices, 91 % contained the true value, compared with 83 % for two standard deviations.
const SIGMAS: f64 = 3.0;
/// Ratio of the residuals to the encoder's quantisation noise above which a warning is issued.
const NOISY: f64 = 1.5;
/// Residuals accepted in addition to the encoder's quantisation noise, m.
const QUIET_M: f64 = 2e-6;
/// Ratio of the residuals to the range of the motion above which the model does not fit.
const NO_FIT: f64 = 0.05;
/// Ratio of squared residuals with clipping to those without, below which clipping explains the residuals.
const CLIP_EXPLAINS: f64 = 0.5;
/// Clipping forces to try, as fractions of the maximum force.
const CLIPS: [f64; 9] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];
/// Exclusive upper limit on the lag at which the correlation of the residuals is evaluated, ticks.
const MAX_LAG: usize = 60;

/// Estimate with a 90 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Estimated value.
    pub value: f64,
    /// Half-width of the interval.
    pub plus_minus: f64,
}

/// Estimated model of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisEstimate {
    /// Moving mass, kg.
    pub mass_kg: Interval,
    /// Viscous damping, N·s/m.
    pub damping_n_s_per_m: Interval,
    /// Dry friction, N.
    pub coulomb_n: Interval,
    /// Delay from command to effect, s.
    pub delay_s: Interval,
    /// Constant force, such as a weight, N.
    pub bias_n: Interval,
    /// Encoder step.
    pub grid: EncoderStep,
    /// Root mean square of the differences between the readings and the model, m.
    pub residual_m: f64,
    /// Maximum force applied, N.
    pub max_force_n: f64,
    /// Range of the motion, from end to end, m.
    pub extent_m: f64,
    /// Warnings about uncertain values, one sentence each.
    pub doubts: Vec<String>,
}

/// Error for a recording that does not permit an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EstimateError {
    /// The motion was too small.
    TooLittle {
        /// Range of the motion, m.
        extent_m: f64,
    },
    /// The motion does not match a mass with friction.
    NoModel {
        /// Root mean square of the differences between the readings and the model, m.
        residual_m: f64,
        /// Range of the motion, m.
        extent_m: f64,
    },
    /// The motor saturates.
    Saturates {
        /// Approximate saturation force, N.
        at_n: f64,
        /// Requested force, N.
        requested_n: f64,
    },
    /// The delay is at the upper end of the searched range.
    TooLate,
}

/// Estimates the model of one axis.
///
/// # Errors
/// If the data do not fit the model.
pub fn estimate(recording: &Recording) -> Result<AxisEstimate, EstimateError> {
    let extent_m = recording.extent_m();
    let grid = find_step(recording.read_m());
    let too_little = EstimateError::TooLittle { extent_m };
    if grid == EncoderStep::Unknown {
        return Err(too_little);
    }
    let best = first_guess(recording).and_then(|guess| fit(recording, guess)).ok_or(too_little)?;
    let encoder_m = encoder_noise_m(grid);
    let is_noisy = best.rms_m() > NOISY * encoder_m + QUIET_M;
    if is_noisy && let Some(at_n) = clipped_at(recording, &best) {
        return Err(EstimateError::Saturates { at_n, requested_n: recording.max_force_n() });
    }
    if best.rms_m() > NO_FIT * extent_m {
        return Err(EstimateError::NoModel { residual_m: best.rms_m(), extent_m });
    }
    if best.model.delay_s >= MAX_DELAY_S {
        return Err(EstimateError::TooLate);
    }
    let mut found = intervals(&best).ok_or(too_little)?;
    (found.grid, found.max_force_n, found.extent_m) = (grid, recording.max_force_n(), extent_m);
    found.doubts = doubts(&found, is_noisy, encoder_m);
    Ok(found)
}

/// Returns the root mean square of the encoder's quantisation error, m.
fn encoder_noise_m(grid: EncoderStep) -> f64 {
    match grid {
        EncoderStep::Step(step_m) => step_m / 12f64.sqrt(),
        EncoderStep::None { .. } | EncoderStep::Unknown => 0.0,
    }
}

fn intervals(fit: &Fit) -> Option<AxisEstimate> {
    let AxisModel { mass_kg, damping_n_s_per_m, coulomb_n, delay_s, bias_n } = fit.model;
    let spread = standard_deviations(fit)?;
    let interval = |value: f64, deviation: f64| Interval { value, plus_minus: SIGMAS * deviation };
    Some(AxisEstimate {
        mass_kg: interval(mass_kg, mass_kg * spread[0]),
        damping_n_s_per_m: interval(damping_n_s_per_m, spread[1]),
        coulomb_n: interval(coulomb_n, spread[2]),
        delay_s: interval(delay_s, spread[3]),
        bias_n: interval(bias_n, spread[4]),
        grid: EncoderStep::Unknown,
        residual_m: fit.rms_m(),
        max_force_n: 0.0,
        extent_m: 0.0,
        doubts: Vec::new(),
    })
}

/// Computes the standard deviations of the parameters from the curvature of the error and the size of the residuals.
/// Takes the correlation of the residuals into account: a hundred residuals of a slow motion carry no more information
/// than a few.
fn standard_deviations(fit: &Fit) -> Option<[f64; 5]> {
    let freedom = fit.readings().saturating_sub(5 + 2 * fit.residuals_m.len());
    let variance = fit.square_m2() / freedom.max(1) as f64 * correlation_length(&fit.residuals_m);
    let scale: [f64; 5] = std::array::from_fn(|index| fit.information[(index, index)].max(f64::MIN_POSITIVE).sqrt());
    let scaled = Matrix5::from_fn(|row, column| fit.information[(row, column)] / (scale[row] * scale[column]));
    let inverse = scaled.try_inverse()?;
    Some(std::array::from_fn(|index| (variance * inverse[(index, index)].max(0.0)).sqrt() / scale[index]))
}

/// Returns 1 + 2Σρ over the leading positive correlations ρ: the number of residuals equivalent to one independent one.
fn correlation_length(segments: &[Vec<f64>]) -> f64 {
    let product = |lag: usize| -> f64 {
        segments.iter().flat_map(|segment| segment.iter().zip(segment.iter().skip(lag))).map(|(a, b)| a * b).sum()
    };
    let own = product(0).max(f64::MIN_POSITIVE);
    let correlations = (1..MAX_LAG).map(|lag| product(lag) / own).take_while(|&correlation| correlation > 0.0);
    1.0 + 2.0 * correlations.sum::<f64>()
}

/// Returns the force at which the motor clips, N, if clipping explains the residuals.
fn clipped_at(recording: &Recording, plain: &Fit) -> Option<f64> {
    let max_force_n = recording.max_force_n();
    let tried = CLIPS.iter().filter_map(|fraction| {
        let limit_n = fraction * max_force_n;
        let commands_n = recording.commands_n.iter().map(|command| command.clamp(-limit_n, limit_n)).collect();
        let clipped = Recording { positions_m: recording.positions_m.clone(), commands_n };
        let found = first_guess(&clipped).and_then(|guess| fit(&clipped, guess))?;
        Some((limit_n, found.square_m2()))
    });
    let (limit_n, square_m2) = tried.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (square_m2 < CLIP_EXPLAINS * plain.square_m2()).then_some(limit_n)
}

fn doubts(found: &AxisEstimate, is_noisy: bool, encoder_m: f64) -> Vec<String> {
    let mut doubts = Vec::new();
    if is_noisy {
        doubts.push(format!(
            "readings differ from the model by {:.1} µm on average, expected {:.1} µm; check for cogging, backlash, a \
             pulling cable, a hand on the device, or late ticks (`hapticd doctor`)",
            found.residual_m * 1e6,
            encoder_m * 1e6
        ));
    }
    let AxisEstimate { mass_kg, damping_n_s_per_m: damping, coulomb_n, delay_s, .. } = found;
    let checks = [
        ("mass", mass_kg, 0.05 * mass_kg.value, "kg"),
        ("damping", damping, (0.05 * damping.value).max(0.02), "N·s/m"),
        ("dry friction", coulomb_n, (0.15 * coulomb_n.value).max(0.01), "N"),
        ("delay", delay_s, 0.15e-3, "s"),
    ];
    doubts.extend(checks.iter().filter(|(_, interval, allowed, _)| interval.plus_minus > *allowed).map(
        |(name, Interval { value, plus_minus }, _, unit)| {
            format!("{name} is uncertain: {value:.4} ± {plus_minus:.4} {unit}")
        },
    ));
    if matches!(found.grid, EncoderStep::None { .. }) {
        doubts.push("positions fit no grid; the encoder step is taken from the device file".to_owned());
    }
    doubts
}

impl fmt::Display for EstimateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLittle { extent_m } => write!(
                f,
                "the handle moved only {:.3} mm, too little for an estimate; allow more force or travel",
                extent_m * 1e3
            ),
            Self::NoModel { residual_m, extent_m } => write!(
                f,
                "the motion is not that of a mass with friction: readings differ from the best model by {:.2} mm over a \
                 motion of {:.1} mm; release the handle and check for end stops, slipping belts or an encoder that skips",
                residual_m * 1e3,
                extent_m * 1e3
            ),
            Self::Saturates { at_n, requested_n } => write!(
                f,
                "the motor saturates at about {at_n:.2} N, below the requested {requested_n:.2} N; write max_force_n = {at_n:.2} \
                 into [model], or raise the current limit, and measure again"
            ),
            Self::TooLate => write!(
                f,
                "the force acts more than {:.0} ms late; a haptic loop is unstable with such a delay",
                MAX_DELAY_S * 1e3
            ),
        }
    }
}
