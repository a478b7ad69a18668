//! The only gate between the world and the device. Every force on the hand passes through [`Guard::admit`].
//!
//! The guard acts in this order: a value that is not finite, a late tick and the like are faults; the force is clamped
//! without changing its direction; the engagement scales it; its rise is limited; the energy tank limits it last. A
//! fall towards zero is never slowed down. Every fault leads to zero force in the tick in which it is detected, and to
//! a new engagement. The guard changes only the force on the device, not the world; work of the world that did not
//! reach the hand is added to `withheld_j`.
//!
//! All quantities are in the device frame.

mod checkpoint;
mod nudge;

use crate::engagement::{Engagement, Phase};
use crate::fault::Fault;
use crate::reading_monitor::{HandReading, Validity, stale_after_s};
use crate::settings::Safety;
use haptic_coupling::coupling::RAMP_S;
use haptic_coupling::model::WorstAxisModel;
use haptic_coupling::tank::{RESERVE_J, StoredEnergy, Tank, TankSettings, clamp_norm, project_onto_segment};
use haptic_device::{WriteError, WriteOutcome};
use haptic_planar::math::equal;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;
use nudge::Nudge;

/// Number of consecutive overruns that counts as a fault, because the loop can no longer keep up.
pub const OVERRUNS_IN_A_ROW: u32 = 20;

/// The force that the world requests in one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForceRequest {
    /// Requested force on the hand, N.
    pub force_n: Vector2<f64>,
    /// Energy that the world could deliver to the hand.
    pub stored: StoredEnergy,
    /// Near pairs dropped because the pair table was full.
    pub pairs_dropped: u32,
    /// Periods since the last tick, one or more.
    pub periods: u32,
    /// Energy that the shrinking offset of the coupling stored in the world since the last tick, J.
    pub offset_j: f64,
}

impl ForceRequest {
    /// Whether force and energy are finite. The sum of their magnitudes is finite only if all of them are.
    fn is_finite(&self) -> bool {
        (self.force_n.x.abs() + self.force_n.y.abs() + self.stored.total_j.abs()).is_finite()
    }
}

/// The guard's decision in one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// Permitted force on the hand, N.
    pub force_n: Vector2<f64>,
    /// Fault that began in this tick, if any.
    pub fault: Option<Fault>,
}

/// Counts of the guard's interventions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GuardCounters {
    /// Number of ticks without force because the reading was stale.
    pub stale: u64,
    /// Number of faults; a continuing fault counts once.
    pub faults: u64,
    /// Number of ticks in which the force limit reduced the force. Normally, the coupling saturates first.
    pub clamped: u64,
    /// Number of ticks in which the tank reduced the force.
    pub cut: u64,
    /// Work of the world that did not reach the hand, J; negative if the hand received more work than the world
    /// delivered.
    pub withheld_j: f64,
}

/// The only gate between the world and the device.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    device: WorstAxisModel,
    clamp: Clamp,
    slew_n_per_tick: f64,
    /// Lateness of a tick after which the force is interrupted, s.
    stale_after_s: f64,
    /// Lateness of a tick that is a fault, s.
    lost_after_s: f64,
    /// Time for which the device may accept no force before the force is interrupted, s. Half a nanosecond less than
    /// the limit: a sum of whole ticks can be slightly less than the limit that it reaches.
    busy_after_s: f64,
    /// Time for which the device has accepted no force, s.
    busy_s: f64,
    engagement: Engagement,
    tank: Tank,
    /// Weight of the tool, N.
    load_n: Vector2<f64>,
    /// The fault that is still active, if any.
    active_fault: Option<Fault>,
    /// Fault caused by a failed write in the last tick, if any.
    unsent: Option<Fault>,
    late_in_a_row: u32,
    /// Requested minus admitted force of the last tick, N.
    shortfall_n: Vector2<f64>,
    /// Part of the force that the engagement withheld in the last tick, N.
    withheld_by_ramp_n: Vector2<f64>,
    /// What the tank is given after an interruption.
    recovery: Recovery,
    nudge: Nudge,
    /// Force applied by the device before the last admission, N.
    given_before_n: Vector2<f64>,
    counters: GuardCounters,
}

