//! The tank in an image of the loop.

use super::{Held, Passivity, Tank};
use haptic_planar::image::Carrier;
use nalgebra::Vector2;

impl Tank {
    /// All of it. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self {
            passivity,
            damping_n_s_per_m,
            period_s,
            reserve_j,
            level_j,
            lowest_j,
            near_j,
            height_j,
            position_m,
            held,
        } = self;
        passivity.carry(carrier);
        carrier.numbers([damping_n_s_per_m, period_s, reserve_j, level_j, lowest_j, near_j, height_j]);
        carrier.perhaps(position_m, Vector2::zeros(), |carrier, place_m| carrier.vector(place_m));
        let Held { impulse_n_s, elapsed_s, force_n } = held;
        carrier.vector(impulse_n_s);
        carrier.number(elapsed_s);
        carrier.vector(force_n);
    }
}

impl Passivity {
    /// By number. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let mut number = match self {
            Self::Tank => 0,
            Self::Observer => 1,
            Self::Off => 2,
        };
        carrier.count(&mut number);
        *self = match number {
            1 => Self::Observer,
            2 => Self::Off,
            _ => Self::Tank,
        };
    }
}
