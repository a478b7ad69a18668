//! Tap test of the closed loop: runs the real tick with a simulated device and hand against an immovable tool.
//!
//! The test includes effects that the linear theory omits: encoder steps, dry friction, the force limit, and the
//! implicit coupling. The tool weighs ten tonnes and rests on the floor, so that the coupling acts as it does in
//! contact. The energy tank is off because it would mask an instability.

use crate::TICK_S;
use crate::decay_monitor::{DecayMonitor, Verdict};
use haptic_coupling::coupling::Gains;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::tank::Passivity;
use haptic_device::simulated::{DeviceModel, ModelError};
use haptic_device::{Device, HandModel, MonotonicNs, PacedDevice, SimulatedDevice};
use haptic_loop::settings::{MappingSettings, Safety, Settings};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use nalgebra::Vector2;

/// Maximum displacement of a tap, m.
const TAP_M: f64 = 1e-3;
/// Minimum displacement of a tap, encoder steps.
const TAP_STEPS: f64 = 20.0;
/// Tap displacements to try when the motor saturates, as multiples of the first.
const SEVERAL_TAPS: [f64; 4] = [1.0, 1.37, 1.9, 2.6];
/// Peak-to-peak motion up to which the handle counts as at rest, encoder steps.
const QUIET_STEPS: f64 = 5.0;
/// Ratio of the motion to the tap above which the loop counts as unstable.
const RUNAWAY: f64 = 4.0;
/// Minimum duration of an observation, ticks.
const SHORTEST: u32 = 2000;
/// Maximum duration of an observation, ticks.
const MAX_TICKS: u32 = 12_000;
/// Number of half swings after which an observation may end early.
const ENOUGH_HALF_SWINGS: usize = 24;
/// Ticks between two checks for the end of an observation.
const LOOK_EVERY: u32 = 500;
/// Range of the motor force, as a fraction of the maximum force, above which a handle at rest counts as buzzing. The
/// encoder of a heavy device may be too coarse to detect a motor that switches between its limits.
const BUZZ_SHARE: f64 = 0.5;

/// A simulated loop in which a wall is tapped with given gains.
#[derive(Clone, Debug)]
pub struct TapTest {
    device: WorstAxisModel,
    hand: HandImpedance,
    wall: World,
}

