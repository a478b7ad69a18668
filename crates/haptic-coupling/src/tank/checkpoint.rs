//! Checkpoint of the tank.

use super::{Held, Passivity, Tank};
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

impl Tank {
    /// Archives or restores all values except the settings ([`Tank::set_limits`]). Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            passivity: _,
            damping_n_s_per_m: _,
            period_s: _,
            reserve_j: _,
            level_j,
            lowest_j,
            non_gravity_j,
            height_j,
            position_m,
            held,
        } = self;
        archive.numbers([level_j, lowest_j, non_gravity_j, height_j]);
        archive.optional(position_m, Vector2::zeros(), |archive, place_m| archive.vector(place_m));
        let Held { impulse_n_s, elapsed_s, force_n } = held;
        archive.vector(impulse_n_s);
        archive.number(elapsed_s);
        archive.vector(force_n);
    }
}

impl Passivity {
    /// Archives or restores the mode as a number. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let mut number = match self {
            Self::Tank => 0,
            Self::Observer => 1,
            Self::Off => 2,
        };
        archive.count(&mut number);
        *self = match number {
            1 => Self::Observer,
            2 => Self::Off,
            _ => Self::Tank,
        };
    }
}