impl Guard {
    /// Creates a disengaged guard. Its tank starts with `stored`, the energy stored in the world. The smaller of the
    /// force limits of `safety` and `device` applies.
    pub fn new(safety: &Safety, device: &WorstAxisModel, stored: StoredEnergy) -> Self {
        Self {
            device: *device,
            clamp: Clamp::at(safety.max_force_n.min(device.max_force_n)),
            slew_n_per_tick: slew_n_per_tick(safety),
            stale_after_s: safety.stale_after_s,
            lost_after_s: safety.lost_after_s,
            busy_after_s: stale_after_s(safety, device.period_s) - 5e-10,
            busy_s: 0.0,
            engagement: Engagement::new(safety.engage_ramp_s),
            tank: Tank::new(&tank_settings(safety, device), stored),
            load_n: Vector2::zeros(),
            active_fault: None,
            unsent: None,
            late_in_a_row: 0,
            shortfall_n: Vector2::zeros(),
            withheld_by_ramp_n: Vector2::zeros(),
            recovery: Recovery::default(),
            nudge: Nudge::default(),
            given_before_n: Vector2::zeros(),
            counters: GuardCounters::default(),
        }
    }

    /// Sets new limits without a jump in force. Real-time: constant.
    pub fn set_limits(&mut self, safety: &Safety) {
        self.clamp.move_to(safety.max_force_n.min(self.device.max_force_n));
        self.slew_n_per_tick = slew_n_per_tick(safety);
        (self.stale_after_s, self.lost_after_s) = (safety.stale_after_s, safety.lost_after_s);
        self.busy_after_s = stale_after_s(safety, self.device.period_s) - 5e-10;
        self.engagement.set_limits(safety.engage_ramp_s);
        self.tank.set_limits(&tank_settings(safety, &self.device));
    }

    /// Sets the weight of the tool, N; zero at first. Real-time: constant.
    pub fn set_load(&mut self, load_n: Vector2<f64>) {
        self.load_n = load_n;
    }

    /// Switches the force off; it re-engages as after a fault. Real-time: constant.
    pub fn disengage(&mut self) {
        self.engagement.restart();
    }

    /// Emergency stop: no force until [`Self::release`]. Real-time: constant.
    pub fn stop(&mut self) {
        self.engagement.stop();
    }

    /// Releases an emergency stop. It stays in effect if a motor is reversed. Real-time: constant.
    pub fn release(&mut self) {
        if self.nudge.reversed.is_none() {
            self.engagement.release();
        }
    }

    /// Whether neither a fault of the last write nor one of the host, whose tick is `periods` after the last one, would
    /// end an engagement at once.
    pub fn can_engage(&self, periods: u32) -> bool {
        self.unsent.is_none() && late_s(periods) < self.lost_after_s
    }

    /// Starts the ramp of the force, because the tool has been brought to the hand. `stored_j` is the energy that this
    /// has added to the world, J. Real-time: constant.
    pub fn start_ramp(&mut self, stored_j: f64) {
        self.engagement.start_ramp();
        self.settle(stored_j);
    }

    /// Whether the force is off until the tool has been brought to the hand.
    pub fn is_off(&self) -> bool {
        self.engagement.awaits_tool()
    }

    /// Whether an emergency stop is in effect.
    pub fn is_stopped(&self) -> bool {
        self.engagement.is_stopped()
    }

    /// Fraction reached by the ramp of the force, 0 to 1.
    pub fn ramped(&self) -> f64 {
        self.engagement.ramped()
    }

    /// Adds energy to the tank that the world received without work of the hand, or withdraws what it lost, J.
    fn settle(&mut self, energy_j: f64) {
        if energy_j > 0.0 {
            self.tank.deposit(energy_j);
        } else {
            self.tank.draw(-energy_j);
        }
    }

    /// Switches the force off for a new world and refills the tank with `stored`, the energy stored in that world.
    /// Real-time: constant.
    pub fn change_world(&mut self, stored: StoredEnergy) {
        self.engagement.restart();
        self.tank.refill(stored);
    }

