//! Parameters of a simulated device and its hand, as given in device files, with their valid ranges.

use super::axis::{AxisModel, MAX_SPANS};
use super::delay::MAX_DELAY_S;
use crate::contract::MAX_AXES;
use crate::path::{Path, PathError};

/// Device dynamics, one value per axis: the contents of `[model]` in a device file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceModel {
    /// Moving mass at the handle, kg.
    pub mass_kg: [f64; MAX_AXES],
    /// Viscous damping to the ground, N·s/m; for the tank, a lower bound.
    pub damping_n_s_per_m: [f64; MAX_AXES],
    /// Dry friction, N; for the tank, a lower bound.
    pub coulomb_n: [f64; MAX_AXES],
    /// Encoder step, m; zero for a perfect encoder. For the tank, an upper bound.
    pub encoder_step_m: [f64; MAX_AXES],
    /// Delay from a command to its effect, s; for the tank, an upper bound.
    pub delay_s: [f64; MAX_AXES],
    /// Largest force of each axis, N; infinity for no limit.
    pub max_force_n: [f64; MAX_AXES],
}

impl Default for DeviceModel {
    fn default() -> Self {
        Self {
            mass_kg: [0.1; MAX_AXES],
            damping_n_s_per_m: [0.5; MAX_AXES],
            coulomb_n: [0.05; MAX_AXES],
            encoder_step_m: [1e-5; MAX_AXES],
            delay_s: [0.0003; MAX_AXES],
            max_force_n: [4.0; MAX_AXES],
        }
    }
}

/// The simulated hand: the contents of `[hand]` in a device file.
#[derive(Clone, Debug, PartialEq)]
pub struct HandModel {
    /// Stiffness of the spring between the path and the handle, N/m.
    pub stiffness_n_per_m: f64,
    /// Damping between the path and the handle, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Mass of the hand, rigidly attached to the handle, kg.
    pub mass_kg: f64,
    /// Path of the hand, as rows of t_s, x_m, y_m in the device frame, interpolated linearly. Without rows, the hand
    /// has no path of its own: it follows the path of the scene, or rests.
    pub path: Vec<[f64; 3]>,
    /// Whether the path repeats. Its first and last points must then be equal.
    pub looped: bool,
}

impl Default for HandModel {
    fn default() -> Self {
        Self {
            stiffness_n_per_m: 300.0,
            damping_n_s_per_m: 3.0,
            mass_kg: 0.2,
            path: vec![[0.0, 0.0, 0.03], [1.0, 0.0, -0.01], [2.0, 0.0, 0.03]],
            looped: true,
        }
    }
}

/// Reason why the model of a device or its hand is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ModelError {
    /// A device must have one or two axes.
    Axes {
        /// Number of axes given.
        axes: u8,
    },
    /// A value is out of range.
    Value {
        /// Table and key in the device file.
        key: &'static str,
        /// Value given.
        value: f64,
        /// Description of the permitted values.
        wanted: &'static str,
    },
    /// Springs and dampers are too strong for the mass: a tick would need too many spans.
    TooFast {
        /// Index of the axis, counted from zero.
        axis: usize,
        /// Number of spans that a tick would need.
        spans: f64,
    },
    /// The path of the hand is invalid.
    Path(PathError),
}

impl core::fmt::Display for ModelError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Axes { axes } => write!(out, "axes is {axes}; a device has 1 or 2"),
            Self::Value { key, value, wanted } => write!(out, "{key} is {value}; it must be {wanted}"),
            Self::TooFast { axis, spans } => write!(
                out,
                "axis {} is {:.1} times too fast to simulate: raise mass_kg, or lower the stiffness and damping of \
                 [model] and [hand]",
                axis + 1,
                spans / f64::from(MAX_SPANS)
            ),
            Self::Path(error) => write!(out, "[hand] {error}"),
        }
    }
}

impl std::error::Error for ModelError {}

impl From<PathError> for ModelError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

