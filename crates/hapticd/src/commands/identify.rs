//! `hapticd identify`: measures the mass, friction, delay and encoder step of a device, and proposes gains.

use super::{print_json, print_line};
use crate::cli::{IdentifyArguments, InputArguments};
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::hardware::{self, auto};
use crate::tuning::{atomic_write, device_text, drive};
use haptic_backends::KINDS;
use haptic_backends::serial::HaplyVariant;
use haptic_config::device;
use haptic_config::proposals::Proposals;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_loop::fault::Fault;
use haptic_loop::motor_set::MotorSet;
use haptic_loop::settings::worst_axis;
use haptic_tuning::TICK_S;
use haptic_tuning::encoder::EncoderStep;
use haptic_tuning::estimate::{AxisEstimate, Interval, estimate};
use haptic_tuning::experiment::Experiment;
use haptic_tuning::measurement::{End, MeasurementLimits, travel_within};
use haptic_tuning::signed::{Reversal, Signed};
use serde_json::{Value, json};
use std::fmt::Write;

/// Minimum travel required for an estimate, m.
const MIN_TRAVEL_M: f64 = 0.002;

/// Runs the command.
///
/// # Errors
/// If the device file is invalid, the device cannot be driven, its motion does not fit the model, or the result cannot
/// be written.
pub fn identify(arguments: &IdentifyArguments) -> Result<(), Failure> {
    atomic_write::check_writable(&arguments.out)?;
    let mut setup = free_setup(&arguments.device)?;
    PathConflicts::default()
        .reads_source("--device", &setup.sources.device)
        .writes("--out", Some(&arguments.out))
        .check()?;
    let Measured { axes, reversed, period_s } = measured(&mut setup, arguments)?;
    let mut text = device_text::with_measured(&setup.sources.device, &axes)?;
    if let Some(motors) = reversed {
        text = device_text::with_reversed_axes(&text, motors, setup.device.reversed.force)?;
    }
    let file = device::load(&Source::in_memory(&arguments.out.display().to_string(), &text), KINDS)?;
    let proposals = Proposals::new(&worst_axis(&file.model, file.axes as u8, period_s), 1.0);
    atomic_write::write(&arguments.out, text.as_bytes())?;
    let found = Found { axes: &axes, reversed, proposals, arguments };
    if arguments.json { print_json(&found.to_json()) } else { print_line(found.describe().trim_end()) }
}

/// Opens a setup without a simulated hand, so that the handle is free.
fn free_setup(device: &str) -> Result<Setup, Failure> {
    let input = InputArguments { device: Some(device.to_owned()), ..InputArguments::default() };
    let mut setup = auto::open_setup(&input)?;
    setup.device.hand = None;
    Ok(setup)
}

/// Results of the measurement.
struct Measured {
    /// One estimate per axis.
    axes: Vec<AxisEstimate>,
    /// Axes whose motors are reversed.
    reversed: Option<MotorSet>,
    /// Service period, s.
    period_s: f64,
}

/// Measures the device.
fn measured(setup: &mut Setup, arguments: &IdentifyArguments) -> Result<Measured, Failure> {
    let mut device = drive::paced(hardware::open(setup)?);
    setup.update_from_device(device.as_ref());
    let period_s = (1.0 / device.limits().rate_hz).max(TICK_S);
    let place_m = drive::handle_position(device.as_mut())?;
    let axes = usize::from(device.identity().axes);
    let travel_m = travel_within(device.limits(), axes, place_m, arguments.travel_m);
    if travel_m < MIN_TRAVEL_M {
        device.close();
        return Err(Failure::Runtime(format!(
            "the handle is {:.1} mm from the end of its travel; move it to the middle and release it",
            travel_m * 1e3
        )));
    }
    let force_n = [arguments.max_force_n.unwrap_or(f64::INFINITY), device.limits().max_force_n]
        .into_iter()
        .fold(setup.device.max_force_n(), f64::min);
    let experiment = Experiment::new(axes, &MeasurementLimits { force_n, travel_m });
    let experiment = Signed::new(experiment, setup.checked_motors(), Reversal::Correct);
    let (experiment, end) = drive::run(experiment, device, arguments.allow_no_rt)?;
    match end {
        End::Finished => {}
        End::Fault(Fault::ReversedAxis(motors)) => return Err(write_reversed_arms(setup, motors, arguments)?),
        end => return Err(not_measured(&end.to_string())),
    }
    let estimates = experiment.measurement().recordings().iter().enumerate().map(|(axis, recording)| {
        estimate(recording).map_err(|misfit| not_measured(&format!("axis {}: {misfit}", axis + 1)))
    });
    Ok(Measured { axes: estimates.collect::<Result<_, _>>()?, reversed: experiment.reversed(), period_s })
}