    /// Returns the permitted force, and the fault that began in this tick, if any. Real-time: constant.
    #[inline(always)]
    pub fn admit(&mut self, request: &ForceRequest, hand: &HandReading) -> Admission {
        self.update_energy(request, hand);
        self.clamp.advance();
        self.given_before_n = self.tank.acting_force_n();
        if self.is_nominal(request, hand) {
            let shaped_n = self.limit(request.force_n);
            let force_n = self.limit_by_energy(shaped_n);
            self.shortfall_n = request.force_n - force_n;
            Admission { force_n, fault: None }
        } else {
            self.admit_degraded(request, hand)
        }
    }

    /// Records the outcome of the write. If the force was not sent, the previous one still acts; a failed write is a
    /// fault in the next tick, and a device that stays busy interrupts the force. A disconnected device exerts no
    /// force, because it has no power or its watchdog has expired. Motion of its handle therefore withdraws no energy
    /// from the tank; otherwise, the deficit would limit every later force. Real-time: constant.
    pub fn acknowledge(&mut self, sent: WriteOutcome) {
        if matches!(sent, WriteOutcome::Written) {
            self.busy_s = 0.0;
        } else {
            self.busy_s += TICK_S;
            let is_gone = sent == WriteOutcome::Failed(WriteError::NotConnected);
            let acting_n = if is_gone { Vector2::zeros() } else { self.given_before_n };
            self.shortfall_n += self.tank.acting_force_n() - acting_n;
            self.tank.hold(acting_n);
        }
        self.unsent = match sent {
            WriteOutcome::Failed(error) => Some(Fault::NotSent(error)),
            WriteOutcome::Written | WriteOutcome::Busy => None,
        };
    }

    /// Energy that can be withdrawn without a jump in force, J.
    pub fn available_j(&self) -> f64 {
        self.tank.available_j()
    }

    /// Withdraws energy for a purpose other than force, such as stiffer gains. Real-time: constant.
    pub fn draw(&mut self, energy_j: f64) {
        self.tank.draw(energy_j);
    }

    /// Tank level, J.
    pub fn tank_j(&self) -> f64 {
        self.tank.level_j()
    }

    /// Lowest tank level so far, J.
    pub fn tank_lowest_j(&self) -> f64 {
        self.tank.lowest_j()
    }

    /// Engagement phase.
    pub fn phase(&self) -> Phase {
        self.engagement.phase()
    }

