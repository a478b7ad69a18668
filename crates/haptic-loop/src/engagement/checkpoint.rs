//! The engagement in a checkpoint.

use super::Engagement;
use haptic_planar::checkpoint::Archive;

impl Engagement {
    /// Archives or restores all values except the ramp time, which is a setting. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self { ramp_s: _, is_stopped, is_ready, fraction, recovered, is_at_full_force } = self;
        archive.numbers([fraction, recovered]);
        [is_stopped, is_ready, is_at_full_force].into_iter().for_each(|flag| archive.flag(flag));
    }
}