/// Writes a device file with the directions of reversed motors corrected, and returns what is to be done next.
fn write_reversed_arms(setup: &Setup, motors: MotorSet, arguments: &IdentifyArguments) -> Result<Failure, Failure> {
    let directions = HaplyVariant::of(&setup.device).motor_directions;
    let text = device_text::with_reversed_arms(&setup.sources.device.text, motors, directions)?;
    atomic_write::write(&arguments.out, text.as_bytes())?;
    let out = arguments.out.display();
    Ok(Failure::Runtime(format!(
        "{motors} moved against the motor: motor_directions is corrected in {out}; put the arms at their home stops and run \
         `hapticd identify --device {out} --out {out}`"
    )))
}

fn not_measured(why: &str) -> Failure {
    Failure::Runtime(format!("not measured, nothing written, no force: {why}"))
}

/// Results of the measurement, for printing.
struct Found<'a> {
    axes: &'a [AxisEstimate],
    reversed: Option<MotorSet>,
    proposals: Proposals,
    arguments: &'a IdentifyArguments,
}

impl Found<'_> {
    /// Returns the ratio of actual to commanded force; `None` without `--known-mass-kg`.
    fn force_scale(&self, axis: &AxisEstimate) -> Option<Interval> {
        let known_kg = self.arguments.known_mass_kg?;
        let value = known_kg / axis.mass_kg.value;
        Some(Interval { value, plus_minus: value * axis.mass_kg.plus_minus / axis.mass_kg.value })
    }

    fn to_json(&self) -> Value {
        let interval = |interval: &Interval| json!({ "value": interval.value, "plus_minus": interval.plus_minus });
        let axis = |axis: &AxisEstimate| {
            json!({
                "mass_kg": interval(&axis.mass_kg),
                "damping_n_s_per_m": interval(&axis.damping_n_s_per_m),
                "coulomb_n": interval(&axis.coulomb_n),
                "delay_s": interval(&axis.delay_s),
                "bias_n": interval(&axis.bias_n),
                "encoder_step_m": match axis.grid { EncoderStep::Step(step_m) => Some(step_m), _ => None },
                "force_scale": self.force_scale(axis).as_ref().map(interval),
                "residual_m": axis.residual_m,
                "strongest_force_n": axis.max_force_n,
                "doubts": axis.doubts,
            })
        };
        json!({
            "device": self.arguments.device,
            "file": self.arguments.out,
            "axes": self.axes.iter().map(axis).collect::<Vec<_>>(),
            "reversed": self.reversed.map_or([false; 2], |motors| [motors.first, motors.second])[..self.axes.len()],
            "proposals": self.proposals,
        })
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        if let Some(motors) = self.reversed {
            _ = writeln!(
                text,
                "{motors} moved against the motor: reverse_force is changed in the file; change reverse_position instead if the picture moves against the hand"
            );
        }
        for (index, axis) in self.axes.iter().enumerate() {
            // Writing to a string cannot fail.
            _ = self.write_axis(&mut text, index, axis);
        }
        _ = write!(text, "{}written to {}", self.proposals, self.arguments.out.display());
        text
    }

    fn write_axis(&self, text: &mut String, index: usize, axis: &AxisEstimate) -> std::fmt::Result {
        let format = |interval: &Interval, scale: f64| {
            let digits =
                (1.0 - libm::floor(libm::log10((interval.plus_minus * scale).max(1e-9)))).clamp(0.0, 6.0) as usize;
            format!("{:.digits$} ± {:.digits$}", interval.value * scale, interval.plus_minus * scale)
        };
        writeln!(
            text,
            "axis {}, free, moved over {:.1} mm with up to {:.2} N:",
            index + 1,
            axis.extent_m * 1e3,
            axis.max_force_n
        )?;
        writeln!(text, "  mass          {} g", format(&axis.mass_kg, 1e3))?;
        writeln!(text, "  damping       {} N·s/m", format(&axis.damping_n_s_per_m, 1.0))?;
        writeln!(text, "  dry friction  {} N", format(&axis.coulomb_n, 1.0))?;
        writeln!(text, "  delay         {} ms", format(&axis.delay_s, 1e3))?;
        match axis.grid {
            EncoderStep::Step(step_m) => {
                writeln!(text, "  encoder step  {} µm", device_text::rounded(step_m * 1e6, 6))?
            }
            EncoderStep::None { .. } | EncoderStep::Unknown => writeln!(text, "  encoder step  not detectable")?,
        }
        match self.force_scale(axis) {
            Some(scale) => writeln!(text, "  force scale   {} N per commanded newton", format(&scale, 1.0))?,
            None => writeln!(text, "  force scale   cannot be determined from motion alone; use --known-mass-kg")?,
        }
        writeln!(text, "  mean deviation from the model: {:.1} µm", axis.residual_m * 1e6)?;
        axis.doubts.iter().try_for_each(|doubt| writeln!(text, "  doubt: {doubt}"))
    }
}
