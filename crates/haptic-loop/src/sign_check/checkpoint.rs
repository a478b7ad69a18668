//! The sign check in a checkpoint.

use super::{Push, Sample, SignCheck};
use haptic_planar::checkpoint::Archive;

impl SignCheck {
    /// Archives or restores all values except the motors, which depend on the device. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let Self { motors: _, is_done, elapsed, newest, knots, motion_m, pushing, deviations_m, counts } = self;
        archive.flag(is_done);
        archive.count(elapsed);
        newest.carry(archive);
        knots.iter_mut().for_each(|knot| knot.carry(archive));
        archive.vector(motion_m);
        for Push { direction, start, velocity_m } in pushing {
            archive.vector(direction);
            start.carry(archive);
            archive.vector(velocity_m);
        }
        counts.iter_mut().for_each(|counts| archive.flag(counts));
        deviations_m.iter_mut().flatten().for_each(|deviation_m| archive.number(deviation_m));
    }
}

impl Sample {
    fn carry(&mut self, archive: &mut impl Archive) {
        let Self { tick, position_m } = self;
        archive.number(tick);
        archive.vector(position_m);
    }
}
