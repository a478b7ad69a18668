//! The guard in a checkpoint.

use super::{Clamp, Guard, GuardCounters, Recovery};
use crate::fault::Fault;
use haptic_planar::checkpoint::Archive;

impl Guard {
    /// Archives or restores all values except the nudge ([`Self::carry_nudge`]), the device model, which does not
    /// change, and values derived from the limits ([`Guard::set_limits`]) or from the world and the mapping
    /// ([`Guard::set_load`]). Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self {
            device: _,
            clamp: Clamp { now_n, to_n, step_n },
            slew_n_per_tick: _,
            stale_after_s: _,
            lost_after_s: _,
            busy_after_s: _,
            busy_s,
            engagement,
            tank,
            load_n: _,
            active_fault,
            unsent,
            late_in_a_row,
            shortfall_n,
            withheld_by_ramp_n,
            recovery: Recovery { level_j, missing_j },
            nudge: _,
            given_before_n,
            counters: GuardCounters { stale, faults, clamped, cut, withheld_j },
        } = self;
        archive.numbers([now_n, to_n, step_n, withheld_j, busy_s, level_j, missing_j]);
        engagement.carry(archive);
        tank.carry(archive);
        [active_fault, unsent].into_iter().for_each(|fault| Fault::carry(fault, archive));
        archive.count(late_in_a_row);
        archive.vector(shortfall_n);
        archive.vector(withheld_by_ramp_n);
        archive.vector(given_before_n);
        [stale, faults, clamped, cut].into_iter().for_each(|count| archive.word(count));
    }
}