    /// Fraction of the force that the engagement permits now, 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.engagement.fraction()
    }

    /// Counts of the guard's interventions.
    pub fn counters(&self) -> &GuardCounters {
        &self.counters
    }

    /// Updates the tank for the time since the last tick.
    fn update_energy(&mut self, request: &ForceRequest, hand: &HandReading) {
        let elapsed_s = f64::from(request.periods) * TICK_S;
        let is_at_full_force = self.engagement.is_at_full_force();
        self.tank.expect(request.force_n);
        match hand.position_m {
            Some(position_m) if hand.is_new => {
                let is_trusted = !matches!(hand.validity, Validity::Faulted(_));
                let moved_m = self.tank.observe(position_m, elapsed_s, request.stored, is_trusted);
                self.counters.withheld_j += self.shortfall_n.dot(&moved_m);
                if !is_at_full_force && is_trusted {
                    self.pay_ramp(request.offset_j, moved_m);
                }
            }
            _ => self.tank.skip_reading(elapsed_s),
        }
        if !is_at_full_force {
            self.tank.reset_near(request.stored);
        }
    }

    /// Adjusts the tank for what a ramp of the force has changed since the last reading. An engagement shrinks the
    /// offset of the coupling, which stores `offset_j` in it; less the work that the ramp withheld, the world has
    /// received that much without work of the hand. After an interruption, see [`Recovery`]. Real-time: constant.
    #[cold]
    fn pay_ramp(&mut self, offset_j: f64, moved_m: Vector2<f64>) {
        if self.engagement.starts_from_zero() {
            self.tank.raise_to(if self.engagement.is_recovering() { self.recovery.level_j } else { 0.0 });
        }
        let withheld_j = self.withheld_by_ramp_n.dot(&moved_m);
        if self.engagement.is_engaging() {
            self.settle(offset_j - withheld_j);
        } else if self.engagement.is_recovering() {
            let missing_j = (-withheld_j).min(self.recovery.missing_j);
            self.recovery.missing_j -= missing_j.max(0.0);
            self.settle(missing_j);
        }
    }

    /// Whether the tick needs no special handling, which is true of nearly every tick.
    fn is_nominal(&self, request: &ForceRequest, hand: &HandReading) -> bool {
        matches!(hand.validity, Validity::Good)
            && request.is_finite()
            && (request.pairs_dropped == 0 && request.periods <= 1 && self.late_in_a_row == 0 && !self.is_busy())
            && (self.unsent.is_none() && self.active_fault.is_none() && !self.engagement.is_stopped())
    }

    /// Whether the device has accepted no force for too long.
    fn is_busy(&self) -> bool {
        self.busy_s >= self.busy_after_s
    }

    /// Handles a tick with a fault, a stale reading or skipped periods, and the first good tick after a fault or
    /// skipped periods.
    #[cold]
    fn admit_degraded(&mut self, request: &ForceRequest, hand: &HandReading) -> Admission {
        let fault = self.find_fault(request, hand);
        let wanted_n = if fault.is_some() { Vector2::zeros() } else { request.force_n };
        let is_late = late_s(request.periods) >= self.stale_after_s;
        let allowed_n = match (fault, hand.validity) {
            (Some(_), _) => self.shut_off(),
            (None, Validity::Stale) => self.interrupt(wanted_n),
            (None, _) if is_late || self.is_busy() => self.interrupt(wanted_n),
            (None, _) => self.limit(wanted_n),
        };
        let force_n = self.limit_by_energy(allowed_n);
        self.shortfall_n = wanted_n - force_n;
        Admission { force_n, fault: self.report_once(fault) }
    }

    fn find_fault(&mut self, request: &ForceRequest, hand: &HandReading) -> Option<Fault> {
        self.late_in_a_row = if request.periods > 1 { self.late_in_a_row.saturating_add(1) } else { 0 };
        let late_s = late_s(request.periods);
        match hand.validity {
            _ if self.engagement.is_stopped() => Some(self.nudge.reversed.unwrap_or(Fault::Stopped)),
            _ if late_s >= self.lost_after_s => Some(Fault::Late { late_s }),
            Validity::Faulted(fault) => Some(fault),
            _ if self.unsent.is_some() => self.unsent,
            _ if !request.is_finite() => Some(Fault::ForceNotFinite),
            _ if request.pairs_dropped > 0 => Some(Fault::PairsDropped { pairs: request.pairs_dropped }),
            _ if self.late_in_a_row >= OVERRUNS_IN_A_ROW => Some(Fault::Overruns { in_a_row: self.late_in_a_row }),
            _ => None,
        }
    }

    /// Restarts the engagement and returns zero force. Called in every tick with a fault.
    fn shut_off(&mut self) -> Vector2<f64> {
        self.engagement.restart();
        self.withheld_by_ramp_n = Vector2::zeros();
        Vector2::zeros()
    }

    fn interrupt(&mut self, wanted_n: Vector2<f64>) -> Vector2<f64> {
        self.counters.stale += 1;
        if !self.engagement.is_recovering() {
            self.recovery.level_j = self.tank.level_j();
        }
        self.engagement.interrupt();
        let withheld_n = clamp_norm(wanted_n, self.clamp.now_n);
        self.withheld_by_ramp_n = if self.engagement.is_recovering() { withheld_n } else { Vector2::zeros() };
        self.recovery.missing_j = self.tank.cost_j(self.clamp.now_n);
        Vector2::zeros()
    }

    /// Applies the force limit, the engagement and the slew limit.
    #[inline(always)]
    fn limit(&mut self, wanted_n: Vector2<f64>) -> Vector2<f64> {
        let clamped_n = clamp_norm(wanted_n, self.clamp.now_n);
        self.counters.clamped += u64::from(!equal(clamped_n, wanted_n));
        let is_at_full_force = self.engagement.is_at_full_force();
        let ramped_n = if is_at_full_force { clamped_n } else { clamped_n * self.engagement.advance() };
        self.withheld_by_ramp_n = clamped_n - ramped_n;
        slewed(self.tank.acting_force_n(), ramped_n, self.slew_n_per_tick)
    }

    #[inline(always)]
    fn limit_by_energy(&mut self, allowed_n: Vector2<f64>) -> Vector2<f64> {
        let paid_n = self.tank.admit(allowed_n, self.load_n);
        self.counters.cut += u64::from(!equal(paid_n, allowed_n));
        paid_n
    }

    /// Counts and returns a fault only in the tick in which it begins.
    fn report_once(&mut self, fault: Option<Fault>) -> Option<Fault> {
        let is_known = matches!((fault, self.active_fault), (Some(now), Some(before)) if now.continues(&before));
        self.active_fault = fault;
        let news = if is_known { None } else { fault };
        self.counters.faults += u64::from(news.is_some());
        news
    }
}

