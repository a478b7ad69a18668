//! The guard in an image of the loop.

use super::{Clamp, Guard, Tally};
use crate::fault::image::NO_FAULT;
use haptic_planar::image::Carrier;

impl Guard {
    /// All of it but the device, which stays the same. Real-time: constant.
    pub fn carry(&mut self, carrier: &mut impl Carrier) {
        let Self {
            device: _,
            clamp: Clamp { now_n, to_n, step_n },
            slew_n_per_tick,
            engagement,
            tank,
            trouble,
            unsent,
            late_in_a_row,
            shortfall_n,
            given_before_n,
            tally: Tally { stale, faults, clamped, cut, withheld_j },
        } = self;
        carrier.numbers([now_n, to_n, step_n, slew_n_per_tick, withheld_j]);
        engagement.carry(carrier);
        tank.carry(carrier);
        [trouble, unsent].into_iter().for_each(|fault| {
            carrier.perhaps(fault, NO_FAULT, |carrier, fault| fault.carry(carrier));
        });
        carrier.count(late_in_a_row);
        carrier.vector(shortfall_n);
        carrier.vector(given_before_n);
        [stale, faults, clamped, cut].into_iter().for_each(|count| carrier.word(count));
    }
}
