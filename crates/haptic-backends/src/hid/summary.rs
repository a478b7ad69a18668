//! States what the `hid-pid` backend would drive, from a report descriptor alone.

use super::descriptor::{Descriptor, DescriptorError, MAX_FIELDS};
use super::field::Field;
use super::joystick::{ASSUMED_TRAVEL_M, described_travel_m, rate_hz};
use super::layout::{LayoutError, PidLayout};
use serde::Serialize;

/// Interval assumed for the output endpoint, which the descriptor does not contain, ns.
const ASSUMED_INTERVAL_NS: u64 = 1_000_000;

/// What would be driven of a device with a report descriptor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DescriptorSummary {
    /// Number of axes: 0 if there is nothing to drive.
    pub axes: usize,
    /// Whether the device plays constant forces.
    pub constant_force: bool,
    /// Travel of each axis at the handle, from end to end, m.
    pub travel_m: Vec<f64>,
    /// Rate of the forces with a full-speed endpoint, Hz.
    pub rate_hz: Option<f64>,
    /// What the descriptor does not tell, and what is missing or left out.
    pub notes: Vec<String>,
}

impl DescriptorSummary {
    /// Reads a descriptor. `lever_m` is the handle displacement per radian of an axis given as an angle, m.
    ///
    /// # Errors
    /// If the descriptor is malformed.
    pub fn read(bytes: &[u8], lever_m: f64) -> Result<Self, DescriptorError> {
        let descriptor = Descriptor::parse(bytes)?;
        let mut summary = match PidLayout::find_most(bytes) {
            Ok(layout) => Self::of_layout(&layout, lever_m),
            Err(LayoutError::Descriptor(error)) => return Err(error),
            Err(error) => Self::nothing(format!("nothing to drive: {error}")),
        };
        let many = || format!("fields after the first {MAX_FIELDS} are left out");
        summary.notes.extend(descriptor.has_more_fields().then(many));
        Ok(summary)
    }

    fn nothing(note: String) -> Self {
        Self { axes: 0, constant_force: false, travel_m: Vec::new(), rate_hz: None, notes: vec![note] }
    }

    fn of_layout(layout: &PidLayout, lever_m: f64) -> Self {
        let described: Vec<Option<f64>> = layout.axes.iter().map(|field| described_travel_m(field, lever_m)).collect();
        let axes = layout.axes.len();
        Self {
            axes,
            constant_force: true,
            travel_m: described.iter().map(|travel_m| travel_m.unwrap_or(ASSUMED_TRAVEL_M)).collect(),
            rate_hz: Some(rate_hz(ASSUMED_INTERVAL_NS, axes)),
            notes: layout.doubts().into_iter().chain(travel_note(&layout.axes, &described, lever_m)).collect(),
        }
    }
}

fn travel_note(axes: &[Field], described: &[Option<f64>], lever_m: f64) -> Option<String> {
    if described.iter().any(Option::is_none) {
        return Some(format!("travel: not in the descriptor, {ASSUMED_TRAVEL_M} m assumed; write travel_m"));
    }
    let is_angle = axes.iter().any(Field::is_angle);
    is_angle.then(|| format!("travel: an angle in the descriptor, with a lever of {lever_m} m; write lever_m"))
}
