//! Motors of a device, as faults and warnings name them.

use std::fmt;

/// Some of the motors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MotorSet {
    /// Whether the motor of the x axis or of arm 1 is in the set.
    pub first: bool,
    /// Whether the motor of the y axis or of arm 2 is in the set.
    pub second: bool,
    /// Whether the motors drive arms instead of axes.
    pub are_arms: bool,
}

impl fmt::Display for MotorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.are_arms, self.first, self.second) {
            (false, true, true) => "the x axis and the y axis",
            (false, true, false) => "the x axis",
            (false, false, _) => "the y axis",
            (true, true, true) => "both arms",
            (true, true, false) => "arm 1",
            (true, false, _) => "arm 2",
        })
    }
}
