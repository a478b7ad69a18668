//! Settings of coupling, mapping and safety, with the defaults of an empty profile.

mod checkpoint;

use haptic_coupling::coupling::Gains;
use haptic_coupling::key::{Key, KeyError, Number, Range, check};
use haptic_coupling::model::WorstAxisModel;
use haptic_coupling::tank::Passivity;
use haptic_device::mapping::{Mapping, MappingError};
use haptic_device::simulated::DeviceModel as AxesModel;
use haptic_planar::scene::envelope::MAX_FORCE_N;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Default duration of the engagement ramp for devices whose motors do not move a real hand, s.
pub const SIMULATED_ENGAGE_RAMP_S: f64 = 0.2;

/// Settings that can change while the loop runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Gains, from `[coupling]`.
    pub coupling: Gains,
    /// Mapping, from `[mapping]`.
    pub mapping: MappingSettings,
    /// Limits, from `[safety]`.
    pub safety: Safety,
}

/// Reason why settings are invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsError {
    /// A gain or a limit is invalid.
    Key(KeyError),
    /// The mapping is invalid.
    Mapping(MappingError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => error.fmt(f),
            Self::Mapping(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SettingsError {}

impl From<KeyError> for SettingsError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl From<MappingError> for SettingsError {
    fn from(error: MappingError) -> Self {
        Self::Mapping(error)
    }
}

/// Scale, position and orientation of the device frame in the world.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingSettings {
    /// World metres per device metre.
    pub scale: f64,
    /// Rotation of the device frame in the world, rad, anticlockwise.
    pub rotation_rad: f64,
    /// World position of the device's origin, m.
    pub offset_m: Vector2<f64>,
    /// Direction of the axis of a one-axis device in the world frame; any non-zero length.
    pub axis: Vector2<f64>,
    /// Whether the handle of a one-axis device stays on the line of its axis.
    pub rail: bool,
}

impl Default for MappingSettings {
    fn default() -> Self {
        let (offset_m, axis) = (Vector2::zeros(), Vector2::new(1.0, 0.0));
        Self { scale: 1.0, rotation_rad: 0.0, offset_m, axis, rail: true }
    }
}

/// A mapping ready for use, with the rail that constrains the handle, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveMapping {
    /// Mapping between the device frame and the world frame.
    mapping: Mapping,
    /// Unit direction of the rail in the world frame, if there is one.
    pub rail: Option<Vector2<f64>>,
    /// World metres per device metre.
    pub scale: f64,
    /// Factor 1/scale²: mapping a force to the world is mapping a velocity, multiplied by this factor.
    force_scale: f64,
    /// Settings from which the mapping was made.
    settings: MappingSettings,
}

impl MappingSettings {
    /// Returns the mapping for a device with one or two axes.
    ///
    /// # Errors
    /// If a value is invalid.
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

    /// Settings from which the mapping was made. Real-time: constant.
    pub fn settings(&self) -> MappingSettings {
        self.settings
    }

    /// Whether two mappings act alike, even if their settings differ: a one-axis device ignores the rotation.
    pub fn acts_like(&self, other: &Self) -> bool {
        (self.mapping, self.rail, self.scale) == (other.mapping, other.rail, other.scale)
    }

    /// Converts a device position to the world frame, m. Real-time: constant.
    pub fn position_to_world(&self, device_m: Vector2<f64>) -> Vector2<f64> {
        self.mapping.position_to_world(device_m)
    }

    /// Returns the device position whose world position is nearest to `world_m`, m. Real-time: constant.
    pub fn position_to_device(&self, world_m: Vector2<f64>) -> Vector2<f64> {
        self.mapping.position_to_device(world_m)
    }

    /// Returns the device force equivalent to a world force, N. Real-time: constant.
    pub fn force_to_device(&self, world_n: Vector2<f64>) -> Vector2<f64> {
        self.mapping.force_to_device(world_n)
    }

    /// Returns the world force equivalent to a device force, N. Real-time: constant.
    pub fn force_to_world(&self, device_n: Vector2<f64>) -> Vector2<f64> {
        self.mapping.velocity_to_world(device_n) * self.force_scale
    }
}

/// Returns the model of a device's worst axis: the lowest mass, damping, friction and force limit, the coarsest encoder
/// and the longest delay of all axes, because the tank and the margins must hold in every direction. `period_s` is the
/// service period.
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
        max_force_n: least(&model.max_force_n),
        period_s,
    }
}

/// Safety settings: limits on force, slew, speed and age of readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Safety {
    /// Maximum force on the hand, N.
    pub max_force_n: f64,
    /// Maximum rise of the force, N/s; zero for no limit.
    pub slew_n_per_s: f64,
    /// Time from no force to full force, s; zero for full force from the first tick.
    pub engage_ramp_s: f64,
    /// Time without a new reading after which the force is zero until the next reading, s.
    pub stale_after_s: f64,
    /// Time without a new reading after which the device is lost, which is a fault, s.
    pub lost_after_s: f64,
    /// Maximum speed of the hand, m/s; a higher speed is a fault.
    pub max_speed_m_per_s: f64,
    /// Mode of the energy tank.
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

