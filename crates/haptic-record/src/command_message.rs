//! Message containing a command: the change applied to the loop, and the tick that followed it. It is encoded as JSON,
//! with numbers that can be read back bit for bit.

use crate::tap::CommandRecord;
use haptic_loop::command::RecordedCommand;

/// Name of the schema of command messages.
pub const SCHEMA_NAME: &str = "hapticd.Command";
/// Topic of command messages.
pub const TOPIC: &str = "/commands";

/// Layout of command messages, as JSON Schema.
pub const SCHEMA: &str = r#"{
  "title": "hapticd.Command",
  "description": "A command applied between two ticks",
  "type": "object",
  "properties": {
    "before_tick": { "type": "integer", "description": "the tick that followed" },
    "number": { "type": "integer", "description": "counts the commands of a recording, from 1" },
    "command": { "type": "string", "enum": ["set-gains", "set-safety", "set-mapping", "stop", "release", "pause", "resume", "step", "replace-world", "guide-hand"] },
    "value": { "description": "settings with the keys of the profile; number of ticks; number of the world; target of the hand in m, or null" }
  }
}"#;

/// Encodes a command as JSON.
///
/// # Errors
/// Never in practice, because a command consists of plain numbers and words.
pub fn write(command: &CommandRecord) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(command)
}

/// Decodes a command.
///
/// # Errors
/// If the message is not a command.
pub fn read(bytes: &[u8]) -> serde_json::Result<CommandRecord> {
    serde_json::from_slice(bytes)
}

/// Describes a command for the log of a recording.
pub fn describe(command: &RecordedCommand) -> String {
    match command {
        RecordedCommand::SetGains(gains) => {
            format!("new coupling, ramped: {} N/m, {} N·s/m", gains.stiffness_n_per_m, gains.damping_n_s_per_m)
        }
        RecordedCommand::SetSafety(safety) => format!("new limits: force up to {} N", safety.max_force_n),
        RecordedCommand::SetMapping(mapping) => format!("new mapping, scale {}; force re-engages", mapping.scale),
        RecordedCommand::Stop => "emergency stop".to_owned(),
        RecordedCommand::Release => "emergency stop released; force re-engages".to_owned(),
        RecordedCommand::Pause => "paused".to_owned(),
        RecordedCommand::Resume => "resumed; force re-engages".to_owned(),
        RecordedCommand::Step(ticks) => format!("{ticks} single ticks"),
        RecordedCommand::ReplaceWorld(world) => format!("another world, number {world}; force re-engages"),
        RecordedCommand::GuideHand(Some(target_m)) => {
            format!("hand guided to {:.4}, {:.4} m", target_m.x, target_m.y)
        }
        RecordedCommand::GuideHand(None) => "hand released".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_coupling::coupling::Gains;
    use haptic_coupling::tank::Passivity;
    use haptic_loop::settings::{MappingSettings, Safety};
    use nalgebra::Vector2;

    #[test]
    fn every_command_comes_back_to_the_bit() {
        let odd = 0.1 + 0.2;
        let gains = Gains { stiffness_n_per_m: odd, damping_n_s_per_m: 1e-310, ..Gains::default() };
        let safety = Safety { max_force_n: odd, passivity: Passivity::Observer, ..Safety::default() };
        let mapping = MappingSettings { scale: odd, rail: false, axis: Vector2::new(0.6, -0.8), ..Default::default() };
        let commands = [
            RecordedCommand::SetGains(gains),
            RecordedCommand::SetSafety(safety),
            RecordedCommand::SetMapping(mapping),
            RecordedCommand::Stop,
            RecordedCommand::Release,
            RecordedCommand::Pause,
            RecordedCommand::Resume,
            RecordedCommand::Step(3),
            RecordedCommand::ReplaceWorld(u64::MAX),
            RecordedCommand::GuideHand(Some(Vector2::new(odd, -odd))),
            RecordedCommand::GuideHand(None),
        ];
        for command in commands {
            let applied = CommandRecord { before_tick: 12, number: 3, command };
            assert_eq!(read(&write(&applied).unwrap()).unwrap(), applied);
            assert!(!describe(&command).is_empty());
        }
    }

    #[test]
    fn an_unknown_command_is_rejected() {
        assert!(read(b"{\"before_tick\":1,\"number\":1,\"command\":\"dance\"}").is_err());
    }
}