/// What the tank is given when the force returns after an interruption. The readings do not tell whether the hand has
/// moved while the force acted for longer than was paid for, and the tank must assume that it has. A hand that pressed
/// on all the time has extracted nothing, and may have stretched the coupling without doing the work, because there was
/// no force; it would otherwise feel no force before it moves away.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Recovery {
    /// Level before the interruption, J, to which the tank is raised.
    level_j: f64,
    /// Missing work of the hand that the tank may still be given, J; at first what covers the largest force.
    missing_j: f64,
}

/// A force limit that rises immediately and falls over [`RAMP_S`]: the coupling ramps too, and a sudden fall would be
/// felt as a knock.
#[derive(Clone, Copy, Debug)]
struct Clamp {
    now_n: f64,
    to_n: f64,
    step_n: f64,
}

impl Clamp {
    fn at(limit_n: f64) -> Self {
        Self { now_n: limit_n, to_n: limit_n, step_n: 0.0 }
    }

    fn move_to(&mut self, limit_n: f64) {
        if limit_n != self.to_n {
            self.step_n = (self.now_n - limit_n).max(0.0) * (TICK_S / RAMP_S);
            self.to_n = limit_n;
        }
    }

    fn advance(&mut self) {
        if self.now_n != self.to_n {
            self.now_n = (self.now_n - self.step_n).max(self.to_n);
        }
    }
}

/// Returns how late a tick is, s, that runs `periods` periods after the last one.
fn late_s(periods: u32) -> f64 {
    f64::from(periods.saturating_sub(1)) * TICK_S
}

fn tank_settings(safety: &Safety, device: &WorstAxisModel) -> TankSettings {
    TankSettings {
        passivity: safety.passivity,
        damping_n_s_per_m: device.damping_n_s_per_m,
        coulomb_n: device.coulomb_n,
        encoder_step_m: device.encoder_step_m,
        period_s: device.period_s,
        delay_s: device.delay_s,
        reserve_j: RESERVE_J,
    }
}

fn slew_n_per_tick(safety: &Safety) -> f64 {
    if safety.slew_n_per_s > 0.0 { safety.slew_n_per_s * TICK_S } else { f64::INFINITY }
}

/// Returns the force nearest to `wanted_n` that is at most `rise_n` away from the segment between zero and `last_n`. A
/// fall along the segment is not limited. Real-time: constant.
fn slewed(last_n: Vector2<f64>, wanted_n: Vector2<f64>, rise_n: f64) -> Vector2<f64> {
    // The rise is at most the force itself.
    if wanted_n.norm_squared() <= rise_n * rise_n {
        return wanted_n;
    }
    let fallen_n = project_onto_segment(last_n, wanted_n);
    let rise = wanted_n - fallen_n;
    if rise.norm_squared() <= rise_n * rise_n { wanted_n } else { fallen_n + clamp_norm(rise, rise_n) }
}

#[cfg(test)]
mod tests;
