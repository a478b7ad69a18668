//! The stiffest spring, found on the device itself: springs of rising stiffness, each tapped, until one rings up.
//!
//! For motors that move a real handle, so it goes up from soft springs only, ends each trial the moment the motion grows,
//! and holds the handle softly in between. Nobody should hold the handle: a hand would lend its damping.

use crate::TICK_S;
use crate::measurement::{Allowance, End, Guardrail, Measurement};
use crate::ringing::{Ringing, Verdict};
use haptic_device::{Effort, Reading, Sent};
use haptic_loop::fault::Fault;
use nalgebra::Vector2;

/// Each spring is so much stiffer than the last.
pub const RISE: f64 = 1.12;
/// The first spring, and the spring that holds in between, as shares of the stiffness that theory predicts.
const FIRST: f64 = 0.4;
const HOLDING: f64 = 0.15;
/// No spring beyond this multiple of the prediction is tried.
const LAST: f64 = 4.0;
/// Ticks of holding before a trial, and of a trial.
const HOLD: u32 = 400;
const TRIAL: u32 = 1500;
/// Half swings that settle a trial.
const ENOUGH_HALF_SWINGS: usize = 20;
/// How far a tap goes, m, and encoder steps that it must be.
const TAP_M: f64 = 1e-3;
const TAP_STEPS: f64 = 20.0;
/// A motion that outgrew the tap by so much has rung up.
const RUNAWAY: f64 = 1.6;
/// Encoder steps to either side that are rest.
const QUIET_STEPS: f64 = 2.5;

/// What is tried at one damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// Damping of the coupling, N·s/m.
    pub damping_n_s_per_m: f64,
    /// What theory predicts, N/m.
    pub predicted_n_per_m: f64,
}

/// What was found at one damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Damping of the coupling, N·s/m.
    pub damping_n_s_per_m: f64,
    /// The stiffest spring that came to rest, N/m; zero if none did.
    pub stiffest_n_per_m: f64,
    /// Even the stiffest that was tried came to rest.
    pub is_at_least: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Hold,
    Trial,
}

/// The test, on the first axis.
pub struct SpringTest {
    rungs: Vec<Rung>,
    found: Vec<Found>,
    guardrail: Guardrail,
    force_limit_n: f64,
    encoder_step_m: f64,
    phase: Phase,
    ticks: u32,
    stiffness_n_per_m: f64,
    /// The stiffest of this rung that came to rest.
    stable_n_per_m: f64,
    ringing: Ringing,
    /// Where it all began, and where the spring of this trial rests, m.
    home_m: Option<f64>,
    rest_m: f64,
    before_m: Option<f64>,
    end: Option<End>,
}

impl SpringTest {
    /// A test of so many dampings; the encoder's step says what counts as rest.
    pub fn new(rungs: Vec<Rung>, axes: usize, encoder_step_m: f64, allowance: &Allowance) -> Self {
        let stiffness_n_per_m = rungs.first().map_or(0.0, |rung| FIRST * rung.predicted_n_per_m);
        Self {
            found: Vec::with_capacity(rungs.len()),
            rungs,
            guardrail: Guardrail::new(axes, allowance),
            force_limit_n: allowance.force_n,
            encoder_step_m,
            phase: Phase::Hold,
            ticks: 0,
            stiffness_n_per_m,
            stable_n_per_m: 0.0,
            ringing: Ringing::new(),
            home_m: None,
            rest_m: 0.0,
            before_m: None,
            end: None,
        }
    }

    /// What was found, damping by damping.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    fn rung(&self) -> Option<Rung> {
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
        let (stiffness, rest_m) = match self.phase {
            Phase::Hold => self.hold(&rung, home_m),
            Phase::Trial => self.listen(&rung, position_m),
        };
        let force_n = -stiffness * (position_m - rest_m) - rung.damping_n_s_per_m * moved_m / TICK_S;
        force_n.clamp(-self.force_limit_n, self.force_limit_n)
    }

    fn hold(&mut self, rung: &Rung, home_m: f64) -> (f64, f64) {
        if self.ticks >= HOLD {
            (self.phase, self.ticks) = (Phase::Trial, 0);
            self.rest_m = home_m + self.tap_m();
            self.ringing.clear();
        }
        (HOLDING * rung.predicted_n_per_m, home_m)
    }

    fn listen(&mut self, rung: &Rung, position_m: f64) -> (f64, f64) {
        self.ringing.hear(position_m - self.rest_m);
        let has_rung_up = self.ticks > 2 && self.ringing.now_m() > RUNAWAY * self.tap_m();
        let is_settled = self.ticks >= TRIAL || self.ringing.half_swings() >= ENOUGH_HALF_SWINGS;
        if has_rung_up || is_settled {
            let quiet_m = QUIET_STEPS * self.encoder_step_m;
            let decays = !has_rung_up && self.ringing.verdict(quiet_m) == Verdict::Decays;
            self.conclude(rung, decays);
        }
        (if has_rung_up { 0.0 } else { self.stiffness_n_per_m }, self.rest_m)
    }

    fn conclude(&mut self, rung: &Rung, decays: bool) {
        (self.phase, self.ticks) = (Phase::Hold, 0);
        if decays {
            self.stable_n_per_m = self.stiffness_n_per_m;
            self.stiffness_n_per_m *= RISE;
        }
        let is_at_least = decays && self.stiffness_n_per_m > LAST * rung.predicted_n_per_m;
        if decays && !is_at_least {
            return;
        }
        self.found.push(Found {
            damping_n_s_per_m: rung.damping_n_s_per_m,
            stiffest_n_per_m: self.stable_n_per_m,
            is_at_least,
        });
        self.stable_n_per_m = 0.0;
        self.stiffness_n_per_m = self.rung().map_or(0.0, |next| FIRST * next.predicted_n_per_m);
    }

    /// So far that it is seen, and not so far that the motor is at its limit.
    fn tap_m(&self) -> f64 {
        let by_force_m = 0.5 * self.force_limit_n / self.stiffness_n_per_m.max(1.0);
        TAP_M.min(by_force_m).max(TAP_STEPS * self.encoder_step_m)
    }
}

impl Measurement for SpringTest {
    /// Real-time: constant but for the verdict of a trial, which adds up its half swings.
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort {
        let seen = self.guardrail.look(reading, periods);
        if let Some(end) = seen.end {
            self.end.get_or_insert(end);
        }
        let force_n = match (self.end, seen.trusted_m) {
            (None, Some(position_m)) => self.force_n(position_m.x),
            _ => 0.0,
        };
        Effort { force_n: Vector2::new(if self.end.is_some() { 0.0 } else { force_n }, 0.0) }
    }

    fn learn(&mut self, sent: Sent) {
        if let Sent::Failed(error) = sent {
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
