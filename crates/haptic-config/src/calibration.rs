//! Calibration of joysticks: keys of the device file that no descriptor gives.

use crate::rule::{ANY, POSITIVE};
use crate::section::Section;

/// Properties that a device does not report itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Travel of each axis from end to end, at the handle, m.
    pub travel_m: Option<[f64; 2]>,
    /// Count of each axis at its centre.
    pub centre_counts: Option<[f64; 2]>,
    /// Whether the motor of an axis pushes in the wrong direction.
    pub reverse_force: [bool; 2],
}

impl Calibration {
    /// Reads the keys.
    pub fn read(root: &Section<'_>, axes: usize) -> Self {
        let per_axis = |key, example, rule| {
            let values = root.per_axis(key, axes, example, rule);
            root.has(key).then_some(values)
        };
        Self {
            travel_m: per_axis("travel_m", 0.1, POSITIVE),
            centre_counts: per_axis("centre_counts", 0.0, ANY),
            reverse_force: [root.flag("reverse_force_x", false), root.flag("reverse_force_y", false)],
        }
    }
}
