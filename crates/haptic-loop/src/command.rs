//! Commands applied between ticks.

use crate::settings::{ActiveMapping, MappingSettings, Safety};
use crate::world::World;
use haptic_coupling::coupling::Gains;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// A change that the loop applies between two ticks, with validated values. A new world arrives boxed and the old one
/// is returned boxed, so that applying a command neither allocates nor frees memory.
///
/// `W` and `M` are the world and the mapping as used by the loop. A [`RecordedCommand`] contains the number of the
/// world and the settings of the mapping instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", content = "value", rename_all = "kebab-case")]
pub enum Command<W = Box<World>, M = ActiveMapping> {
    /// Sets new gains, which take effect over a ramp.
    SetGains(Gains),
    /// Sets new safety limits, without a jump in force.
    SetSafety(Safety),
    /// Sets a new mapping; the force re-engages.
    SetMapping(M),
    /// Emergency stop: no force, and the world stands still, until a release.
    Stop,
    /// Releases an emergency stop; the force re-engages.
    Release,
    /// Stops the world, a simulated hand and the force.
    Pause,
    /// Continues after a pause; the force re-engages.
    Resume,
    /// Runs this many ticks of a paused world, without force and with the hand where it was.
    Step(u32),
    /// Replaces the world with a different one or a fresh copy; the force re-engages.
    ReplaceWorld(W),
    /// Sets the target of a simulated hand, world frame, m; `None` returns the hand to its path.
    GuideHand(Option<Vector2<f64>>),
}

/// A command as plain data, with the number of a world in place of the world and the settings of a mapping in place of
/// the mapping.
pub type RecordedCommand = Command<u64, MappingSettings>;

impl Command {
    /// Returns the command as plain data. Real-time: constant.
    pub fn to_recorded(&self) -> RecordedCommand {
        let Ok(recorded) = self
            .convert::<_, _, std::convert::Infallible>(|world| Ok(world.number()), |mapping| Ok(mapping.settings()));
        recorded
    }
}

impl RecordedCommand {
    /// Returns the command for a loop whose device has `axes` axes. `world` looks up a world by its number. Returns
    /// `None` if there is no such world or the mapping is invalid.
    pub fn resolve(&self, axes: u8, world: impl FnOnce(u64) -> Option<Box<World>>) -> Option<Command> {
        self.convert(|number| world(*number).ok_or(()), |mapping| mapping.activate(axes).map_err(drop)).ok()
    }

    /// Whether the command changes settings of a profile: gains, limits or mapping.
    pub fn is_setting(&self) -> bool {
        matches!(self, Self::SetGains(_) | Self::SetSafety(_) | Self::SetMapping(_))
    }
}

impl<W, M> Command<W, M> {
    /// Converts the world and mapping types of the command.
    fn convert<V, N, E>(
        &self,
        world: impl FnOnce(&W) -> Result<V, E>,
        mapping: impl FnOnce(&M) -> Result<N, E>,
    ) -> Result<Command<V, N>, E> {
        Ok(match self {
            Self::SetGains(gains) => Command::SetGains(*gains),
            Self::SetSafety(safety) => Command::SetSafety(*safety),
            Self::SetMapping(settings) => Command::SetMapping(mapping(settings)?),
            Self::Stop => Command::Stop,
            Self::Release => Command::Release,
            Self::Pause => Command::Pause,
            Self::Resume => Command::Resume,
            Self::Step(ticks) => Command::Step(*ticks),
            Self::ReplaceWorld(other) => Command::ReplaceWorld(world(other)?),
            Self::GuideHand(target_m) => Command::GuideHand(*target_m),
        })
    }
}
