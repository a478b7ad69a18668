//! Checks the signs of motors and encoders before the first force.
//!
//! Each motor pushes in one direction and in the other, for up to 40 ms at a time and with at most [`NUDGE_N`] at the
//! handle. From rest, a passive handle in a passive hand moves to the side to which it is pushed, whatever its mass,
//! friction and stiffness are. The position during a push is therefore compared with where the handle would have gone
//! without it, which is extrapolated from the last ticks before the push. Motion of the hand itself has the same
//! direction in all pushes, so that the mean over pushes in both directions hardly depends on it; how much it does is
//! measured beforehand, while no force acts.
//!
//! The motors of two axes push at the same time, with opposite signs, so that exchanged motors do not look right; arms
//! push one by one. The check sees only the product of the signs of motor and encoder: if both are reversed, the handle
//! moves as it should, and the world is mirrored.

mod checkpoint;

use crate::motor_set::MotorSet;
use crate::reading_monitor::{HandReading, Validity};
use haptic_device::{MAX_AXES, Pantograph};
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// Largest force of the check along an axis of the device frame, and of an arm, N.
pub const NUDGE_N: f64 = 0.3;

/// Ticks between two stored samples.
const KNOT: u32 = 10;
/// Duration of a push, ticks; a multiple of [`KNOT`].
const PUSH: u32 = 40;
/// Ticks from the start of one push to that of the next; a multiple of [`KNOT`].
const PERIOD: u32 = 60;
/// Number of pushes.
const PUSHES: usize = 5;
/// Ticks before the first push, in which the motion of the hand is measured; a multiple of [`KNOT`].
const WATCH: u32 = 240;
/// Ticks from the first to the last force of the check.
pub const NUDGE_TICKS: u32 = (PUSHES as u32 - 1) * PERIOD + PUSH;

/// Directions of the pushes of each axis. They alternate, so that what the hand returns of one push adds to the next,
/// and their number is even, so that a free handle stops.
const AXIS_PATTERNS: [[f64; PUSHES]; MAX_AXES] = [[1.0, -1.0, 1.0, -1.0, 0.0], [-1.0, 1.0, -1.0, 1.0, 0.0]];
/// Directions of the pushes of each arm; zero while the other one pushes.
const ARM_PATTERNS: [[f64; PUSHES]; MAX_AXES] = [[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0, 1.0]];
/// First push of arm 2, which does not count, because what the hand returns of the pushes of arm 1 disturbs it.
const DISTURBED_PUSH: usize = 2;

/// Number of stored samples that a push spans.
const PUSH_KNOTS: usize = (PUSH / KNOT) as usize;
/// Number of stored samples between the starts of two pushes.
const PERIOD_KNOTS: usize = (PERIOD / KNOT) as usize;
/// Number of stored samples from which the speed before a push follows. They span the time without force before it.
const SPEED_KNOTS: usize = PERIOD_KNOTS - PUSH_KNOTS;
/// Number of stored samples: for two pushes and the speed before the first of them.
const KNOTS: usize = PERIOD_KNOTS + PUSH_KNOTS + SPEED_KNOTS + 1;

/// Smallest deviation that counts, m.
const MIN_DEVIATION_M: f64 = 5e-5;
/// Smallest deviation that counts, encoder steps.
const DEVIATION_STEPS: f64 = 3.0;
/// Smallest mean deviation, relative to the deviation that the motion of the hand caused before the pushes.
const MEAN_PER_MOTION: f64 = 1.0;
/// Deviation at which a push ends early, m.
const ENOUGH_M: f64 = 1e-3;
/// Deviation at which a push ends early, relative to the smallest that counts, if that is more than [`ENOUGH_M`].
const ENOUGH: f64 = 5.0;
/// Deviation at which a push ends early, relative to the motion of the hand, if that is more.
const ENOUGH_PER_MOTION: f64 = 3.0;
/// Longest gap between two ticks that the check tolerates, periods.
const MAX_GAP: u32 = 10;

