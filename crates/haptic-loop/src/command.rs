//! Commands applied between ticks.

use crate::settings::{ActiveMapping, MappingSettings, Safety};
use crate::world::World;
use haptic_coupling::coupling::Gains;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// One command. Its values were validated where they came in. A world arrives boxed and the old one is returned boxed,
/// so that applying a command neither allocates nor frees.
///
/// `W` and `M` are the world and the mapping as the loop uses them; a [`RecordedCommand`] holds what identifies them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", content = "value", rename_all = "kebab-case")]
pub enum Command<W = Box<World>, M = ActiveMapping> {
    /// New gains, ramped.
    SetGains(Gains),
    /// New limits, without a jump in force.
    SetSafety(Safety),
    /// A new mapping; force re-engages.
    SetMapping(M),
    /// Stops the world; no force.
    Pause,
    /// Continues after a pause; force re-engages.
    Resume,
    /// Runs this many ticks of a paused world.
    Step(u32),
    /// Another world, or the same one at its start; force re-engages.
    ReplaceWorld(W),
    /// Target of a simulated hand, world frame, m; without one the hand returns to its path.
    GuideHand(Option<Vector2<f64>>),
}

/// A command as plain data: a world by its number, a mapping by its settings.
pub type RecordedCommand = Command<u64, MappingSettings>;

impl Command {
    /// The command as plain data. Real-time: constant.
    pub fn to_recorded(&self) -> RecordedCommand {
        let Ok(recorded) = self
            .convert::<_, _, std::convert::Infallible>(|world| Ok(world.number()), |mapping| Ok(mapping.settings()));
        recorded
    }
}

impl RecordedCommand {
    /// The command for a loop whose device has this number of axes; `world` returns the world with a number. None if
    /// there is no such world or the mapping is invalid.
    pub fn resolve(&self, axes: u8, world: impl FnOnce(u64) -> Option<Box<World>>) -> Option<Command> {
        self.convert(|number| world(*number).ok_or(()), |mapping| mapping.activate(axes).map_err(drop)).ok()
    }

    /// True for the commands that a profile's settings make: gains, limits and mapping.
    pub fn is_setting(&self) -> bool {
        matches!(self, Self::SetGains(_) | Self::SetSafety(_) | Self::SetMapping(_))
    }
}

impl<W, M> Command<W, M> {
    /// The same command with another form of world and mapping.
    fn convert<V, N, E>(
        &self,
        world: impl FnOnce(&W) -> Result<V, E>,
        mapping: impl FnOnce(&M) -> Result<N, E>,
    ) -> Result<Command<V, N>, E> {
        Ok(match self {
            Self::SetGains(gains) => Command::SetGains(*gains),
            Self::SetSafety(safety) => Command::SetSafety(*safety),
            Self::SetMapping(settings) => Command::SetMapping(mapping(settings)?),
            Self::Pause => Command::Pause,
            Self::Resume => Command::Resume,
            Self::Step(ticks) => Command::Step(*ticks),
            Self::ReplaceWorld(other) => Command::ReplaceWorld(world(other)?),
            Self::GuideHand(target_m) => Command::GuideHand(*target_m),
        })
    }
}
