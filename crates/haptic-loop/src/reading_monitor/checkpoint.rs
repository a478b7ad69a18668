//! The reading monitor in a checkpoint.

use super::ReadingMonitor;
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

impl ReadingMonitor {
    /// Archives or restores all values except the service period, which depends on the device, and the limits.
    /// Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            service_period_s: _,
            stale_after_s: _,
            stale_after_ns: _,
            lost_after_s: _,
            max_speed_m_per_s: _,
            position_m,
            sequence,
            silent_s,
            age_s,
            stale_s,
        } = self;
        archive.numbers([silent_s, age_s, stale_s]);
        archive.optional(position_m, Vector2::zeros(), |archive, place_m| archive.vector(place_m));
        archive.count(sequence);
    }
}
