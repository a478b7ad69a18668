//! Encodes a force on the hand as reports. This module performs no I/O, so it can be tested without a device.
//!
//! Each axis has its own constant effect with a fixed direction, and only signed magnitudes are streamed. Rotating a
//! single effect would also require Set Effect reports, and some firmware restarts the effect with each of those.
//!
//! As is conventional in games, the direction of an effect is the compass bearing from which its force comes. With
//! bearing θ and magnitude m, the force on the hand is m·(−sin θ, cos θ) along x and y of the HID specification, whose
//! y axis points towards the user. In the device frame, y points away from the user for both positions and forces.

use super::field::Field;
use super::layout::{LayoutError, PidLayout, effect_duration};
use super::report::Report;
use haptic_device::MAX_AXES;
use nalgebra::{Matrix2, Vector2};

/// Effect bearing of each axis, turns.
const BEARINGS: [f64; MAX_AXES] = [0.25, 0.5];

/// Effect magnitude of each axis, in the device's units.
pub type Magnitudes = [i64; MAX_AXES];

/// Encodes forces as reports with one device's layout.
#[derive(Clone, Debug, PartialEq)]
pub struct PidEncoder {
    layout: PidLayout,
    /// Matrix that converts a force in the device frame, N, to magnitudes.
    magnitudes_from_force: Matrix2<f64>,
    /// Largest magnitude that the magnitude field can hold with either sign.
    largest: i64,
    duration: i64,
    /// Value of the direction field of each axis's effect.
    directions: [i64; MAX_AXES],
}

impl PidEncoder {
    /// Creates an encoder for a layout.
    ///
    /// # Errors
    /// If the range of the duration field contains no usable duration.
    pub fn new(layout: PidLayout, full_scale_n: [f64; MAX_AXES]) -> Result<Self, LayoutError> {
        let (minimum, maximum) = layout.constant.magnitude.logical;
        let largest = maximum.min(-minimum);
        let duration = effect_duration(&layout.effect.duration)?;
        let pairs = BEARINGS
            .map(|bearing| layout.effect.directions.first().map_or((0, bearing), |field| direction(field, bearing)));
        let bearings = pairs.map(|(_, bearing)| bearing);
        let magnitudes_from_force = inverse(layout.axes.len(), bearings, full_scale_n, largest as f64);
        Ok(Self { layout, magnitudes_from_force, largest, duration, directions: pairs.map(|(value, _)| value) })
    }

    /// Layout of the device's reports.
    pub fn layout(&self) -> &PidLayout {
        &self.layout
    }

    /// Returns the magnitudes nearest to a force in the device frame, N. Forces beyond full scale are clamped, and NaN
    /// is encoded as zero.
    ///
    /// Real-time: four multiplications.
    pub fn magnitudes(&self, force_n: Vector2<f64>) -> Magnitudes {
        let exact = self.magnitudes_from_force * force_n;
        [exact.x, exact.y].map(|value| (libm::round(value) as i64).clamp(-self.largest, self.largest))
    }

    /// Returns the Create New Effect feature report, which requests a constant-force effect.
    pub fn create(&self) -> Report {
        let (shape, kind) = &self.layout.create;
        shape.empty().with(&kind.field, kind.value)
    }

    /// Returns the Set Effect report that defines the effect of an axis: a constant force along the axis, at full gain
    /// and with a finite duration.
    pub fn set_effect(&self, axis: usize, block: i64) -> Report {
        let effect = &self.layout.effect;
        let mut report = effect.shape.empty().with(&effect.block_index, block);
        report = report.with(&effect.effect_type.field, effect.effect_type.value).with(&effect.duration, self.duration);
        if let Some(gain) = &effect.gain {
            report = report.with(gain, gain.logical.1);
        }
        // One bearing applies to all axes; firmware with a field per axis receives the same value in each.
        for field in &effect.directions {
            report = report.with(field, self.directions[axis]);
        }
        match &effect.direction_enable {
            Some(by_direction) => report.with(by_direction, 1),
            None => effect.axes_enable.iter().fold(report, |report, field| report.with(field, 1)),
        }
    }

    /// Returns the Set Constant Force report, which sets the magnitude of an effect.
    ///
    /// Real-time: about 64 steps.
    pub fn set_magnitude(&self, block: i64, magnitude: i64) -> Report {
        let constant = &self.layout.constant;
        constant.shape.empty().with(&constant.block_index, block).with(&constant.magnitude, magnitude)
    }

    /// Returns the Effect Operation report that starts an effect and restarts its duration.
    pub fn start(&self, block: i64) -> Report {
        let operation = &self.layout.operation;
        let report = operation.shape.empty().with(&operation.block_index, block);
        let report = report.with(&operation.start.field, operation.start.value);
        operation.loop_count.as_ref().map_or(report, |count| report.with(count, 1))
    }

    /// Returns the Effect Operation report that stops an effect.
    pub fn stop(&self, block: i64) -> Report {
        let operation = &self.layout.operation;
        let report = operation.shape.empty().with(&operation.block_index, block);
        report.with(&operation.stop.field, operation.stop.value)
    }
}

/// Returns the direction field value nearest to a bearing, and the bearing that this value represents, turns.
fn direction(field: &Field, bearing: f64) -> (i64, f64) {
    let (minimum, maximum) = field.logical;
    let range = (maximum - minimum) as f64;
    // The ranges 0 to 359, 3599 and 35999 exclude the full turn, which is equivalent to zero; every other range
    // includes it.
    let turn = if [359.0, 3599.0, 35999.0].contains(&range) { range + 1.0 } else { range };
    let value = minimum + libm::round(bearing * turn) as i64;
    (value.clamp(minimum, maximum), (value - minimum) as f64 / turn)
}

/// Returns the matrix that converts a force in the device frame, N, to magnitudes. It is the inverse of the matrix
/// whose columns are the effect directions in the device frame, with bearings as rounded by the direction field.
fn inverse(axes: usize, bearings: [f64; MAX_AXES], full_scale_n: [f64; MAX_AXES], largest: f64) -> Matrix2<f64> {
    let column = |axis: usize| {
        let (sine, cosine) = libm::sincos(bearings[axis] * core::f64::consts::TAU);
        // (−sin, cos) in the frame of the specification, whose y axis is opposite to that of the device frame.
        Vector2::new(-sine, -cosine)
    };
    let to_share = Matrix2::from_diagonal(&Vector2::from(full_scale_n.map(|newtons| largest / newtons)));
    if axes < MAX_AXES {
        let along = column(0).x;
        return Matrix2::new(along.signum(), 0.0, 0.0, 0.0) * to_share;
    }
    let directions = Matrix2::from_columns(&[column(0), column(1)]);
    directions.try_inverse().unwrap_or_else(Matrix2::zeros) * to_share
}
