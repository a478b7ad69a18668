//! What one tick leaves behind: plain, fixed in size, copied wherever it is needed.

use crate::engagement::Phase;
use crate::fault::Fault;
use haptic_device::{MonotonicNs, Reading, WriteOutcome};
use haptic_planar::output::StepOutput;
use haptic_planar::scene::body_state::BodyState;
use nalgebra::Vector2;

/// One tick, from reading to force. Positions and forces are in the world's frame unless said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickReport {
    /// Counts ticks, from 1.
    pub tick: u64,
    /// When the tick began.
    pub now: MonotonicNs,
    /// Periods that were not run before this tick.
    pub skipped: u32,
    /// What the device gave, device frame.
    pub reading: Reading,
    /// The hand, m; the last good place if the reading was not good, zero before the first.
    pub hand_m: Vector2<f64>,
    /// The tool after the tick; at rest at the origin without one.
    pub tool: BodyState,
    /// What the world answered.
    pub felt: StepOutput,
    /// Force on the hand after the guard, N.
    pub force_n: Vector2<f64>,
    /// The same in the device's frame, as written, N.
    pub effort_n: Vector2<f64>,
    /// What became of it.
    pub sent: WriteOutcome,
    /// Energy on account, J.
    pub tank_j: f64,
    /// Share of force that the engagement gives, 0 to 1.
    pub fraction: f64,
    /// Where the engagement stands.
    pub phase: Phase,
    /// The reading was too old for a force.
    pub stale: bool,
    /// The world stood still.
    pub paused: bool,
    /// A fault that began in this tick.
    pub fault: Option<Fault>,
}

impl Default for TickReport {
    /// The report before the first tick.
    fn default() -> Self {
        Self {
            tick: 0,
            now: MonotonicNs(0),
            skipped: 0,
            reading: Reading::default(),
            hand_m: Vector2::zeros(),
            tool: BodyState::at_rest(),
            felt: StepOutput::default(),
            force_n: Vector2::zeros(),
            effort_n: Vector2::zeros(),
            sent: WriteOutcome::Written,
            tank_j: 0.0,
            fraction: 0.0,
            phase: Phase::Waiting,
            stale: false,
            paused: false,
            fault: None,
        }
    }
}
