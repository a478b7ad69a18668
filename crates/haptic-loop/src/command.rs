//! What the loop can be told between two ticks.

use crate::settings::{ActiveMapping, Safety};
use crate::world::World;
use haptic_coupling::coupling::Gains;
use nalgebra::Vector2;

/// One order. Values were checked where they came in; what is large comes boxed and goes back boxed, so that taking an
/// order neither allocates nor frees.
#[derive(Clone, Debug)]
pub enum Command {
    /// New gains, ramped.
    SetGains(Gains),
    /// New limits, without a jump in force.
    SetSafety(Safety),
    /// A new mapping; force comes on anew.
    SetMapping(ActiveMapping),
    /// The world stands still and gives no force.
    Pause,
    /// The world goes on; force comes on anew.
    Resume,
    /// A paused world does so many ticks.
    Step(u32),
    /// Another world, or the same at its start; force comes on anew.
    ReplaceWorld(Box<World>),
    /// Where a simulated hand shall go, world frame, m; none lets it go back to its path.
    GuideHand(Option<Vector2<f64>>),
}
