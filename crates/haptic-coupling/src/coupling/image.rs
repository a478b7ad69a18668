//! The coupling in an image of the loop.

use super::{Coupling, Gains, Hold};
use haptic_planar::image::Carrier;
use nalgebra::Vector2;

impl Coupling {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self { from, to, share, rail, before_m } = self;
        carry_hold(from, carrier);
        carry_hold(to, carrier);
        carrier.number(share);
        carrier.perhaps(rail, Vector2::zeros(), |carrier, direction| carrier.vector(direction));
        carrier.perhaps(before_m, Vector2::zeros(), |carrier, place_m| carrier.vector(place_m));
    }
}

fn carry_hold(hold: &mut Hold, carrier: &mut impl Carrier) {
    let Hold { gains, max_force_n } = hold;
    let Gains { stiffness_n_per_m, damping_n_s_per_m, angular_stiffness_n_m_per_rad, angular_damping_n_m_s_per_rad } =
        gains;
    carrier.numbers([stiffness_n_per_m, damping_n_s_per_m, max_force_n]);
    carrier.numbers([angular_stiffness_n_m_per_rad, angular_damping_n_m_s_per_rad]);
}