/// Sign of a motor relative to the encoder of the same axis or arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// Cannot be determined: the handle hardly moved, or the hand moved it more than the motor did.
    #[default]
    Unknown,
    /// The handle moved to the side to which the motor pushed it.
    Right,
    /// The handle moved to the other side.
    Reversed,
}

impl Sign {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Right => "right",
            Self::Reversed => "reversed",
        }
    }
}

/// How the motors of a device act on its handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motors {
    /// Number of motors.
    pub count: usize,
    /// Linkage between motors and handle; `None` if each motor drives an axis of the device frame.
    pub linkage: Option<Pantograph>,
    /// Encoder step at the handle, m.
    pub encoder_step_m: f64,
}

impl Motors {
    /// Returns the direction of a push of a motor, 1 or −1; zero if it does not push.
    fn pattern(&self, motor: usize, push: usize) -> f64 {
        let patterns = if self.linkage.is_some() { ARM_PATTERNS } else { AXIS_PATTERNS };
        if motor < self.count { patterns[motor][push] } else { 0.0 }
    }

    /// Returns the unit direction in which a motor alone pushes the handle, device frame; `None` if the pose has none.
    fn direction(&self, motor: usize, position_m: Vector2<f64>) -> Option<Vector2<f64>> {
        let axis = Vector2::ith(motor, 1.0);
        let Some(linkage) = self.linkage else { return Some(axis) };
        // A force F takes the torques Jᵀ·F, of which only that of this motor is not zero.
        let jacobian = linkage.angles_rad(position_m).and_then(|angles_rad| linkage.jacobian(angles_rad)).ok()?;
        let force = jacobian.transpose().try_inverse()? * axis;
        force.try_normalize(0.0)
    }

    /// Smallest deviation that counts, m.
    fn min_deviation_m(&self) -> f64 {
        MIN_DEVIATION_M.max(DEVIATION_STEPS * self.encoder_step_m)
    }
}

/// A position and the time at which it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    /// Ticks since the start of the check.
    tick: f64,
    position_m: Vector2<f64>,
}

impl Sample {
    const NONE: Self = Self { tick: 0.0, position_m: Vector2::new(0.0, 0.0) };

    /// Returns the mean velocity since an earlier sample, m per tick; zero if it is not earlier.
    fn velocity_since(&self, earlier: &Self) -> Vector2<f64> {
        let ticks = self.tick - earlier.tick;
        if ticks > 0.0 { (self.position_m - earlier.position_m) / ticks } else { Vector2::zeros() }
    }

    /// Returns the displacement from where an earlier sample would be by now at a velocity in m per tick, m.
    fn deviation_m(&self, earlier: &Self, velocity_m: Vector2<f64>) -> Vector2<f64> {
        self.position_m - earlier.position_m - velocity_m * (self.tick - earlier.tick)
    }
}

/// The present push of a motor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Push {
    /// Unit direction of the force, device frame; zero for no push.
    direction: Vector2<f64>,
    /// Last sample before the push.
    start: Sample,
    /// Velocity before the push, m per tick.
    velocity_m: Vector2<f64>,
}

impl Push {
    const NONE: Self =
        Self { direction: Vector2::new(0.0, 0.0), start: Sample::NONE, velocity_m: Vector2::new(0.0, 0.0) };
}

/// The check of a device that has just been opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignCheck {
    motors: Motors,
    is_done: bool,
    /// Ticks since the start of the check.
    elapsed: u32,
    /// Newest sample.
    newest: Sample,
    /// The newest sample at each multiple of [`KNOT`] ticks, the latest first.
    knots: [Sample; KNOTS],
    /// Largest mean deviation of two pushes that the motion of the hand would have caused along each axis, m.
    motion_m: Vector2<f64>,
    /// Present push of each motor.
    pushing: [Push; MAX_AXES],
    /// Deviation at the end of each push of each motor, in the direction of the push, m.
    deviations_m: [[f64; PUSHES]; MAX_AXES],
    /// Whether each push counts: it has begun, and no reading or tick was late during it.
    counts: [bool; PUSHES],
}

