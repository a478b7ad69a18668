//! `hapticd zwidth`: computes the region of stable stiffness and damping of a device, as a picture and as numbers.

use super::{print_json, print_line};
use crate::cli::{InputArguments, ZwidthArguments};
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::hardware::{self, auto};
use crate::still::{write_svg, writer_for};
use crate::tuning::region::{Marked, Region};
use crate::tuning::{atomic_write, drive};
use haptic_config::builtin::PROFILES;
use haptic_config::proposals::Proposals;
use haptic_config::setup::Setup;
use haptic_config::stability::hand_impedance;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::max_stable_stiffness_n_per_m;
use haptic_device::DeviceConfig;
use haptic_terminal::console::Console;
use haptic_tuning::boundary::{Limits, dampings};
use haptic_tuning::measurement::{End, MeasurementLimits, travel_within};
use haptic_tuning::signed::{Reversal, Signed};
use haptic_tuning::spring_test::{DampingTrial, MeasuredLimit, SpringTest};
use haptic_tuning::tap_test::TapTest;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Damping values to test on the device, as multiples of its own damping.
const MEASURED_SHARES: [f64; 4] = [0.1, 0.5, 2.0, 8.0];
/// Maximum travel of the handle during the spring test, m.
const TRAVEL_M: f64 = 0.015;

/// Runs the command.
///
/// # Errors
/// If the input is invalid, the picture cannot be written, or the measurement fails.
pub fn zwidth(arguments: &ZwidthArguments) -> Result<(), Failure> {
    let writer = arguments.out.as_deref().map_or(Ok(write_svg as _), |out| writer_for("--out", out))?;
    arguments.out.as_deref().map_or(Ok(()), atomic_write::check_writable)?;
    let input = InputArguments {
        profile: arguments.profile.clone(),
        device: arguments.device.clone(),
        ..InputArguments::default()
    };
    let setup = auto::open_setup(&input)?;
    PathConflicts::from_setup(&setup, &input).writes("--out", arguments.out.as_deref()).check()?;
    let region = region(&setup, arguments)?;
    if let Some(out) = &arguments.out {
        atomic_write::write(out, &writer(&region.draw())?)?;
    }
    if arguments.json { print_json(&to_json(&region)) } else { print_line(describe(&region, arguments).trim_end()) }
}

fn region(setup: &Setup, arguments: &ZwidthArguments) -> Result<Region, Failure> {
    let (device, hand) = (setup.device_model(), hand_impedance(setup));
    let scale = setup.settings().mapping.scale;
    let gains = setup.settings().coupling;
    let at_device = |gain: f64| gain * scale * scale;
    let named = plain_name(arguments.profile.as_deref().unwrap_or(PROFILES.entries[0].0));
    Ok(Region {
        name: plain_name(&setup.profile.device.name),
        device,
        hand,
        limits: boundaries(setup, &device, &hand, usize::from(arguments.points))?,
        measured: if arguments.measure { measured(setup, &device, arguments)? } else { Vec::new() },
        profile: Marked {
            name: format!("profile {named}"),
            stiffness_n_per_m: at_device(gains.stiffness_n_per_m),
            damping_n_s_per_m: at_device(gains.damping_n_s_per_m),
        },
        proposals: Proposals::new(&device, 1.0),
    })
}

