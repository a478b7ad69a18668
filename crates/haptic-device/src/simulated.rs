//! A device model with a simulated hand.
//!
//! Time is the tick count: each reading advances the model by one tick T of 1 ms, using the efforts written before.
//! Each effort takes effect exactly one model delay later. Reading k is therefore the state at time k·T, and effort k
//! acts from time k·T + delay. No clock is read, so the same efforts give the same bits.

mod axis;
mod delay;
mod hand;
mod model;

pub use hand::PATH_RESUMES_S;
pub use model::{DeviceModel, HandModel, ModelError};

use crate::contract::{
    Device, Effort, Health, Identity, Limits, MAX_AXES, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use crate::kind::SIMULATED;
use crate::velocity::BackwardDifference;
use axis::{AxisModel, AxisState, Drive, SpanPropagator};
use delay::DelayLine;
use hand::HandTarget;
use nalgebra::Vector2;

/// Period of simulated devices, s.
pub const TICK_S: f64 = 0.001;

/// Ticks per second. Tick counts are divided by this rather than multiplied by [`TICK_S`], so that path rows at a tick
/// are hit exactly.
const TICKS_PER_S: f64 = 1000.0;

pub(crate) fn seconds(ticks: u64) -> f64 {
    // No count reaches 2⁶³, and a signed number is converted by one instruction instead of seven.
    ticks as i64 as f64 / TICKS_PER_S
}

/// True position and velocity of the handle, before encoder quantisation and velocity estimation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueState {
    /// Handle position, device frame, m.
    pub position_m: Vector2<f64>,
    /// Handle velocity, device frame, m/s.
    pub velocity_m_per_s: Vector2<f64>,
}

#[derive(Clone, Debug)]
struct Axis {
    model: AxisModel,
    state: AxisState,
    delay: DelayLine,
    /// Propagators for the parts of a tick before and after a command takes effect.
    passages: [SpanPropagator; 2],
    encoder_step_m: f64,
}

impl Axis {
    fn advance(&mut self, command_n: f64, from_m: f64, to_m: f64) {
        let mut drive = Drive { force_n: 0.0, target_m: from_m, target_m_per_s: (to_m - from_m) / TICK_S };
        self.delay.push(command_n);
        let parts = self.delay.acting_n().into_iter().zip(self.delay.parts_s()).zip(&self.passages);
        for ((force_n, part_s), passage) in parts {
            drive.force_n = force_n;
            self.model.advance(&mut self.state, drive, passage);
            drive.target_m += drive.target_m_per_s * part_s;
        }
    }

    fn encoder_m(&self) -> f64 {
        let step_m = self.encoder_step_m;
        if step_m > 0.0 { (self.state.position_m / step_m).floor() * step_m } else { self.state.position_m }
    }
}

/// A device model, optionally held by a simulated hand.
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    identity: Identity,
    limits: Limits,
    axes: [Option<Axis>; MAX_AXES],
    hand: Option<HandTarget>,
    velocity: BackwardDifference,
    command_n: Vector2<f64>,
    ticks: u64,
    /// Whether the hand and the handle stand still.
    is_paused: bool,
    open: bool,
}

impl SimulatedDevice {
    /// Creates a device at rest at the start of the hand's path. Without a hand, the handle is free and starts at the
    /// origin.
    pub fn new(axes: u8, model: &DeviceModel, hand: Option<&HandModel>) -> Result<Self, ModelError> {
        model.check(axes)?;
        hand.map_or(Ok(()), HandModel::check)?;
        let target = hand.map(HandModel::checked_path).transpose()?.map(HandTarget::new);
        let start_m = target.as_ref().map_or(Vector2::zeros(), HandTarget::position_m);
        let mut device = Self {
            identity: identity(axes),
            limits: limits(model, axes),
            axes: [None, None],
            hand: target,
            velocity: BackwardDifference::new(),
            command_n: Vector2::zeros(),
            ticks: 0,
            is_paused: false,
            open: true,
        };
        for index in 0..usize::from(axes) {
            device.axes[index] = Some(build_axis(model, hand, index)?);
        }
        device.place(start_m, Vector2::zeros());
        Ok(device)
    }

    /// Sets the position and velocity of the handle. Commands still in the delay line take effect as usual.
    pub fn place(&mut self, position_m: Vector2<f64>, velocity_m_per_s: Vector2<f64>) {
        for (index, axis) in self.axes.iter_mut().enumerate() {
            if let Some(axis) = axis {
                axis.state = AxisState { position_m: position_m[index], velocity_m_per_s: velocity_m_per_s[index] };
            }
        }
    }