impl SignCheck {
    /// Creates the check of a device with these motors; a check that is done if there are none.
    pub fn new(motors: Option<Motors>) -> Self {
        Self {
            motors: motors.unwrap_or(Motors { count: 0, linkage: None, encoder_step_m: 0.0 }),
            is_done: motors.is_none(),
            elapsed: 0,
            newest: Sample::NONE,
            knots: [Sample::NONE; KNOTS],
            motion_m: Vector2::zeros(),
            pushing: [Push::NONE; MAX_AXES],
            deviations_m: [[0.0; PUSHES]; MAX_AXES],
            counts: [false; PUSHES],
        }
    }

    /// Whether there are motors to check, before or after the check.
    pub fn has_motors(&self) -> bool {
        self.motors.count > 0
    }

    /// Whether the force must wait for the check.
    pub fn is_pending(&self) -> bool {
        !self.is_done
    }

    /// Returns the sign of each motor once the check is done; empty if there was none.
    pub fn signs(&self) -> impl Iterator<Item = Sign> {
        let count = if self.is_done { self.motors.count } else { 0 };
        (0..count).map(|motor| self.sign(motor))
    }

    /// Returns the motors with the given sign once the check is done; `None` if there are none.
    pub fn motors_with(&self, sign: Sign) -> Option<MotorSet> {
        let mut has_sign = self.signs().map(|found| found == sign);
        let (first, second) = (has_sign.next() == Some(true), has_sign.next() == Some(true));
        let are_arms = self.motors.linkage.is_some();
        (first || second).then_some(MotorSet { first, second, are_arms })
    }

    /// Starts the check again; ends it if it has begun to push, because the pushes must follow each other quickly.
    /// Real-time: constant.
    pub fn interrupt(&mut self) {
        if self.elapsed >= WATCH {
            self.is_done = true;
        } else {
            (self.elapsed, self.motion_m) = (0, Vector2::zeros());
        }
    }

    /// Advances the check by a tick that follows the last one after `periods`, and returns the force for the handle,
    /// device frame, N. `age_s` is the age of a new position. A fault interrupts the check. Real-time: constant.
    #[cold]
    pub fn advance(&mut self, hand: &HandReading, age_s: f64, periods: u32) -> Vector2<f64> {
        let is_faulted = matches!(hand.validity, Validity::Faulted(_));
        let Some(position_m) = hand.position_m.filter(|_| !is_faulted) else {
            self.interrupt();
            return Vector2::zeros();
        };
        let before = self.elapsed;
        self.elapsed = self.elapsed.saturating_add(periods);
        if hand.is_new || before == 0 {
            self.newest = Sample { tick: f64::from(self.elapsed) - age_s / TICK_S, position_m };
        }
        if before / KNOT != self.elapsed / KNOT {
            self.store();
        }
        match self.elapsed.checked_sub(WATCH) {
            None => Vector2::zeros(),
            Some(ticks) => {
                let is_new = before < WATCH || (before - WATCH) / PERIOD != ticks / PERIOD;
                let is_on_time = hand.validity == Validity::Good && periods <= MAX_GAP;
                self.push(ticks, is_new, is_on_time)
            }
        }
    }

    /// Stores the newest sample, and measures the motion of the hand as long as no force acts.
    fn store(&mut self) {
        self.knots.rotate_right(1);
        self.knots[0] = self.newest;
        if self.elapsed <= WATCH && self.elapsed / KNOT >= KNOTS as u32 {
            let difference_m = self.motion_at(0) - self.motion_at(PERIOD_KNOTS);
            self.motion_m = self.motion_m.sup(&(difference_m.abs() / 2.0));
        }
    }

    /// Returns the deviation that a push would have found that ended at a stored sample, m.
    fn motion_at(&self, end: usize) -> Vector2<f64> {
        let start = &self.knots[end + PUSH_KNOTS];
        self.knots[end].deviation_m(start, start.velocity_since(&self.knots[end + PUSH_KNOTS + SPEED_KNOTS]))
    }

