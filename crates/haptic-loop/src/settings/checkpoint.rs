//! Limits and mapping in a checkpoint.

use super::{MappingSettings, Safety};
use haptic_planar::checkpoint::Archive;

impl Safety {
    /// Archives or restores all values. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            max_force_n,
            slew_n_per_s,
            engage_ramp_s,
            stale_after_s,
            lost_after_s,
            max_speed_m_per_s,
            passivity,
        } = self;
        archive.numbers([max_force_n, slew_n_per_s, engage_ramp_s, stale_after_s, lost_after_s, max_speed_m_per_s]);
        passivity.carry(archive);
    }
}

impl MappingSettings {
    /// Archives or restores all values. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self { scale, rotation_rad, offset_m, axis, rail } = self;
        archive.numbers([scale, rotation_rad]);
        archive.vector(offset_m);
        archive.vector(axis);
        archive.flag(rail);
    }
}
