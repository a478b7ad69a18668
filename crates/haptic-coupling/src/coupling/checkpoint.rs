//! Checkpoint of the coupling.

use super::{Coupling, Gains, RampPoint};
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

impl Coupling {
    /// Archives or restores all values. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self { from, to, fraction, rail, before_m, offset_m, remaining } = self;
        carry_ramp_point(from, archive);
        carry_ramp_point(to, archive);
        archive.numbers([fraction, remaining]);
        archive.vector(offset_m);
        archive.optional(rail, Vector2::zeros(), |archive, direction| archive.vector(direction));
        archive.optional(before_m, Vector2::zeros(), |archive, place_m| archive.vector(place_m));
    }
}

fn carry_ramp_point(hold: &mut RampPoint, archive: &mut impl Archive) {
    let RampPoint { gains, max_force_n } = hold;
    let Gains { stiffness_n_per_m, damping_n_s_per_m, angular_stiffness_n_m_per_rad, angular_damping_n_m_s_per_rad } =
        gains;
    archive.numbers([stiffness_n_per_m, damping_n_s_per_m, max_force_n]);
    archive.numbers([angular_stiffness_n_m_per_rad, angular_damping_n_m_s_per_rad]);
}
