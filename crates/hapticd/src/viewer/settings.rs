//! Limits and margins of a setup, for the viewer.

use haptic_config::setup::Setup;
use haptic_config::stability::hand_impedance;
use haptic_coupling::coupling::Gains;
use haptic_coupling::margins::Margins;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::max_stable_stiffness_n_per_m;
use haptic_device::DeviceConfig;
use haptic_device::kind::SIMULATED;
use haptic_device::simulated::PATH_RESUMES_S;
use haptic_loop::scene_hand::SceneHand;
use haptic_loop::settings::Settings;
use haptic_planar::scene::Scene;
use haptic_view::message::settings::{
    DeviceMessage, LimitsMessage, ModelMessage, RegionPoint, SettingsMessage, StabilityMessage,
};

/// Number of points on the boundary of the region of stable gains.
const REGION_POINTS: usize = 48;
/// Smallest nonzero damping in the region, as a fraction of the largest. It is small because passive gains have far
/// lower damping values than the largest stable damping.
const MIN_FRACTION: f64 = 1e-4;
/// Longest delay for which the region is computed, in service periods. Beyond it, computing the eigenvalues takes too
/// long.
const MAX_DELAY_PERIODS: f64 = 20.0;
/// Largest angular stiffness that can be set in the viewer, N·m/rad, unless the profile has a larger one. It
/// corresponds to the rigid grip of a fist.
const MAX_ANGULAR_STIFFNESS_N_M_PER_RAD: f64 = 10.0;
/// Largest angular damping that can be set in the viewer, N·m·s/rad, unless the profile has a larger one.
const MAX_ANGULAR_DAMPING_N_M_S_PER_RAD: f64 = 0.1;

/// Properties of a setup that are constant while the loop runs.
#[derive(Clone, Debug)]
pub struct DeviceFacts {
    device: DeviceMessage,
    model: WorstAxisModel,
    hand: HandImpedance,
    /// Region of stable gains, device frame; the active mapping converts it to the world frame.
    region: Vec<RegionPoint>,
    /// Initial gains of the profile, which can always be set.
    own: Gains,
    /// Whether the device file gives the simulated hand a path.
    has_hand_path: bool,
}

impl DeviceFacts {
    /// Collects the properties of a setup and computes the region of stable gains, which takes a few milliseconds.
    pub fn of(setup: &Setup, device_name: &str) -> Self {
        let (model, hand) = (setup.device_model(), hand_impedance(setup));
        let device = device(&setup.device, device_name, &model, setup.max_force_n());
        let has_hand_path = setup.device.hand.as_ref().is_some_and(|hand| !hand.path.is_empty());
        Self { device, region: region(&model, &hand), own: setup.settings().coupling, model, hand, has_hand_path }
    }

    /// Returns the time after a release of the hand until its path resumes, s; `None` if it has no path.
    pub fn hand_resumes_s(&self, hand: &SceneHand) -> Option<f64> {
        if self.has_hand_path {
            return Some(PATH_RESUMES_S);
        }
        hand.path.as_ref().filter(|_| self.device.can_be_guided).map(|_| hand.idle_s)
    }

    /// Returns the largest gains that can be set in the viewer, world frame.
    pub fn max_gains(&self, settings: &Settings) -> Gains {
        max_gains(&in_world(&self.region, settings.mapping.scale), &self.own)
    }

    fn limits(&self, settings: &Settings) -> LimitsMessage {
        let max = self.max_gains(settings);
        LimitsMessage {
            max_force_n: settings.safety.max_force_n.min(self.device.max_force_n),
            stiffness_n_per_m: [0.0, max.stiffness_n_per_m],
            damping_n_s_per_m: [0.0, max.damping_n_s_per_m],
            angular_stiffness_n_m_per_rad: [0.0, max.angular_stiffness_n_m_per_rad],
            angular_damping_n_m_s_per_rad: [0.0, max.angular_damping_n_m_s_per_rad],
        }
    }

    /// Whether the device is a model rather than hardware.
    pub fn is_simulated(&self) -> bool {
        self.device.kind == SIMULATED.name
    }

    /// Returns the description of the device for the viewer.
    pub fn device(&self) -> &DeviceMessage {
        &self.device
    }

