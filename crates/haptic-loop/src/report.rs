//! Report of one tick: plain data of fixed size.

use crate::engagement::Phase;
use crate::fault::Fault;
use haptic_device::{MonotonicNs, Reading, WriteOutcome};
use haptic_planar::output::StepOutput;
use haptic_planar::scene::body_state::BodyState;
use nalgebra::Vector2;

/// Report of one tick, from reading to force. Positions and forces are in the world frame unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickReport {
    /// Number of the tick, counted from one.
    pub tick: u64,
    /// Time at the start of the tick.
    pub now: MonotonicNs,
    /// Number of periods skipped since the previous tick.
    pub skipped: u32,
    /// Reading of the device, device frame.
    pub reading: Reading,
    /// Position of the hand in the last new sample, world frame, m; zero before the first sample.
    pub hand_m: Vector2<f64>,
    /// State of the tool after the tick; at rest at the origin if there is no tool.
    pub tool: BodyState,
    /// Output of the step.
    pub felt: StepOutput,
    /// Force on the hand that the guard admitted, N.
    pub force_n: Vector2<f64>,
    /// Force on the hand that the guard admitted, device frame, N, as passed to the device.
    pub effort_n: Vector2<f64>,
    /// Outcome of writing the effort.
    pub sent: WriteOutcome,
    /// Tank level, J.
    pub tank_j: f64,
    /// Fraction of the force that the engagement permits, 0 to 1.
    pub fraction: f64,
    /// Engagement phase.
    pub phase: Phase,
    /// Whether the reading was stale or the device lost.
    pub stale: bool,
    /// Whether the world was paused.
    pub paused: bool,
    /// Fault that began in this tick, if any.
    pub fault: Option<Fault>,
}

impl Default for TickReport {
    /// Returns the report before the first tick.
    fn default() -> Self {
        Self {
            tick: 0,
            now: MonotonicNs(0),
            skipped: 0,
            reading: Reading::default(),
            hand_m: Vector2::zeros(),
            tool: BodyState::AT_REST,
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
