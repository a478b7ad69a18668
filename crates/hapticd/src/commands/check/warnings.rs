//! Warnings about valid files. Each has the number that is unusual and a remedy.

use crate::admission::unfit_for_run;
use haptic_config::error::Problem;
use haptic_config::keys::toml_number;
use haptic_device::DeviceConfig;
use haptic_planar::scene::envelope::MAX_MASS_RATIO;
use haptic_planar::scene::{Body, Scene};

/// Returns warnings if `simulate` accepts a scene but `run` rejects it, and if its masses are outside the envelope.
pub fn scene_warnings(scene: &Scene) -> Vec<String> {
    let unfit = unfit_for_run(scene).map(|text| format!("`simulate` accepts it, `run` rejects it: {text}"));
    unfit.into_iter().chain(mass_warnings(scene)).collect()
}

/// Returns a warning about the two bodies whose masses differ most, and one about a tool that is too light for what it
/// can touch, unless that is the same.
fn mass_warnings(scene: &Scene) -> impl Iterator<Item = String> {
    let extremes = scene.lightest_and_heaviest();
    let tool = scene.tool.and_then(|tool| {
        let tool = &scene.bodies[tool.body];
        Some((tool, scene.heaviest_beside(tool)?))
    });
    let is_same = tool.is_some_and(|(tool, _)| extremes.is_some_and(|(light, _)| std::ptr::eq(light, tool)));
    let extremes = extremes.filter(|_| !is_same).and_then(|(light, heavy)| mass_warning(light, heavy, ""));
    tool.and_then(|(tool, heavy)| mass_warning(tool, heavy, ", the tool")).into_iter().chain(extremes)
}

fn mass_warning(light: &Body, heavy: &Body, what: &str) -> Option<String> {
    let ratio = heavy.mass_kg / light.mass_kg;
    (ratio > MAX_MASS_RATIO).then(|| {
        format!(
            "\"{}\" is {ratio:.0} times as heavy as \"{}\"{what}: above {MAX_MASS_RATIO}, contacts between them may be \
             inaccurate; write mass_kg = {} for \"{}\", or bring the masses closer together",
            heavy.name,
            light.name,
            toml_number(heavy.mass_kg / MAX_MASS_RATIO),
            light.name
        )
    })
}

/// Returns the warnings about unusual values as texts.
pub fn unusual(warnings: &[Problem]) -> impl Iterator<Item = String> {
    warnings.iter().map(Problem::to_string)
}

/// Returns the warnings about a device file: values that are assumed, keys without effect, unusual values.
pub fn device_warnings(device: &DeviceConfig) -> Vec<String> {
    assumptions(device).into_iter().chain(device.warnings.iter().cloned()).collect()
}

/// Returns a warning for each value that is assumed because the file of a hardware device does not give it.
fn assumptions(device: &DeviceConfig) -> Vec<String> {
    let damping = format!(
        "model.damping_n_s_per_m is missing, {} is assumed; measure it with `hapticd identify`",
        device.model.damping_n_s_per_m[0]
    );
    let delay = "model.delay_s is missing, a full service period is assumed; measure it with `hapticd identify`";
    let warnings = [(device.damping_is_assumed, damping), (device.delay_is_assumed, delay.to_owned())];
    warnings.into_iter().filter_map(|(holds, warning)| holds.then_some(warning)).collect()
}