/// Returns the name of a file without its folder and extension; the name of a built-in is unchanged.
fn plain_name(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Computes the stiffness limits for `points` damping values on all cores, with a progress bar.
fn boundaries(
    setup: &Setup,
    device: &WorstAxisModel,
    hand: &HandImpedance,
    points: usize,
) -> Result<Vec<Limits>, Failure> {
    let tapped = TapTest::new(device, hand)
        .map_err(|error| Failure::BadInput(format!("{}: {error}", setup.profile.device.name)))?;
    let (console, done) = (Console::bar(), AtomicUsize::new(0));
    let limits = |damping: f64| {
        let limits = Limits::of(device, hand, &tapped, damping);
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        console.show(count as f64 / points as f64, "simulating taps");
        limits
    };
    Ok(dampings(device, hand, points).into_par_iter().map(limits).collect())
}

/// Measures the maximum stable stiffness at several damping values on the device, with the handle free.
fn measured(
    setup: &Setup,
    device: &WorstAxisModel,
    arguments: &ZwidthArguments,
) -> Result<Vec<MeasuredLimit>, Failure> {
    let free = Setup { device: DeviceConfig { hand: None, ..setup.device.clone() }, ..setup.clone() };
    let rungs = MEASURED_SHARES.map(|share| {
        let damping_n_s_per_m = share * device.damping_n_s_per_m.max(0.02);
        let predicted_n_per_m = max_stable_stiffness_n_per_m(device, &HandImpedance::default(), damping_n_s_per_m);
        DampingTrial { damping_n_s_per_m, predicted_n_per_m }
    });
    let rungs: Vec<DampingTrial> = rungs.into_iter().filter(|rung| rung.predicted_n_per_m > 1.0).collect();
    let mut opened = drive::paced(hardware::open(&free)?);
    let place_m = drive::handle_position(opened.as_mut())?;
    let axes = usize::from(opened.identity().axes);
    let allowance = MeasurementLimits {
        force_n: setup.max_force_n().min(opened.limits().max_force_n),
        travel_m: travel_within(opened.limits(), axes, place_m, TRAVEL_M),
    };
    let test = SpringTest::new(rungs, axes, device, &allowance);
    let test = Signed::new(test, setup.checked_motors(), Reversal::Reject);
    let (test, end) = drive::run(test, opened, arguments.allow_no_rt)?;
    match end {
        End::Finished => Ok(test.measurement().found().to_vec()),
        end => Err(Failure::Runtime(format!("not measured, nothing written, no force: {end}"))),
    }
}

fn to_json(region: &Region) -> Value {
    let limits = |limits: &Limits| {
        json!({
            "damping_n_s_per_m": limits.damping_n_s_per_m,
            "passive_n_per_m": limits.passive_n_per_m,
            "spectral_n_per_m": limits.spectral_n_per_m,
            "simulated_n_per_m": limits.simulated_n_per_m,
        })
    };
    let found = |found: &MeasuredLimit| {
        json!({
            "damping_n_s_per_m": found.damping_n_s_per_m,
            "stiffest_n_per_m": found.stiffest_n_per_m,
            "is_at_least": found.is_at_least,
        })
    };
    let (profile, hand) = (&region.profile, &region.hand);
    json!({
        "device": region.name,
        "hand": {
            "mass_kg": hand.mass_kg,
            "damping_n_s_per_m": hand.damping_n_s_per_m,
            "stiffness_n_per_m": hand.stiffness_n_per_m,
        },
        "points": region.limits.iter().map(limits).collect::<Vec<_>>(),
        "measured": region.measured.iter().map(found).collect::<Vec<_>>(),
        "profile": {
            "name": profile.name,
            "stiffness_n_per_m": profile.stiffness_n_per_m,
            "damping_n_s_per_m": profile.damping_n_s_per_m,
        },
        "proposals": region.proposals,
    })
}

fn describe(region: &Region, arguments: &ZwidthArguments) -> String {
    let row = |limits: &Limits| {
        let Limits { damping_n_s_per_m, passive_n_per_m, spectral_n_per_m, simulated_n_per_m } = limits;
        format!(
            "{damping_n_s_per_m:>12.3} {passive_n_per_m:>12.0} {spectral_n_per_m:>12.0} {simulated_n_per_m:>12.0}\n"
        )
    };
    let rows: String = region.limits.iter().map(row).collect();
    let found = |found: &MeasuredLimit| {
        let at_least = if found.is_at_least { "at least " } else { "" };
        format!("measured at {:.3} N·s/m: {at_least}{:.0} N/m\n", found.damping_n_s_per_m, found.stiffest_n_per_m)
    };
    let measured: String = region.measured.iter().map(found).collect();
    let written = arguments.out.as_ref().map_or(String::new(), |out| format!("written to {}", out.display()));
    format!(
        "maximum stiffness of the coupling of {}, N/m\n{:>12} {:>12} {:>12} {:>12}\n{rows}{measured}{}{written}",
        region.name, "damping", "passive", "eigenvalues", "tapped", region.proposals
    )
}
