//! What a profile says about coupling, mapping and safety, with the defaults of a profile that says nothing.

mod image;

use haptic_coupling::coupling::Gains;
use haptic_coupling::model::WorstAxisModel;
use haptic_coupling::tank::Passivity;
use haptic_device::mapping::{Mapping, MappingError};
use haptic_device::simulated::DeviceModel as AxesModel;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Engagement ramp that is enough where no motor moves a real hand, s.
pub const SIMULATED_ENGAGE_RAMP_S: f64 = 0.2;

/// Everything that can change while the loop runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// `[coupling]`.
    pub coupling: Gains,
    /// `[mapping]`.
    pub mapping: MappingSettings,
    /// `[safety]`.
    pub safety: Safety,
}

/// How the device's frame lies in the world.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingSettings {
    /// World metres per device metre.
    pub scale: f64,
    /// Of the device's frame in the world, rad, anticlockwise.
    pub rotation_rad: f64,
    /// World position of the device's origin, m.
    pub offset_m: Vector2<f64>,
    /// Direction of a single axis in the world; any length.
    pub axis: Vector2<f64>,
    /// Whether the handle of a single axis stays on its line.
    pub rail: bool,
}

impl Default for MappingSettings {
    fn default() -> Self {
        let (offset_m, axis) = (Vector2::zeros(), Vector2::new(1.0, 0.0));
        Self { scale: 1.0, rotation_rad: 0.0, offset_m, axis, rail: true }
    }
}

/// A mapping ready for use: how positions and forces pass, and the line that the handle rides on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveMapping {
    /// Between device and world.
    pub mapping: Mapping,
    /// Unit direction in the world, if the handle rides on a rail.
    pub rail: Option<Vector2<f64>>,
    /// World metres per device metre.
    pub scale: f64,
    /// 1/scale², which takes a velocity's way back for a force.
    force_scale: f64,
    /// What it was made of.
    settings: MappingSettings,
}

impl MappingSettings {
    /// The mapping ready for use with a device of one or two axes.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn activate(&self, axes: u8) -> Result<ActiveMapping, MappingError> {
        if axes == 1 {
            let mapping = Mapping::linear(self.scale, self.axis, self.offset_m)?;
            let direction = mapping.velocity_to_world(Vector2::new(1.0, 0.0)) / self.scale;
            Ok(ActiveMapping::new(mapping, self.rail.then_some(direction), self))
        } else {
            let mapping = Mapping::planar(self.scale, self.rotation_rad, self.offset_m)?;
            Ok(ActiveMapping::new(mapping, None, self))
        }
    }
}

impl ActiveMapping {
    fn new(mapping: Mapping, rail: Option<Vector2<f64>>, settings: &MappingSettings) -> Self {
        let scale = settings.scale;
        Self { mapping, rail, scale, force_scale: 1.0 / (scale * scale), settings: *settings }
    }

    /// What it was made of. Real-time: constant.
    pub fn settings(&self) -> MappingSettings {
        self.settings
    }

    /// Whether it does the same as another, whatever both were made of: a single axis knows no rotation.
    pub fn acts_like(&self, other: &Self) -> bool {
        (self.mapping, self.rail, self.scale) == (other.mapping, other.rail, other.scale)
    }

    /// What a force of the device is in the world, N. Real-time: constant.
    pub fn force_to_world(&self, device_n: Vector2<f64>) -> Vector2<f64> {
        self.mapping.velocity_to_world(device_n) * self.force_scale
    }
}

/// A device with several axes as its worst one: least mass, damping and friction, coarsest encoder, longest delay. Tank
/// and margins must hold in every direction. `period_s` is how often it is served.
pub fn worst_axis(model: &AxesModel, axes: u8, period_s: f64) -> WorstAxisModel {
    let present = usize::from(axes).clamp(1, model.mass_kg.len());
    let least = |values: &[f64]| values[..present].iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values[..present].iter().copied().fold(0.0, f64::max);
    WorstAxisModel {
        mass_kg: least(&model.mass_kg),
        damping_n_s_per_m: least(&model.damping_n_s_per_m),
        coulomb_n: least(&model.coulomb_n),
        encoder_step_m: most(&model.encoder_step_m),
        delay_s: most(&model.delay_s),
        max_force_n: model.max_force_n,
        period_s,
    }
}

/// The limits between the world and the hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Safety {
    /// Largest force on the hand, N.
    pub max_force_n: f64,
    /// Fastest rise of the force, N/s; zero for no limit.
    pub slew_n_per_s: f64,
    /// Time from no force to full force, s; zero: engaged from the first tick.
    pub engage_ramp_s: f64,
    /// No new reading for so long: zero force until there is one.
    pub stale_after_s: f64,
    /// No new reading for so long: a fault.
    pub lost_after_s: f64,
    /// A hand faster than this is a fault, m/s.
    pub max_speed_m_per_s: f64,
    /// What the energy tank does.
    pub passivity: Passivity,
}

impl Default for Safety {
    fn default() -> Self {
        Self {
            max_force_n: 4.0,
            slew_n_per_s: 2000.0,
            engage_ramp_s: 2.0,
            stale_after_s: 0.005,
            lost_after_s: 0.1,
            max_speed_m_per_s: 3.0,
            passivity: Passivity::Tank,
        }
    }
}