    /// Advances the pushes, `ticks` after the start of the first one, and returns the force. `is_new` says whether the
    /// next push starts.
    fn push(&mut self, ticks: u32, is_new: bool, is_on_time: bool) -> Vector2<f64> {
        let (push, ticks) = ((ticks / PERIOD) as usize, ticks % PERIOD);
        if push >= PUSHES {
            self.is_done = true;
            return Vector2::zeros();
        }
        if ticks <= PUSH {
            self.counts[push] = is_on_time && (is_new || self.counts[push]);
        }
        let mut force_n = Vector2::zeros();
        for motor in 0..MAX_AXES {
            if is_new {
                self.pushing[motor] = self.start(motor, push);
            }
            let Push { direction, start, velocity_m } = &self.pushing[motor];
            if ticks <= PUSH && self.deviations_m[motor][push].abs() < self.enough_m(motor) {
                self.deviations_m[motor][push] = direction.dot(&self.newest.deviation_m(start, *velocity_m));
                force_n += direction * NUDGE_N;
            }
        }
        if ticks < PUSH && self.counts[push] { force_n } else { Vector2::zeros() }
    }

    fn start(&self, motor: usize, push: usize) -> Push {
        let direction = self.motors.direction(motor, self.newest.position_m).unwrap_or_else(Vector2::zeros);
        Push {
            direction: direction * self.motors.pattern(motor, push),
            start: self.newest,
            velocity_m: self.newest.velocity_since(&self.knots[SPEED_KNOTS]),
        }
    }

    /// Returns the sign of a motor. Nearly all of its pushes must say the same; if the handle cannot move to one side, for
    /// example at its stop, large deviations to the other side are enough.
    fn sign(&self, motor: usize) -> Sign {
        match (self.shows(motor, 1.0), self.shows(motor, -1.0)) {
            (true, false) => Sign::Right,
            (false, true) => Sign::Reversed,
            _ => Sign::Unknown,
        }
    }

    /// Whether the pushes of a motor moved the handle along them, or against them if `sign` is −1.
    fn shows(&self, motor: usize, sign: f64) -> bool {
        let (min_m, enough_m) = (self.motors.min_deviation_m(), self.enough_m(motor));
        let is_disturbed = |push: usize| self.motors.linkage.is_some() && push == DISTURBED_PUSH;
        let pushes = (0..PUSHES).filter(|push| self.counts[*push] && !is_disturbed(*push)).map(|push| {
            let deviation_m = (sign * self.deviations_m[motor][push]).min(enough_m);
            (self.motors.pattern(motor, push), deviation_m)
        });
        let (mut sums_m, mut numbers) = ([0.0; 2], [0_u32; 2]);
        let (mut least_m, mut clear, mut large) = (f64::INFINITY, 0, 0);
        for (direction, deviation_m) in pushes.filter(|(direction, _)| *direction != 0.0) {
            let side = usize::from(direction < 0.0);
            sums_m[side] += deviation_m;
            numbers[side] += 1;
            least_m = deviation_m.min(least_m);
            clear += u32::from(deviation_m >= min_m);
            large += u32::from(deviation_m >= enough_m);
        }
        if numbers.contains(&0) {
            return false;
        }
        // Motion of the hand cancels only between pushes in both directions.
        let mean_m = (sums_m[0] / f64::from(numbers[0]) + sums_m[1] / f64::from(numbers[1])) / 2.0;
        let number = numbers[0] + numbers[1];
        let agrees = least_m > -0.5 * mean_m && (4 * clear >= 3 * number || 2 * large >= number);
        agrees && mean_m >= MEAN_PER_MOTION * self.motion_along(motor)
    }

    /// Deviation at which a push of a motor ends early, m. It leaves room for the motion of the hand, which must cancel
    /// in the mean.
    fn enough_m(&self, motor: usize) -> f64 {
        ENOUGH_M.max(ENOUGH * self.motors.min_deviation_m()).max(ENOUGH_PER_MOTION * self.motion_along(motor))
    }

    /// Returns the motion of the hand that disturbs a motor, m.
    fn motion_along(&self, motor: usize) -> f64 {
        if self.motors.linkage.is_some() { self.motion_m.norm() } else { self.motion_m[motor] }
    }
}
