//! The watch in an image of the loop.

use super::ReadingMonitor;
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

impl ReadingMonitor {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            // A matter of the device, which whoever restores an image has as well.
            service_period_s: _,
            stale_after_s,
            stale_after_ns,
            lost_after_s,
            max_speed_m_per_s,
            position_m,
            sequence,
            silent_s,
            age_s,
        } = self;
        archive.numbers([stale_after_s, lost_after_s, max_speed_m_per_s, silent_s, age_s]);
        archive.word(stale_after_ns);
        archive.optional(position_m, Vector2::zeros(), |archive, place_m| archive.vector(place_m));
        archive.count(sequence);
    }
}
