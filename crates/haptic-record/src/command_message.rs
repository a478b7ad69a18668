//! The message of an order: what the loop was told, and before which tick. JSON, with numbers that read back to the bit.

use crate::tap::{CommandRecord, RecordedCommand};
use haptic_coupling::coupling::Gains;
use haptic_coupling::tank::Passivity;
use haptic_loop::settings::{MappingSettings, Safety};
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Name of the schema.
pub const SCHEMA_NAME: &str = "hapticd.Order";
/// Topic of the messages.
pub const TOPIC: &str = "/orders";

/// The layout, as JSON Schema.
pub const SCHEMA: &str = r#"{
  "title": "hapticd.Order",
  "description": "Something that the loop was told between two ticks; the other keys belong to the order and are those of the profile",
  "type": "object",
  "properties": {
    "before_tick": { "type": "integer", "description": "the tick that came after it" },
    "number": { "type": "integer", "description": "counts the orders of a recording, from 1" },
    "order": { "type": "string", "enum": ["retune", "protect", "remap", "pause", "resume", "step", "replace", "guide-hand"] }
  }
}"#;

#[derive(Serialize, Deserialize)]
struct Written {
    before_tick: u64,
    number: u32,
    #[serde(flatten)]
    order: WrittenOrder,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
enum WrittenOrder {
    SetGains {
        stiffness_n_per_m: f64,
        damping_n_s_per_m: f64,
        angular_stiffness_n_m_per_rad: f64,
        angular_damping_n_m_s_per_rad: f64,
    },
    SetSafety {
        max_force_n: f64,
        slew_n_per_s: f64,
        engage_ramp_s: f64,
        stale_after_s: f64,
        lost_after_s: f64,
        max_speed_m_per_s: f64,
        passivity: WrittenPassivity,
    },
    SetMapping {
        scale: f64,
        rotation_rad: f64,
        offset_m: [f64; 2],
        axis: [f64; 2],
        rail: bool,
    },
    Pause,
    Resume,
    Step {
        ticks: u32,
    },
    ReplaceWorld {
        world: u64,
    },
    GuideHand {
        target_m: Option<[f64; 2]>,
    },
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenPassivity {
    Tank,
    Observer,
    Off,
}

/// The order as JSON.
///
/// # Errors
/// None that can happen: plain numbers and words.
pub fn write(order: &CommandRecord) -> serde_json::Result<Vec<u8>> {
    let CommandRecord { before_tick, number, order } = *order;
    serde_json::to_vec(&Written { before_tick, number, order: order.into() })
}

/// The order that a message holds.
///
/// # Errors
/// When it is none.
pub fn read(bytes: &[u8]) -> serde_json::Result<CommandRecord> {
    let Written { before_tick, number, order } = serde_json::from_slice(bytes)?;
    Ok(CommandRecord { before_tick, number, order: order.into() })
}

/// The order in words, for the log of a recording.
pub fn describe(order: &RecordedCommand) -> String {
    match order {
        RecordedCommand::SetGains(gains) => {
            format!("new coupling, ramped: {} N/m, {} N·s/m", gains.stiffness_n_per_m, gains.damping_n_s_per_m)
        }
        RecordedCommand::SetSafety(safety) => format!("new limits: force up to {} N", safety.max_force_n),
        RecordedCommand::SetMapping(mapping) => format!("new mapping, scale {}: force comes on anew", mapping.scale),
        RecordedCommand::Pause => "paused".to_owned(),
        RecordedCommand::Resume => "goes on: force comes on anew".to_owned(),
        RecordedCommand::Step(ticks) => format!("{ticks} single ticks"),
        RecordedCommand::ReplaceWorld { world } => format!("another world, number {world}: force comes on anew"),
        RecordedCommand::GuideHand(Some(target_m)) => {
            format!("the hand is led to {:.4}, {:.4} m", target_m.x, target_m.y)
        }
        RecordedCommand::GuideHand(None) => "the hand is let go".to_owned(),
    }
}

impl From<RecordedCommand> for WrittenOrder {
    fn from(order: RecordedCommand) -> Self {
        match order {
            RecordedCommand::SetGains(Gains {
                stiffness_n_per_m,
                damping_n_s_per_m,
                angular_stiffness_n_m_per_rad,
                angular_damping_n_m_s_per_rad,
            }) => Self::SetGains {
                stiffness_n_per_m,
                damping_n_s_per_m,
                angular_stiffness_n_m_per_rad,
                angular_damping_n_m_s_per_rad,
            },
            RecordedCommand::SetSafety(safety) => written_limits(&safety),
            RecordedCommand::SetMapping(MappingSettings { scale, rotation_rad, offset_m, axis, rail }) => {
                Self::SetMapping { scale, rotation_rad, offset_m: offset_m.into(), axis: axis.into(), rail }
            }
            RecordedCommand::Pause => Self::Pause,
            RecordedCommand::Resume => Self::Resume,
            RecordedCommand::Step(ticks) => Self::Step { ticks },
            RecordedCommand::ReplaceWorld { world } => Self::ReplaceWorld { world },
            RecordedCommand::GuideHand(target_m) => Self::GuideHand { target_m: target_m.map(Into::into) },
        }
    }
}

fn written_limits(safety: &Safety) -> WrittenOrder {
    let Safety { max_force_n, slew_n_per_s, engage_ramp_s, stale_after_s, lost_after_s, max_speed_m_per_s, passivity } =
        *safety;
    let passivity = match passivity {
        Passivity::Tank => WrittenPassivity::Tank,
        Passivity::Observer => WrittenPassivity::Observer,
        Passivity::Off => WrittenPassivity::Off,
    };
    WrittenOrder::SetSafety {
        max_force_n,
        slew_n_per_s,
        engage_ramp_s,
        stale_after_s,
        lost_after_s,
        max_speed_m_per_s,
        passivity,
    }
}

impl From<WrittenPassivity> for Passivity {
    fn from(passivity: WrittenPassivity) -> Self {
        match passivity {
            WrittenPassivity::Tank => Self::Tank,
            WrittenPassivity::Observer => Self::Observer,
            WrittenPassivity::Off => Self::Off,
        }
    }
}

impl From<WrittenOrder> for RecordedCommand {
    fn from(order: WrittenOrder) -> Self {
        match order {
            WrittenOrder::SetGains {
                stiffness_n_per_m,
                damping_n_s_per_m,
                angular_stiffness_n_m_per_rad,
                angular_damping_n_m_s_per_rad,
            } => Self::SetGains(Gains {
                stiffness_n_per_m,
                damping_n_s_per_m,
                angular_stiffness_n_m_per_rad,
                angular_damping_n_m_s_per_rad,
            }),
            WrittenOrder::SetSafety {
                max_force_n,
                slew_n_per_s,
                engage_ramp_s,
                stale_after_s,
                lost_after_s,
                max_speed_m_per_s,
                passivity,
            } => Self::SetSafety(Safety {
                max_force_n,
                slew_n_per_s,
                engage_ramp_s,
                stale_after_s,
                lost_after_s,
                max_speed_m_per_s,
                passivity: passivity.into(),
            }),
            WrittenOrder::SetMapping { scale, rotation_rad, offset_m, axis, rail } => {
                let (offset_m, axis) = (Vector2::from(offset_m), Vector2::from(axis));
                Self::SetMapping(MappingSettings { scale, rotation_rad, offset_m, axis, rail })
            }
            WrittenOrder::Pause => Self::Pause,
            WrittenOrder::Resume => Self::Resume,
            WrittenOrder::Step { ticks } => Self::Step(ticks),
            WrittenOrder::ReplaceWorld { world } => Self::ReplaceWorld { world },
            WrittenOrder::GuideHand { target_m } => Self::GuideHand(target_m.map(Vector2::from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_back_to_the_bit() {
        let odd = 0.1 + 0.2;
        let gains = Gains { stiffness_n_per_m: odd, damping_n_s_per_m: 1e-310, ..Gains::default() };
        let safety = Safety { max_force_n: odd, passivity: Passivity::Observer, ..Safety::default() };
        let mapping = MappingSettings { scale: odd, rail: false, axis: Vector2::new(0.6, -0.8), ..Default::default() };
        let orders = [
            RecordedCommand::SetGains(gains),
            RecordedCommand::SetSafety(safety),
            RecordedCommand::SetMapping(mapping),
            RecordedCommand::Pause,
            RecordedCommand::Resume,
            RecordedCommand::Step(3),
            RecordedCommand::ReplaceWorld { world: u64::MAX },
            RecordedCommand::GuideHand(Some(Vector2::new(odd, -odd))),
            RecordedCommand::GuideHand(None),
        ];
        for order in orders {
            let applied = CommandRecord { before_tick: 12, number: 3, order };
            assert_eq!(read(&write(&applied).unwrap()).unwrap(), applied);
            assert!(!describe(&order).is_empty());
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        assert!(read(b"{\"before_tick\":1,\"number\":1,\"order\":\"dance\"}").is_err());
    }
}