/// Numbers of the section `[safety]`.
pub const SAFETY_KEYS: [Key<Safety>; 6] = [
    Key {
        number: Number {
            name: "max_force_n",
            about: "Maximum force on the hand; of this limit and that of the device, the smaller one holds",
            accepted: Range::new(1e-3, 1e6),
            recommended: Range::new(0.1, MAX_FORCE_N),
        },
        field: |safety| &mut safety.max_force_n,
    },
    Key {
        number: Number {
            name: "slew_n_per_s",
            about: "Maximum rise of the force per second; 0 for no limit, with a simulated device only",
            accepted: Range::up_to(1e9),
            recommended: Range::up_to(1e5),
        },
        field: |safety| &mut safety.slew_n_per_s,
    },
    Key {
        number: Number {
            name: "engage_ramp_s",
            about: "Time in which the force rises to its full value; 0 for none, with a simulated device only",
            accepted: Range::up_to(600.0),
            recommended: Range::up_to(10.0),
        },
        field: |safety| &mut safety.engage_ramp_s,
    },
    Key {
        number: Number {
            name: "stale_after_s",
            about: "Time without a new reading after which the force is zero until the next one",
            accepted: Range::new(1e-3, 10.0),
            recommended: Range::new(1e-3, 0.05),
        },
        field: |safety| &mut safety.stale_after_s,
    },
    Key {
        number: Number {
            name: "lost_after_s",
            about: "Time without a new reading after which the device is lost, which is a fault",
            accepted: Range::new(1e-3, 60.0),
            recommended: Range::new(5e-3, 1.0),
        },
        field: |safety| &mut safety.lost_after_s,
    },
    Key {
        number: Number {
            name: "max_speed_m_per_s",
            about: "Maximum speed of the hand; a higher speed is a fault",
            accepted: Range::new(1e-3, 1e5),
            recommended: Range::new(0.1, 30.0),
        },
        field: |safety| &mut safety.max_speed_m_per_s,
    },
];

/// Numbers of the section `[mapping]`.
pub const MAPPING_KEYS: [Key<MappingSettings>; 2] = [
    Key {
        number: Number {
            name: "scale",
            about: "World metres per device metre; the force on the device is multiplied by it as well",
            accepted: Range::new(1e-3, 1e3),
            recommended: Range::new(0.05, 20.0),
        },
        field: |mapping| &mut mapping.scale,
    },
    Key {
        number: Number {
            name: "rotation_rad",
            about: "Rotation of the device frame in the world, anticlockwise, for devices with two axes",
            accepted: Range::within(1e3),
            recommended: Range::within(TURN_RAD),
        },
        field: |mapping| &mut mapping.rotation_rad,
    },
];

/// One turn, rad.
const TURN_RAD: f64 = std::f64::consts::TAU;

/// A safety setting that must not be used with motors that move a real hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationOnly {
    /// Key in `[safety]`.
    pub key: &'static str,
    /// Problem that the setting causes on hardware.
    pub problem: &'static str,
    /// Remedy, with an example.
    pub remedy: &'static str,
    /// Whether the setting is permitted on hardware if the user confirms it (`--i-know`).
    pub can_be_confirmed: bool,
}

impl Safety {
    /// Validates the limits.
    ///
    /// # Errors
    /// If a limit is not accepted; the error names the first such limit.
    pub fn checked(self) -> Result<Self, KeyError> {
        check(&SAFETY_KEYS, &self)?;
        if self.lost_after_s < self.stale_after_s {
            let problem = format!("must not be less than stale_after_s, {}", self.stale_after_s);
            return Err(KeyError { key: "lost_after_s", problem });
        }
        Ok(self)
    }

    /// Returns the settings that switch off a protection of the hand. On hardware they are rejected or need
    /// confirmation.
    pub fn simulation_only(&self) -> impl Iterator<Item = SimulationOnly> {
        let rule = |applies: bool, key, problem, remedy, can_be_confirmed| {
            applies.then_some(SimulationOnly { key, problem, remedy, can_be_confirmed })
        };
        [
            rule(
                self.engage_ramp_s == 0.0,
                "engage_ramp_s",
                "no ramp is only permitted with a simulated device or a prescribed hand",
                "write engage_ramp_s = 2.0",
                false,
            ),
            rule(
                self.slew_n_per_s == 0.0,
                "slew_n_per_s",
                "no slew limit is only permitted with a simulated device or a prescribed hand",
                "write slew_n_per_s = 2000.0",
                false,
            ),
            rule(
                self.passivity == Passivity::Observer,
                "passivity",
                "observing the energy without limiting it is only permitted with a simulated device or a prescribed hand",
                "write passivity = \"tank\"",
                false,
            ),
            rule(
                self.passivity == Passivity::Off,
                "passivity",
                "is off: without the energy tank the force can hurt a hand",
                "write passivity = \"tank\", or confirm with --i-know",
                true,
            ),
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_expose_bare_physics_are_valid_but_not_for_hardware() {
        let safety = Safety::default();
        assert_eq!(safety.simulation_only().count(), 0);
        let bare = [
            (Safety { engage_ramp_s: 0.0, ..safety }, "engage_ramp_s", false),
            (Safety { slew_n_per_s: 0.0, ..safety }, "slew_n_per_s", false),
            (Safety { passivity: Passivity::Observer, ..safety }, "passivity", false),
            (Safety { passivity: Passivity::Off, ..safety }, "passivity", true),
        ];
        for (settings, key, can_be_confirmed) in bare {
            assert!(settings.checked().is_ok());
            let found: Vec<_> = settings.simulation_only().map(|rule| (rule.key, rule.can_be_confirmed)).collect();
            assert_eq!(found, [(key, can_be_confirmed)]);
        }
    }

    #[test]
    fn an_invalid_limit_is_rejected_with_its_key() {
        let error = Safety { max_force_n: -1.0, ..Safety::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "max_force_n must be from 0.001 to 1000000, got -1");
        let error = Safety { lost_after_s: 0.001, ..Safety::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "lost_after_s must not be less than stale_after_s, 0.005");
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
        let mapping = settings.activate(2).unwrap();
        let world_n = Vector2::new(0.3, -1.2);
        assert!((mapping.force_to_world(mapping.force_to_device(world_n)) - world_n).norm() < 1e-15);
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
