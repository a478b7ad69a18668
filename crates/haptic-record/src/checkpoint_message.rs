//! Message containing a checkpoint: the complete loop state after a tick, from which a replay can start.

use crate::cdr::{CdrReader, CdrWriter, NotCdr};
use crate::tap::CheckpointRecord;
use haptic_planar::checkpoint::Checkpoint;

/// Name of the schema of checkpoint messages.
pub const SCHEMA_NAME: &str = "hapticd/msg/Checkpoint";
/// Topic of checkpoint messages.
pub const TOPIC: &str = "/checkpoints";
/// Layout of checkpoint messages, as ROS 2 message text.
pub const SCHEMA: &str = "\
# Complete state of the loop after a tick; a replay can start at the next one.
uint64 tick
uint64 world     # number of the world; its scene is an attachment
uint32 commands  # applied to the loop since the recording began
uint64[] words   # everything that lasts from tick to tick, for the version that wrote it
";

/// Encodes a checkpoint into `out` and returns true. Returns false, without writing to `out`, if the checkpoint is
/// incomplete.
pub fn write(checkpoint: &CheckpointRecord, out: &mut CdrWriter) -> bool {
    let Some(words) = checkpoint.checkpoint.words() else { return false };
    out.begin().u64(checkpoint.tick).u64(checkpoint.world).u32(checkpoint.commands).u32(words.len() as u32);
    for word in words {
        out.u64(*word);
    }
    true
}

/// Decodes a checkpoint.
///
/// # Errors
/// If the message is too short or is not CDR.
pub fn read(bytes: &[u8]) -> Result<CheckpointRecord, NotCdr> {
    let mut cdr = CdrReader::of(bytes)?;
    let (tick, world, commands, count) = (cdr.u64()?, cdr.u64()?, cdr.u32()?, cdr.u32()?);
    let words = (0..count).map(|_| cdr.u64()).collect::<Result<Vec<u64>, NotCdr>>()?;
    Ok(CheckpointRecord { tick, world, commands, checkpoint: Box::new(Checkpoint::from_words(words)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_comes_back_and_one_that_was_cut_does_not() {
        let checkpoint = Box::new(Checkpoint::from_words(vec![1, u64::MAX, 3]));
        let (kept, mut out) = (CheckpointRecord { tick: 7, world: 2, commands: 5, checkpoint }, CdrWriter::default());
        assert!(write(&kept, &mut out));
        assert_eq!(read(out.bytes()), Ok(kept));
        assert!(read(&out.bytes()[..40]).is_err());
    }
}
