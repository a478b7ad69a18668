//! Measures the maximum stable stiffness on the device: taps springs of increasing stiffness until one oscillates.
//!
//! The motors move a real handle. The test therefore starts with soft springs, ends each trial as soon as the motion
//! grows, and holds the handle softly between trials. The handle must be free: a hand would add its damping.

use crate::TICK_S;
use crate::decay_monitor::{DecayMonitor, Verdict};
use crate::measurement::{End, Measurement, MeasurementLimits, Monitor};
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::max_stable_stiffness_n_per_m;
use haptic_device::{Effort, Reading, WriteOutcome};
use haptic_loop::fault::Fault;
use nalgebra::Vector2;

/// Ratio between the stiffness of successive springs.
pub const RISE: f64 = 1.12;
/// Initial stiffness as a fraction of the predicted limit.
const FIRST: f64 = 0.4;
/// Maximum stiffness as a multiple of the predicted limit.
const LAST: f64 = 4.0;
/// Minimum duration of the hold before a trial, ticks.
const HOLD: u32 = 300;
/// Maximum duration of the hold before a trial, ticks.
const MAX_HOLD: u32 = 3000;
/// Time for which the handle must rest before the hold may end, ticks.
const QUIET: u32 = 100;
/// Maximum duration of a trial, ticks.
const TRIAL: u32 = 1500;
/// Maximum motion that still counts as rest during a hold, as a fraction of a tap.
const STILL: f64 = 0.1;
/// Number of half swings after which a trial is decided.
const ENOUGH_HALF_SWINGS: usize = 20;
/// Damping of the hold, as a fraction of the mass divided by the effective delay.
const HOLDING_DAMPING: f64 = 0.05;
/// Stiffness of the hold, as a fraction of the maximum stable stiffness.
const HOLDING_STIFFNESS: f64 = 0.1;
/// Maximum length of a tap, m.
const TAP_M: f64 = 1e-3;
/// Minimum length of a tap, encoder steps.
const TAP_STEPS: f64 = 20.0;
/// Ratio of amplitude to tap length above which a trial counts as unstable.
const RUNAWAY: f64 = 1.6;
/// Amplitude in encoder steps up to which the motion counts as rest.
const QUIET_STEPS: f64 = 2.5;

/// A damping value to test, with the predicted stiffness limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DampingTrial {
    /// Damping of the coupling, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Predicted stiffness limit, N/m.
    pub predicted_n_per_m: f64,
}

/// A soft, well-damped spring that holds the handle between trials, with a large stability margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holding {
    /// Stiffness, N/m.
    pub stiffness_n_per_m: f64,
    /// Damping, N·s/m.
    pub damping_n_s_per_m: f64,
}

impl Holding {
    /// Computes holding gains that are stable on a device with and without a hand.
    pub fn of(device: &WorstAxisModel) -> Self {
        let damping_n_s_per_m = HOLDING_DAMPING * device.mass_kg / device.effective_delay_s();
        let stiffest = max_stable_stiffness_n_per_m(device, &HandImpedance::default(), damping_n_s_per_m);
        Self { stiffness_n_per_m: HOLDING_STIFFNESS * stiffest, damping_n_s_per_m }
    }
}

/// The measured stiffness limit at one damping value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLimit {
    /// Damping of the coupling, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Maximum stiffness at which the handle came to rest, N/m; zero if there was none.
    pub stiffest_n_per_m: f64,
    /// Whether the handle came to rest even at the highest stiffness tested, so that `stiffest_n_per_m` is only a lower
    /// bound.
    pub is_at_least: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Hold,
    Trial,
}

/// Stiffness test on the first axis.
pub struct SpringTest {
    rungs: Vec<DampingTrial>,
    found: Vec<MeasuredLimit>,
    monitor: Monitor,
    force_limit_n: f64,
    encoder_step_m: f64,
    holding: Holding,
    phase: Phase,
    ticks: u32,
    /// Number of ticks since the handle last moved.
    quiet: u32,
    /// Position of the handle when it last moved, m.
    quiet_from_m: f64,
    stiffness_n_per_m: f64,
    /// Maximum stiffness at the current damping for which the handle came to rest, N/m.
    stable_n_per_m: f64,
    ringing: DecayMonitor,
    /// Start position of the handle, m; `None` before the first reading.
    home_m: Option<f64>,
    /// Rest position of the spring in the current trial, m.
    rest_m: f64,
    before_m: Option<f64>,
    end: Option<End>,
}

impl SpringTest {
    /// Creates a test for the damping values in `rungs` on a device with the given model.
    pub fn new(rungs: Vec<DampingTrial>, axes: usize, device: &WorstAxisModel, limits: &MeasurementLimits) -> Self {
        let stiffness_n_per_m = rungs.first().map_or(0.0, |rung| FIRST * rung.predicted_n_per_m);
        Self {
            found: Vec::with_capacity(rungs.len()),
            rungs,
            monitor: Monitor::new(axes, limits),
            force_limit_n: limits.force_n,
            encoder_step_m: device.encoder_step_m,
            holding: Holding::of(device),
            phase: Phase::Hold,
            ticks: 0,
            quiet: 0,
            quiet_from_m: 0.0,
            stiffness_n_per_m,
            stable_n_per_m: 0.0,
            ringing: DecayMonitor::new(),
            home_m: None,
            rest_m: 0.0,
            before_m: None,
            end: None,
        }
    }

