//! The engagement in an image of the loop.

use super::Engagement;
use haptic_planar::image::Carrier;

impl Engagement {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self { ramp_s, quiet_ticks, share, recovered } = self;
        carrier.numbers([ramp_s, share, recovered]);
        carrier.count(quiet_ticks);
    }
}
