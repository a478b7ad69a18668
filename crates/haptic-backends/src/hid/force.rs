//! From a force on the hand to reports: pure, so that what reaches the motor can be told beforehand.
//!
//! Each axis has a constant effect of its own with a fixed direction, and only signed magnitudes are streamed: turning one effect
//! would take a Set Effect report as well, and some firmware starts the effect anew with each of those.
//!
//! Directions are compass bearings of where a force comes from, as force-feedback games have always had them: with bearing θ and
//! magnitude m the hand feels m·(−sin θ, cos θ) along the x and y of the HID specification, whose y grows towards the user.
//! The device frame here is that of a picture, y growing away from the user, for positions and forces alike.

use super::field::Field;
use super::layout::{LayoutError, PidLayout, effect_duration};
use super::report::Report;
use haptic_device::MAX_AXES;
use nalgebra::{Matrix2, Vector2};

/// Bearings of the effects of the first and the second axis, turns.
const BEARINGS: [f64; MAX_AXES] = [0.25, 0.5];

/// What the force of each axis is at full magnitude, and how the axes lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForceScale {
    /// Force at the largest magnitude, N, of each axis.
    pub full_scale_n: [f64; MAX_AXES],
    /// The motor of an axis pushes the other way than the specification says.
    pub reversed: [bool; MAX_AXES],
}

/// A magnitude for each axis, as the device counts them.
pub type Magnitudes = [i64; MAX_AXES];

/// Makes reports of forces for one layout.
#[derive(Clone, Debug, PartialEq)]
pub struct PidEncoder {
    layout: PidLayout,
    /// From a force in the device frame to magnitudes.
    magnitudes_from_force: Matrix2<f64>,
    /// The largest magnitude of either sign.
    largest: i64,
    duration: i64,
    /// The direction value of each axis' effect.
    directions: [i64; MAX_AXES],
}

impl PidEncoder {
    /// Prepares the encoding.
    ///
    /// # Errors
    /// When the layout cannot say how long an effect lasts.
    pub fn new(layout: PidLayout, scale: ForceScale) -> Result<Self, LayoutError> {
        let (minimum, maximum) = layout.constant.magnitude.logical;
        let largest = maximum.min(-minimum);
        let duration = effect_duration(&layout.effect.duration)?;
        let pairs = BEARINGS
            .map(|bearing| layout.effect.directions.first().map_or((0, bearing), |field| direction(field, bearing)));
        let bearings = pairs.map(|(_, bearing)| bearing);
        let magnitudes_from_force = inverse(layout.axes.len(), bearings, &scale, largest as f64);
        Ok(Self { layout, magnitudes_from_force, largest, duration, directions: pairs.map(|(value, _)| value) })
    }

    /// The reports that the encoding is for.
    pub fn layout(&self) -> &PidLayout {
        &self.layout
    }

    /// The magnitudes that come nearest to a force in the device frame, N; what is no number is no force.
    ///
    /// Real-time: four multiplications.
    pub fn magnitudes(&self, force_n: Vector2<f64>) -> Magnitudes {
        let exact = self.magnitudes_from_force * force_n;
        [exact.x, exact.y].map(|value| (libm::round(value) as i64).clamp(-self.largest, self.largest))
    }

    /// Create New Effect, a feature report.
    pub fn create(&self) -> Report {
        let (shape, kind) = &self.layout.create;
        shape.empty().with(&kind.field, kind.value)
    }

    /// Set Effect of an axis: a constant force in its direction, at full gain, that ends by itself.
    pub fn set_effect(&self, axis: usize, block: i64) -> Report {
        let effect = &self.layout.effect;
        let mut report = effect.shape.empty().with(&effect.block_index, block);
        report = report.with(&effect.effect_type.field, effect.effect_type.value).with(&effect.duration, self.duration);
        if let Some(gain) = &effect.gain {
            report = report.with(gain, gain.logical.1);
        }
        // One bearing for all axes; firmware that wants one for each gets the same number in all of them.
        for field in &effect.directions {
            report = report.with(field, self.directions[axis]);
        }
        match &effect.direction_enable {
            Some(by_direction) => report.with(by_direction, 1),
            None => effect.axes_enable.iter().fold(report, |report, field| report.with(field, 1)),
        }
    }

    /// Set Constant Force.
    ///
    /// Real-time: some 64 steps.
    pub fn set_magnitude(&self, block: i64, magnitude: i64) -> Report {
        let constant = &self.layout.constant;
        constant.shape.empty().with(&constant.block_index, block).with(&constant.magnitude, magnitude)
    }

    /// Effect Operation: start, which also starts its time anew.
    pub fn start(&self, block: i64) -> Report {
        let operation = &self.layout.operation;
        let report = operation.shape.empty().with(&operation.block_index, block);
        let report = report.with(&operation.start.field, operation.start.value);
        operation.loop_count.as_ref().map_or(report, |count| report.with(count, 1))
    }

    /// Effect Operation: stop.
    pub fn stop(&self, block: i64) -> Report {
        let operation = &self.layout.operation;
        let report = operation.shape.empty().with(&operation.block_index, block);
        report.with(&operation.stop.field, operation.stop.value)
    }
}

/// The value of a direction field nearest to a bearing, and the bearing that it really is; both in turns.
fn direction(field: &Field, bearing: f64) -> (i64, f64) {
    let (minimum, maximum) = field.logical;
    let range = (maximum - minimum) as f64;
    // 0 to 359, 3599 or 35999 leave the full turn out, which is the same as none; every other range ends with it.
    let turn = if [359.0, 3599.0, 35999.0].contains(&range) { range + 1.0 } else { range };
    let value = minimum + libm::round(bearing * turn) as i64;
    (value.clamp(minimum, maximum), (value - minimum) as f64 / turn)
}

/// Undoes what the effects do: their directions, which are only as exact as their bits, and the turned frame.
fn inverse(axes: usize, bearings: [f64; MAX_AXES], scale: &ForceScale, largest: f64) -> Matrix2<f64> {
    let column = |axis: usize| {
        let (sine, cosine) = libm::sincos(bearings[axis] * core::f64::consts::TAU);
        // (−sin, cos) in the specification's frame; its y is the other way round than ours.
        let sign = |reversed: bool| if reversed { -1.0 } else { 1.0 };
        Vector2::new(-sine * sign(scale.reversed[0]), -cosine * sign(scale.reversed[1]))
    };
    let to_share = Matrix2::from_diagonal(&Vector2::from(scale.full_scale_n.map(|newtons| largest / newtons)));
    if axes < MAX_AXES {
        let along = column(0).x;
        return Matrix2::new(along.signum(), 0.0, 0.0, 0.0) * to_share;
    }
    let directions = Matrix2::from_columns(&[column(0), column(1)]);
    directions.try_inverse().unwrap_or_else(Matrix2::zeros) * to_share
}