    /// True position and velocity of the handle.
    pub fn true_state(&self) -> TrueState {
        let of = |value: fn(&Axis) -> f64| Vector2::from_fn(|index, _| self.axes[index].as_ref().map_or(0.0, value));
        TrueState {
            position_m: of(|axis| axis.state.position_m),
            velocity_m_per_s: of(|axis| axis.state.velocity_m_per_s),
        }
    }

    fn advance(&mut self) {
        self.ticks += 1;
        if self.is_paused {
            return;
        }
        let from_m = self.hand.as_ref().map_or(Vector2::zeros(), HandTarget::position_m);
        let to_m = self.hand.as_mut().map_or(Vector2::zeros(), HandTarget::advance);
        for (index, axis) in self.axes.iter_mut().enumerate() {
            if let Some(axis) = axis {
                axis.advance(self.command_n[index], from_m[index], to_m[index]);
            }
        }
    }

    fn encoder_m(&self) -> Vector2<f64> {
        Vector2::from_fn(|index, _| self.axes[index].as_ref().map_or(0.0, Axis::encoder_m))
    }
}

impl Device for SimulatedDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: one tick of two axes, at most 2·64 spans each.
    fn read(&mut self, _now: MonotonicNs) -> Reading {
        self.advance();
        let position_m = self.encoder_m();
        Reading {
            position_m,
            velocity_m_per_s: self.velocity.update(position_m, TICK_S),
            health: if self.open { Health::Ready } else { Health::Lost },
            age_ns: 0,
            fresh: self.open,
            sequence: self.ticks as u32,
        }
    }

    /// Real-time: one square root.
    fn write(&mut self, effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        if !self.open {
            return WriteOutcome::Failed(WriteError::NotConnected);
        }
        if !(effort.force_n.x.is_finite() && effort.force_n.y.is_finite()) {
            self.command_n = Vector2::zeros();
            return WriteOutcome::Failed(WriteError::NotFinite);
        }
        self.command_n = saturated(self.present(effort.force_n), self.limits.max_force_n);
        WriteOutcome::Written
    }

    fn close(&mut self) {
        self.command_n = Vector2::zeros();
        self.open = false;
    }

    /// Real-time: one comparison.
    fn set_hand_target(&mut self, target_m: Option<Vector2<f64>>) {
        if let Some(hand) = &mut self.hand {
            hand.guide(target_m);
        }
    }

    /// Real-time: one comparison.
    fn place_hand(&mut self, start_m: Vector2<f64>) {
        if let Some(hand) = &mut self.hand
            && hand.call(start_m)
        {
            self.place(start_m, Vector2::zeros());
            self.velocity = BackwardDifference::new();
        }
    }

    fn can_be_led(&self) -> bool {
        self.hand.as_ref().is_some_and(|hand| !hand.has_path())
    }

    /// Real-time: one comparison.
    fn lead_hand(&mut self, target_m: Vector2<f64>) {
        if let Some(hand) = &mut self.hand {
            hand.lead(target_m);
        }
    }

    /// Real-time: constant.
    fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }
}

impl SimulatedDevice {
    /// Removes force components on missing axes, which must not count towards saturation.
    fn present(&self, force_n: Vector2<f64>) -> Vector2<f64> {
        Vector2::from_fn(|index, _| if self.axes[index].is_some() { force_n[index] } else { 0.0 })
    }
}

fn saturated(force_n: Vector2<f64>, max_force_n: f64) -> Vector2<f64> {
    let length_n = libm::hypot(force_n.x, force_n.y);
    if length_n > max_force_n { force_n * (max_force_n / length_n) } else { force_n }
}

fn build_axis(model: &DeviceModel, hand: Option<&HandModel>, index: usize) -> Result<Axis, ModelError> {
    let (axis, delay) = (model::axis_model(model, hand, index)?, DelayLine::new(model.delay_s[index]));
    Ok(Axis {
        model: axis,
        state: AxisState::default(),
        passages: delay.parts_s().map(|part_s| axis.passage(part_s)),
        delay,
        encoder_step_m: model.encoder_step_m[index],
    })
}

fn identity(axes: u8) -> Identity {
    Identity {
        name: format!("simulated device, {axes} {}", if axes == 1 { "axis" } else { "axes" }),
        kind: &SIMULATED,
        serial_number: String::new(),
        firmware: String::new(),
        axes,
    }
}

fn limits(model: &DeviceModel, axes: u8) -> Limits {
    Limits {
        max_force_n: model.vector_limit_n(usize::from(axes)),
        travel_min_m: Vector2::repeat(f64::NEG_INFINITY),
        travel_max_m: Vector2::repeat(f64::INFINITY),
        rate_hz: TICKS_PER_S,
    }
}
