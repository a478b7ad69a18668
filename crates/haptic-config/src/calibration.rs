//! How the counts of a joystick become metres: keys of the device file that only people can know.

use crate::rule::{ANY, POSITIVE};
use crate::section::Section;

/// What a device does not say of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// From one end of each axis to the other, at the handle, m.
    pub travel_m: Option<[f64; 2]>,
    /// The count of each axis in the middle.
    pub centre_counts: Option<[f64; 2]>,
    /// The motor of an axis pushes the wrong way.
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