    /// Returns the message with all settings and their margins for the tool of a scene.
    pub fn message(&self, settings: &Settings, scene: &Scene) -> SettingsMessage {
        let tool_mass_kg = scene.tool.map(|tool| scene.bodies[tool.body].mass_kg);
        let Settings { coupling, mapping, safety } = settings;
        let margins = Margins::of(&self.model, &self.hand, coupling, mapping.scale, tool_mass_kg);
        SettingsMessage {
            coupling: *coupling,
            limits: self.limits(settings),
            safety: *safety,
            stability: StabilityMessage {
                passive: margins.is_passive(),
                stable: margins.is_stable(),
                text: margins.to_string(),
                region: in_world(&self.region, mapping.scale),
            },
            device: self.device.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

fn device(file: &DeviceConfig, name: &str, model: &WorstAxisModel, max_force_n: f64) -> DeviceMessage {
    DeviceMessage {
        name: name.to_owned(),
        kind: file.kind.name.to_owned(),
        axes: file.axes as u8,
        can_be_guided: file.hand.is_some(),
        max_force_n,
        model: ModelMessage {
            mass_kg: model.mass_kg,
            damping_n_s_per_m: model.damping_n_s_per_m,
            coulomb_n: model.coulomb_n,
            encoder_step_m: model.encoder_step_m,
            delay_s: model.delay_s,
        },
    }
}

/// Returns the largest gains that the viewer can set. Linear gains are limited to the largest values that can be stable
/// with the known hand, and angular gains to constants; larger gains in the profile raise these limits. Both linear
/// limits together may be unstable; the viewer's page shows this, and the tank protects the hand.
fn max_gains(region: &[RegionPoint], own: &Gains) -> Gains {
    let stiffness = region.iter().map(|point| point.stiffness_stable_n_per_m).fold(0.0, f64::max);
    let damping = region.last().map_or(0.0, |point| point.damping_n_s_per_m);
    Gains {
        stiffness_n_per_m: rounded_down(stiffness).max(own.stiffness_n_per_m),
        damping_n_s_per_m: rounded_down(damping).max(own.damping_n_s_per_m),
        angular_stiffness_n_m_per_rad: MAX_ANGULAR_STIFFNESS_N_M_PER_RAD.max(own.angular_stiffness_n_m_per_rad),
        angular_damping_n_m_s_per_rad: MAX_ANGULAR_DAMPING_N_M_S_PER_RAD.max(own.angular_damping_n_m_s_per_rad),
    }
}

/// Rounds a limit down to three significant digits, to make it easy to read.
fn rounded_down(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let digit = 10f64.powf(value.log10().floor() - 2.0);
    (value / digit).floor() * digit
}

/// Converts the region to the world frame. With a magnifying mapping, a spring is stiffer at the device than in the
/// world.
fn in_world(region: &[RegionPoint], scale: f64) -> Vec<RegionPoint> {
    let to_world = 1.0 / (scale * scale);
    let point = |point: &RegionPoint| RegionPoint {
        damping_n_s_per_m: point.damping_n_s_per_m * to_world,
        stiffness_passive_n_per_m: point.stiffness_passive_n_per_m * to_world,
        stiffness_stable_n_per_m: point.stiffness_stable_n_per_m * to_world,
    };
    region.iter().map(point).collect()
}

/// Computes the maximum passive and maximum stable stiffness for damping values from zero to the largest stable one,
/// device frame. Returns no points if the delay of the device exceeds `MAX_DELAY_PERIODS`.
fn region(model: &WorstAxisModel, hand: &HandImpedance) -> Vec<RegionPoint> {
    if model.delay_s > MAX_DELAY_PERIODS * model.period_s {
        return Vec::new();
    }
    let most = max_damping_n_s_per_m(model, hand);
    let steps = (REGION_POINTS - 2) as f64;
    let above_none = (0..REGION_POINTS - 1).map(|step| most * MIN_FRACTION.powf(1.0 - step as f64 / steps));
    let point = |damping: f64| RegionPoint {
        damping_n_s_per_m: damping,
        stiffness_passive_n_per_m: ((model.damping_n_s_per_m - damping) / model.effective_delay_s()).max(0.0),
        stiffness_stable_n_per_m: max_stable_stiffness_n_per_m(model, hand, damping),
    };
    std::iter::once(0.0).chain(above_none).map(point).collect()
}

/// Returns the largest damping for which some stiffness is stable, N·s/m. There is such a limit because the damper
/// force is delayed too.
fn max_damping_n_s_per_m(model: &WorstAxisModel, hand: &HandImpedance) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * (model.mass_kg + hand.mass_kg) / model.period_s);
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if max_stable_stiffness_n_per_m(model, hand, middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_region() -> Vec<RegionPoint> {
        region(&WorstAxisModel::default(), &HandImpedance::default())
    }

    #[test]
    fn the_passive_line_is_the_one_of_the_worked_example_and_lies_inside_the_stable_region() {
        let region = default_region();
        assert_eq!(region.len(), REGION_POINTS);
        assert!((region[0].stiffness_passive_n_per_m - 625.0).abs() < 1e-9);
        for point in &region {
            let last = point == region.last().unwrap();
            assert!(last || point.stiffness_stable_n_per_m > point.stiffness_passive_n_per_m, "{point:?}");
        }
    }

    #[test]
    fn dampings_rise_from_none_and_a_magnifying_mapping_shrinks_the_region() {
        let (plain, doubled) = (default_region(), in_world(&default_region(), 2.0));
        assert!(plain.windows(2).all(|pair| pair[0].damping_n_s_per_m < pair[1].damping_n_s_per_m));
        let [a, b] = [&plain, &doubled].map(|region| region[7].stiffness_stable_n_per_m);
        assert!((a / b - 4.0).abs() < 1e-9);
        let [a, b] = [&plain, &doubled].map(|region| max_gains(region, &Gains::default()).stiffness_n_per_m);
        assert!((a / b - 4.0).abs() < 0.04, "{a} {b}");
    }

    #[test]
    fn a_device_that_is_very_late_has_no_region_and_costs_nothing() {
        assert!(
            region(&WorstAxisModel { delay_s: 1.0, ..WorstAxisModel::default() }, &HandImpedance::default()).is_empty()
        );
    }
}