    /// Returns the limits measured so far, one per damping value.
    pub fn found(&self) -> &[MeasuredLimit] {
        &self.found
    }

    fn rung(&self) -> Option<DampingTrial> {
        self.rungs.get(self.found.len()).copied()
    }

    fn force_n(&mut self, position_m: f64) -> f64 {
        let Some(rung) = self.rung() else {
            self.end.get_or_insert(End::Finished);
            return 0.0;
        };
        let home_m = *self.home_m.get_or_insert(position_m);
        let moved_m = position_m - self.before_m.replace(position_m).unwrap_or(position_m);
        self.ticks += 1;
        let (stiffness, damping, rest_m) = match self.phase {
            Phase::Hold => self.hold(position_m, home_m),
            Phase::Trial => self.listen(&rung, position_m),
        };
        let force_n = -stiffness * (position_m - rest_m) - damping * moved_m / TICK_S;
        force_n.clamp(-self.force_limit_n, self.force_limit_n)
    }

    fn hold(&mut self, position_m: f64, home_m: f64) -> (f64, f64, f64) {
        if (position_m - self.quiet_from_m).abs() > STILL * self.tap_m() {
            (self.quiet, self.quiet_from_m) = (0, position_m);
        }
        self.quiet += 1;
        if self.ticks >= MAX_HOLD || (self.ticks >= HOLD && self.quiet >= QUIET) {
            (self.phase, self.ticks) = (Phase::Trial, 0);
            // The tap is relative to the present position, because dry friction may hold the handle away from its
            // start.
            self.rest_m = position_m + self.tap_m().copysign(home_m - position_m);
            self.ringing.clear();
        }
        (self.holding.stiffness_n_per_m, self.holding.damping_n_s_per_m, home_m)
    }

    fn listen(&mut self, rung: &DampingTrial, position_m: f64) -> (f64, f64, f64) {
        self.ringing.push(position_m - self.rest_m);
        let has_rung_up = self.ticks > 2 && self.ringing.now_m() > RUNAWAY * self.tap_m();
        let stiffness = if has_rung_up { 0.0 } else { self.stiffness_n_per_m };
        let is_settled = self.ticks >= TRIAL || self.ringing.half_swings() >= ENOUGH_HALF_SWINGS;
        if has_rung_up || is_settled {
            let quiet_m = QUIET_STEPS * self.encoder_step_m;
            let decays = !has_rung_up && self.ringing.verdict(quiet_m) == Verdict::Decays;
            self.conclude(rung, decays);
        }
        (stiffness, rung.damping_n_s_per_m, self.rest_m)
    }

    fn conclude(&mut self, rung: &DampingTrial, decays: bool) {
        (self.phase, self.ticks) = (Phase::Hold, 0);
        if decays {
            self.stable_n_per_m = self.stiffness_n_per_m;
            self.stiffness_n_per_m *= RISE;
        }
        let is_at_least = decays && self.stiffness_n_per_m > LAST * rung.predicted_n_per_m;
        if decays && !is_at_least {
            return;
        }
        self.found.push(MeasuredLimit {
            damping_n_s_per_m: rung.damping_n_s_per_m,
            stiffest_n_per_m: self.stable_n_per_m,
            is_at_least,
        });
        self.stable_n_per_m = 0.0;
        self.stiffness_n_per_m = self.rung().map_or(0.0, |next| FIRST * next.predicted_n_per_m);
    }

    /// Returns the length of a tap, m: small enough not to saturate the motor, but always large enough to be measured.
    fn tap_m(&self) -> f64 {
        let damping = self.rung().map_or(0.0, |rung| rung.damping_n_s_per_m);
        let by_force_m = 0.5 * self.force_limit_n / (self.stiffness_n_per_m + damping / TICK_S).max(1.0);
        TAP_M.min(by_force_m).max(TAP_STEPS * self.encoder_step_m)
    }
}

impl Measurement for SpringTest {
    /// Real-time: constant, except at the end of a trial, when its half swings are summed.
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort {
        let seen = self.monitor.look(reading, periods);
        if let Some(end) = seen.end {
            self.end.get_or_insert(end);
        }
        let force_n = match (self.end, seen.trusted_m) {
            (None, Some(position_m)) => self.force_n(position_m.x),
            _ => 0.0,
        };
        Effort { force_n: Vector2::new(if self.end.is_some() { 0.0 } else { force_n }, 0.0) }
    }

    fn acknowledge(&mut self, sent: WriteOutcome) {
        if let WriteOutcome::Failed(error) = sent {
            self.end.get_or_insert(End::Fault(Fault::NotSent(error)));
        }
    }

    fn end(&self) -> Option<End> {
        self.end
    }

    fn abort(&mut self) {
        self.end.get_or_insert(End::Aborted);
    }

    fn progress(&self) -> (f64, &'static str) {
        (self.found.len() as f64 / self.rungs.len().max(1) as f64, "trying springs")
    }
}
