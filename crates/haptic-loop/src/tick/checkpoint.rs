//! Checkpoint of the whole loop after a tick. Another loop that reads the checkpoint continues bit for bit. Recordings
//! that start in the middle of a run, and black boxes, begin with a checkpoint.
//!
//! The device is not part of a checkpoint: its readings are recorded, and a replay supplies them.

use super::HapticLoop;
use crate::report::TickReport;
use crate::world::World;
use haptic_planar::checkpoint::{Archive, BadCheckpoint, Checkpoint, archive_output};
use haptic_planar::state::State;

/// Maximum number of words in a checkpoint, excluding the world.
const WORDS_BESIDES: usize = 256;

impl World {
    /// Maximum number of words in a checkpoint of a loop with this world.
    pub fn checkpoint_words(&self) -> usize {
        State::checkpoint_words(&self.scene) + WORDS_BESIDES
    }
}

impl HapticLoop {
    /// Writes everything that lasts from tick to tick to `image`; call it between two ticks. Real-time: one pass over
    /// the dynamic bodies and near pairs of the world, about a nanosecond per word.
    pub fn write_checkpoint(&self, image: &mut Checkpoint) {
        let mut out = image.begin();
        out.word(&mut { self.ticks });
        self.mapping.settings().carry(&mut out);
        { self.safety }.carry(&mut out);
        { self.monitor }.carry(&mut out);
        { self.coupling }.carry(&mut out);
        { self.guard }.carry(&mut out);
        if self.sign_check.has_motors() {
            { self.sign_check }.carry(&mut out);
            { self.guard }.carry_nudge(&mut out);
        }
        out.optional(&mut { self.pause }, 0, |archive, ticks| archive.count(ticks));
        out.count(&mut { self.positions_tried });
        archive_output(&mut { self.last().felt }, &mut out);
        self.world.state.write_checkpoint(&self.world.scene, &mut out);
    }

    /// Continues from a checkpoint of a loop with the same scene and the same kind of device. Not for use in the tick.
    ///
    /// # Errors
    /// If the checkpoint does not fit this loop; the loop is then unusable.
    pub fn read_checkpoint(&mut self, image: &Checkpoint) -> Result<(), BadCheckpoint> {
        let mut from = image.read();
        from.word(&mut self.ticks);
        let mut mapping = self.mapping.settings();
        mapping.carry(&mut from);
        let axes = self.device.identity().axes;
        self.mapping = mapping.activate(axes).map_err(|_| BadCheckpoint("has an invalid mapping"))?;
        self.update_load();
        self.safety.carry(&mut from);
        self.monitor.carry(&mut from);
        self.coupling.carry(&mut from);
        self.guard.carry(&mut from);
        if self.sign_check.has_motors() {
            self.sign_check.carry(&mut from);
            self.guard.carry_nudge(&mut from);
        }
        self.monitor.set_limits(&self.safety);
        self.guard.set_limits(&self.safety);
        from.optional(&mut self.pause, 0, |archive, ticks| archive.count(ticks));
        from.count(&mut self.positions_tried);
        let mut row = TickReport { tick: self.ticks, ..TickReport::default() };
        archive_output(&mut row.felt, &mut from);
        *self.recorder.latest_mut() = row;
        let World { scene, state, .. } = self.world.as_mut();
        state.read_checkpoint(scene, &mut from)?;
        from.end()
    }
}
