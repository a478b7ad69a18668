//! The watch in an image of the loop.

use super::Watch;
use haptic_planar::image::Carrier;
use nalgebra::Vector2;

impl Watch {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
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
        carrier.numbers([stale_after_s, lost_after_s, max_speed_m_per_s, silent_s, age_s]);
        carrier.word(stale_after_ns);
        carrier.perhaps(position_m, Vector2::zeros(), |carrier, place_m| carrier.vector(place_m));
        carrier.count(sequence);
    }
}