type Range = (&'static str, fn(f64) -> bool);

const ABOVE_ZERO: Range = ("a finite number above zero", |value| value > 0.0 && value.is_finite());
const ZERO_OR_MORE: Range = ("a finite number, zero or more", |value| value >= 0.0 && value.is_finite());
const SOME_FORCE: Range = ("a number above zero", |value| value > 0.0);
const SOME_DELAY: Range = ("zero to 0.126", |value| (0.0..=MAX_DELAY_S).contains(&value));

fn require(key: &'static str, value: f64, (wanted, holds): Range) -> Result<(), ModelError> {
    if holds(value) { Ok(()) } else { Err(ModelError::Value { key, value, wanted }) }
}

impl DeviceModel {
    /// Magnitude at which the force vector saturates, N: the limit of the weaker axis. Saturation preserves the
    /// direction.
    pub fn vector_limit_n(&self, axes: usize) -> f64 {
        self.max_force_n[..axes].iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Checks the number of axes, and every value of those axes.
    pub fn check(&self, axes: u8) -> Result<(), ModelError> {
        if !(1..=MAX_AXES as u8).contains(&axes) {
            return Err(ModelError::Axes { axes });
        }
        (0..usize::from(axes)).try_for_each(|axis| {
            require("[model] mass_kg", self.mass_kg[axis], ABOVE_ZERO)?;
            require("[model] damping_n_s_per_m", self.damping_n_s_per_m[axis], ZERO_OR_MORE)?;
            require("[model] coulomb_n", self.coulomb_n[axis], ZERO_OR_MORE)?;
            require("[model] encoder_step_m", self.encoder_step_m[axis], ZERO_OR_MORE)?;
            require("[model] delay_s", self.delay_s[axis], SOME_DELAY)?;
            require("[model] max_force_n", self.max_force_n[axis], SOME_FORCE)
        })
    }
}

impl HandModel {
    /// Checks every value of the hand and its path.
    pub fn check(&self) -> Result<(), ModelError> {
        require("[hand] stiffness_n_per_m", self.stiffness_n_per_m, ZERO_OR_MORE)?;
        require("[hand] damping_n_s_per_m", self.damping_n_s_per_m, ZERO_OR_MORE)?;
        require("[hand] mass_kg", self.mass_kg, ZERO_OR_MORE)?;
        self.checked_path().map(drop)
    }

    pub(super) fn checked_path(&self) -> Result<Option<Path>, ModelError> {
        if self.path.is_empty() {
            return Ok(None);
        }
        Ok(Some(Path::new(self.path.clone(), self.looped)?))
    }
}

/// Returns the model of one axis of a checked device with its hand, or an error if the axis is too fast to simulate.
pub(super) fn axis_model(device: &DeviceModel, hand: Option<&HandModel>, axis: usize) -> Result<AxisModel, ModelError> {
    let model = AxisModel {
        mass_kg: device.mass_kg[axis] + hand.map_or(0.0, |hand| hand.mass_kg),
        damping_n_s_per_m: device.damping_n_s_per_m[axis],
        coulomb_n: device.coulomb_n[axis],
        hand_stiffness_n_per_m: hand.map_or(0.0, |hand| hand.stiffness_n_per_m),
        hand_damping_n_s_per_m: hand.map_or(0.0, |hand| hand.damping_n_s_per_m),
    };
    let spans = model.spans(super::TICK_S);
    if spans > f64::from(MAX_SPANS) { Err(ModelError::TooFast { axis, spans }) } else { Ok(model) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(DeviceModel::default().check(2), Ok(()));
        assert_eq!(HandModel::default().check(), Ok(()));
        assert!(axis_model(&DeviceModel::default(), Some(&HandModel::default()), 1).is_ok());
    }

    #[test]
    fn an_invalid_value_is_reported_with_the_permitted_ones() {
        let massless = DeviceModel { mass_kg: [0.1, 0.0], ..DeviceModel::default() };
        assert_eq!(massless.check(1), Ok(()), "an axis that does not exist is not checked");
        let text = massless.check(2).unwrap_err().to_string();
        assert_eq!(text, "[model] mass_kg is 0; it must be a finite number above zero");
        let late = DeviceModel { delay_s: [0.0, 0.2], ..DeviceModel::default() };
        assert!(late.check(2).unwrap_err().to_string().contains("delay_s is 0.2"));
        let nan = HandModel { damping_n_s_per_m: f64::NAN, ..HandModel::default() };
        assert!(nan.check().is_err());
    }

    #[test]
    fn a_model_too_fast_for_the_tick_is_rejected() {
        let hand = HandModel { stiffness_n_per_m: 1e9, mass_kg: 0.0, ..HandModel::default() };
        assert!(matches!(
            axis_model(&DeviceModel::default(), Some(&hand), 0),
            Err(ModelError::TooFast { axis: 0, .. })
        ));
    }

    #[test]
    fn the_longest_delay_is_the_one_the_message_names() {
        assert_eq!(MAX_DELAY_S, 0.126);
    }
}
