//! Limits and mapping in an image of the loop.

use super::{MappingSettings, Safety};
use haptic_planar::image::Carrier;

impl Safety {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self {
            max_force_n,
            slew_n_per_s,
            engage_ramp_s,
            stale_after_s,
            lost_after_s,
            max_speed_m_per_s,
            passivity,
        } = self;
        carrier.numbers([max_force_n, slew_n_per_s, engage_ramp_s, stale_after_s, lost_after_s, max_speed_m_per_s]);
        passivity.carry(carrier);
    }
}

impl MappingSettings {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self { scale, rotation_rad, offset_m, axis, rail } = self;
        carrier.numbers([scale, rotation_rad]);
        carrier.vector(offset_m);
        carrier.vector(axis);
        carrier.flag(rail);
    }
}