/// A safety setting that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafetyError {
    /// Its key in `[safety]`.
    pub key: &'static str,
    /// What was given; none for a word.
    pub value: Option<f64>,
    /// What would be right.
    pub remedy: &'static str,
}

impl fmt::Display for SafetyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "safety.{} is {value}; {}", self.key, self.remedy),
            None => write!(f, "safety.{}: {}", self.key, self.remedy),
        }
    }
}

impl std::error::Error for SafetyError {}

impl Safety {
    /// Values that make sense anywhere.
    ///
    /// # Errors
    /// The first that does not.
    pub fn checked(self) -> Result<Self, SafetyError> {
        let above_zero = [
            ("max_force_n", self.max_force_n),
            ("stale_after_s", self.stale_after_s),
            ("lost_after_s", self.lost_after_s),
            ("max_speed_m_per_s", self.max_speed_m_per_s),
        ];
        let zero_or_more = [("slew_n_per_s", self.slew_n_per_s), ("engage_ramp_s", self.engage_ramp_s)];
        require(&above_zero, |value| value > 0.0, "it must be a number above zero")?;
        require(&zero_or_more, |value| value >= 0.0, "it must be a number, zero or more")?;
        if self.lost_after_s < self.stale_after_s {
            let remedy = "it must not be less than stale_after_s";
            return Err(SafetyError { key: "lost_after_s", value: Some(self.lost_after_s), remedy });
        }
        Ok(self)
    }

    /// What motors that move a real hand need on top; `i_know` is the user's word that switching the tank off is meant.
    ///
    /// # Errors
    /// The first setting that is only for simulation.
    pub fn checked_for_hardware(self, i_know: bool) -> Result<Self, SafetyError> {
        let checked = self.checked()?;
        let ramps = [("engage_ramp_s", self.engage_ramp_s), ("slew_n_per_s", self.slew_n_per_s)];
        require(&ramps, |value| value > 0.0, "on hardware it must be above zero; zero is for simulated devices")?;
        let refused = |remedy| Err(SafetyError { key: "passivity", value: None, remedy });
        match self.passivity {
            Passivity::Observer => refused("\"observer\" only watches; on hardware it must be \"tank\""),
            Passivity::Off if !i_know => refused("\"off\" on hardware needs --i-know; \"tank\" is the right one"),
            Passivity::Tank | Passivity::Off => Ok(checked),
        }
    }
}

fn require(
    values: &[(&'static str, f64)],
    holds: impl Fn(f64) -> bool,
    remedy: &'static str,
) -> Result<(), SafetyError> {
    match values.iter().find(|(_, value)| !value.is_finite() || !holds(*value)) {
        Some(&(key, value)) => Err(SafetyError { key, value: Some(value), remedy }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_fit_for_hardware() {
        assert!(Safety::default().checked_for_hardware(false).is_ok());
    }

    #[test]
    fn what_measures_bare_physics_is_refused_on_hardware_only() {
        let safety = Safety::default();
        let bare = [
            Safety { engage_ramp_s: 0.0, ..safety },
            Safety { slew_n_per_s: 0.0, ..safety },
            Safety { passivity: Passivity::Observer, ..safety },
            Safety { passivity: Passivity::Off, ..safety },
        ];
        for settings in bare {
            assert!(settings.checked().is_ok());
            assert!(settings.checked_for_hardware(false).is_err());
        }
        assert!(bare[3].checked_for_hardware(true).is_ok());
    }

    #[test]
    fn a_senseless_value_is_named_with_its_remedy() {
        let error = Safety { max_force_n: -1.0, ..Safety::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "safety.max_force_n is -1; it must be a number above zero");
        assert!(Safety { lost_after_s: 0.001, ..Safety::default() }.checked().is_err());
        assert!(Safety { max_speed_m_per_s: f64::NAN, ..Safety::default() }.checked().is_err());
    }

    #[test]
    fn a_single_axis_rides_on_its_rail_and_two_are_free() {
        let settings = MappingSettings { axis: Vector2::new(0.0, 2.0), scale: 3.0, ..MappingSettings::default() };
        let rail = settings.activate(1).unwrap().rail.unwrap();
        assert!((rail - Vector2::new(0.0, 1.0)).norm() < 1e-15);
        assert_eq!(settings.activate(2).unwrap().rail, None);
        assert_eq!(MappingSettings { rail: false, ..settings }.activate(1).unwrap().rail, None);
    }

    #[test]
    fn a_force_goes_to_the_device_and_back() {
        let settings = MappingSettings { scale: 2.0, rotation_rad: 0.4, ..MappingSettings::default() };
        let frame = settings.activate(2).unwrap();
        let world_n = Vector2::new(0.3, -1.2);
        assert!((frame.force_to_world(frame.mapping.force_to_device(world_n)) - world_n).norm() < 1e-15);
    }

    #[test]
    fn the_worst_axis_counts_and_a_missing_one_does_not() {
        let uneven = AxesModel { damping_n_s_per_m: [0.5, 0.2], delay_s: [3e-4, 9e-4], ..AxesModel::default() };
        let both = worst_axis(&uneven, 2, 0.001);
        assert_eq!((both.damping_n_s_per_m, both.delay_s), (0.2, 9e-4));
        let first = worst_axis(&uneven, 1, 0.001);
        assert_eq!((first.damping_n_s_per_m, first.delay_s), (0.5, 3e-4));
        assert_eq!(worst_axis(&AxesModel::default(), 2, 0.001), WorstAxisModel::default());
    }
}