impl TapTest {
    /// Creates a test for a device and a hand.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn new(device: &WorstAxisModel, hand: &HandImpedance) -> Result<Self, ModelError> {
        let tapped = Self { device: *device, hand: *hand, wall: wall() };
        tapped.simulated(TAP_M).map(|_| tapped)
    }

    /// Taps the wall with the given gains and tests whether the motion decays. If a measurable tap saturates the motor,
    /// the motion after one tap may decay by chance, so several taps are tried.
    pub fn verdict(&self, stiffness_n_per_m: f64, damping_n_s_per_m: f64) -> Verdict {
        let per_tick_n_per_m = stiffness_n_per_m + damping_n_s_per_m / self.device.period_s;
        let tap_m = self.tap_m(per_tick_n_per_m);
        let is_at_limit = per_tick_n_per_m * tap_m > self.device.max_force_n;
        let taps = if is_at_limit { &SEVERAL_TAPS[..] } else { &SEVERAL_TAPS[..1] };
        let decays =
            |fraction: &f64| self.one_tap(stiffness_n_per_m, damping_n_s_per_m, fraction * tap_m) == Verdict::Decays;
        if taps.iter().all(decays) { Verdict::Decays } else { Verdict::Builds }
    }

    fn one_tap(&self, stiffness_n_per_m: f64, damping_n_s_per_m: f64, tap_m: f64) -> Verdict {
        let quiet_m = QUIET_STEPS / 2.0 * self.device.encoder_step_m + 1e-9;
        let Some(mut rendering) = self.rendering(stiffness_n_per_m, damping_n_s_per_m, tap_m) else {
            return Verdict::Builds;
        };
        let mut ringing = DecayMonitor::new();
        let mut force_n = Swing::default();
        for tick in 1..=MAX_TICKS {
            let report = rendering.tick(MonotonicNs(u64::from(tick) * 1_000_000), 0);
            ringing.push(report.reading.position_m.x);
            force_n.update(report.force_n.x);
            if ringing.now_m() > RUNAWAY * tap_m {
                return Verdict::Builds;
            }
            if tick.is_multiple_of(LOOK_EVERY) {
                let is_quiet = ringing.now_m() <= quiet_m;
                if tick >= SHORTEST && (is_quiet || ringing.half_swings() >= ENOUGH_HALF_SWINGS) {
                    let buzzes = is_quiet && force_n.width() > BUZZ_SHARE * self.device.max_force_n;
                    return if buzzes { Verdict::Builds } else { ringing.verdict(quiet_m) };
                }
                force_n = Swing::default();
            }
        }
        ringing.verdict(quiet_m)
    }

    /// Returns the displacement of a tap, m: small enough not to saturate the motor when applied within one tick, but
    /// always large enough to be measured.
    fn tap_m(&self, stiffness_n_per_m: f64) -> f64 {
        let by_force_m = 0.5 * self.device.max_force_n / stiffness_n_per_m.max(1.0);
        TAP_M.min(by_force_m).max(TAP_STEPS * self.device.encoder_step_m)
    }

    fn rendering(&self, stiffness_n_per_m: f64, damping_n_s_per_m: f64, tap_m: f64) -> Option<HapticLoop> {
        let device = self.simulated(tap_m).ok()?;
        let every = (self.device.period_s / TICK_S).round() as u32;
        let device: Box<dyn Device> =
            if every > 1 { Box::new(PacedDevice::new(device, every)) } else { Box::new(device) };
        let coupling = Gains { stiffness_n_per_m, damping_n_s_per_m, ..Gains::default() };
        let settings =
            Settings { coupling, mapping: MappingSettings { rail: false, ..Default::default() }, safety: bare() };
        HapticLoop::new(device, &self.device, self.wall.clone(), &settings).ok()
    }

    fn simulated(&self, tap_m: f64) -> Result<SimulatedDevice, ModelError> {
        let WorstAxisModel { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, max_force_n, .. } =
            self.device;
        let axes = DeviceModel {
            mass_kg: [mass_kg; 2],
            damping_n_s_per_m: [damping_n_s_per_m; 2],
            coulomb_n: [coulomb_n; 2],
            encoder_step_m: [encoder_step_m; 2],
            delay_s: [delay_s; 2],
            max_force_n: [max_force_n; 2],
        };
        let hand = HandModel {
            stiffness_n_per_m: self.hand.stiffness_n_per_m,
            damping_n_s_per_m: self.hand.damping_n_s_per_m,
            mass_kg: self.hand.mass_kg,
            // A path of its own keeps the loop from placing the hand at the tool.
            path: vec![[0.0; 3]],
            looped: false,
        };
        let mut device = SimulatedDevice::new(1, &axes, Some(&hand))?;
        device.place(Vector2::new(tap_m, 0.0), Vector2::zeros());
        Ok(device)
    }
}

/// The range of an oscillating value.
#[derive(Clone, Copy, Debug)]
struct Swing {
    low: f64,
    high: f64,
}

impl Default for Swing {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Swing {
    fn update(&mut self, value: f64) {
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }

    fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// Returns safety settings that do not limit the force: the largest that are accepted.
fn bare() -> Safety {
    Safety {
        max_force_n: 1e6,
        slew_n_per_s: 0.0,
        engage_ramp_s: 0.0,
        max_speed_m_per_s: 1e5,
        passivity: Passivity::Off,
        ..Safety::default()
    }
}

/// Creates a world with an immovable tool on a floor. The tool's handle is at the origin.
fn wall() -> World {
    let a_box = |size_m: [f64; 2]| ShapeDescription::Box { size_m: size_m.into() };
    let mut floor = BodyDescription::new("floor", a_box([1.0, 0.1]));
    (floor.fixed, floor.position_m) = (true, Vector2::new(0.0, -0.10));
    let mut anvil = BodyDescription::new("anvil", a_box([0.5, 0.1]));
    anvil.mass_kg = Some(1e4);
    let tool = Some(ToolDescription { body: "anvil".to_owned(), handle_m: Vector2::zeros(), weightless: false });
    let description = SceneDescription { bodies: vec![floor, anvil], tool, ..SceneDescription::default() };
    World::new(Scene::build(&description).unwrap_or_else(|error| unreachable!("the wall is right: {error:?}")))
}
