//! Excitation of one axis: forces that reveal its mass, friction and delay while keeping the handle near its start.
//!
//! The device is unknown, so the excitation adapts its forces. A ramp finds the breakaway force. Swings at several
//! speeds, some with a rest between pushes, adapt their force until a push has the intended duration. Short strong
//! pulses at the end show whether the motors deliver the requested force. A push ends before the handle can leave its
//! permitted range; the braking distance follows from the acceleration measured so far.

use crate::TICK_S;

/// Limits of the excitation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Maximum force, N.
    pub force_n: f64,
    /// Maximum distance of the handle from its start, m.
    pub reach_m: f64,
}

/// Reason why the excitation gave up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GaveUp {
    /// The handle moved without any force.
    MovesByItself {
        /// Distance moved, m; signed.
        distance_m: f64,
    },
    /// The maximum force did not move the handle.
    DoesNotMove {
        /// Largest force applied, N.
        force_n: f64,
    },
    /// The handle moved against the force.
    MovesBackwards {
        /// Force at which the handle moved, N.
        force_n: f64,
    },
}

/// Parameters of one series of swings.
#[derive(Clone, Copy, Debug)]
struct Swing {
    /// Speed at which a push ends, m/s.
    speed_m_per_s: f64,
    /// Intended duration of a push, ticks. The force adapts to it.
    push: u32,
    /// Ticks without force between pushes, during which only friction decelerates the handle.
    coast: u32,
    /// Total duration of the series, ticks.
    duration: u32,
}

const SWINGS: [Swing; 6] = [
    Swing { speed_m_per_s: 0.06, push: 30, coast: 0, duration: 1000 },
    Swing { speed_m_per_s: 0.08, push: 25, coast: 40, duration: 1000 },
    Swing { speed_m_per_s: 0.20, push: 40, coast: 0, duration: 1000 },
    Swing { speed_m_per_s: 0.20, push: 30, coast: 40, duration: 1000 },
    Swing { speed_m_per_s: 0.35, push: 50, coast: 0, duration: 1000 },
    Swing { speed_m_per_s: 0.12, push: 10, coast: 0, duration: 750 },
];

/// Rest before the first force, ticks.
const REST: u32 = 100;
/// Duration of the ramp from zero to the maximum force, ticks.
const RAMP: u32 = 3000;
/// Minimum distance that counts as motion, m.
const MOVED_M: f64 = 3e-5;
/// Minimum distance that counts as motion, in multiples of the smallest position change observed.
const MOVED_CHANGES: f64 = 3.0;
/// Force of each pulse, as a fraction of the maximum force.
const PULSES: [f64; 4] = [0.6, -0.6, 1.0, -1.0];
/// Intended maximum displacement during a pulse, m.
const PULSE_DISTANCE_M: f64 = 1.5e-3;
/// Maximum speed during a pulse, m/s.
const PULSE_SPEED_M_PER_S: f64 = 0.5;
/// Maximum duration of one push of a pulse, ticks.
const MAX_PULSE: u32 = 25;
/// Ticks after a pulse for the handle to return to its start.
const AFTER_PULSE: u32 = 80;
/// Maximum duration of homing, ticks.
const HOMING: u32 = 600;
/// Speed below which the handle is considered at rest, m/s.
const AT_REST_M_PER_S: f64 = 0.02;
/// Distance from the start below which the handle is considered home, as a fraction of the reach.
const AT_HOME: f64 = 0.15;
/// Natural frequency of the homing spring, rad/s; low enough to be stable with any delay worth measuring.
const HOMING_RATE: f64 = 15.0;
/// Age of the speed estimate plus the delay of a new force, s. The handle keeps moving during this time.
const LATENCY_S: f64 = 0.008;
/// Number of ticks over which the speed is estimated.
const SPEED_TICKS: usize = 4;
/// Minimum number of ticks for the force to rise from zero to its maximum. Firmware limits the slew rate of efforts;
/// the reference boards limit it to full scale in 4 ms. If a command changed faster, the acting force would differ from
/// it, and the fit would attribute the difference to friction and delay.
const CHANGE: f64 = 4.0;
/// Factor for raising or lowering the force of swings in one adaptation.
const ADAPT: f64 = 1.25;
/// Acceleration assumed before the first measurement, m/s²; low, so that the first pushes end early.
const FIRST_ACCELERATION: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Rest,
    Ramp,
    Swing(usize),
    Homing,
    Pulse(usize),
    Done,
}

/// Excitation of one axis, computed tick by tick.
#[derive(Clone, Debug)]
pub struct Excitation {
    bounds: Bounds,
    stage: Stage,
    /// Number of ticks in the current stage.
    ticks: u32,
    /// Number of ticks since the start of the excitation.
    total: u32,
    /// Recent positions, newest last, m.
    recent_m: [f64; SPEED_TICKS + 1],
    home_m: Option<f64>,
    smallest_change_m: f64,
    breakaway_n: f64,
    push: Push,
    gave_up: Option<GaveUp>,
}

/// State of the current push or coast.
#[derive(Clone, Copy, Debug)]
struct Push {
    /// Sign of the force, +1 or −1.
    direction: f64,
    force_n: f64,
    /// Number of ticks in this push, or in the coast after it.
    ticks: u32,
    /// Number of ticks after which the force increases if the push is still too slow.
    patience: u32,
    is_coasting: bool,
    speed_at_start: f64,
    /// Acceleration measured in recent pushes, m/s².
    acceleration: f64,
}

impl Excitation {
    /// Creates an excitation that starts with the first call to [`Self::next`].
    pub fn new(bounds: Bounds) -> Self {
        let push = Push {
            direction: 1.0,
            force_n: 0.0,
            ticks: 0,
            patience: SWINGS[0].push,
            is_coasting: false,
            speed_at_start: 0.0,
            acceleration: FIRST_ACCELERATION,
        };
        Self {
            bounds,
            stage: Stage::Rest,
            ticks: 0,
            total: 0,
            recent_m: [0.0; SPEED_TICKS + 1],
            home_m: None,
            smallest_change_m: f64::INFINITY,
            breakaway_n: 0.0,
            push,
            gave_up: None,
        }
    }

    /// Returns the maximum duration of an excitation, ticks.
    pub fn max_ticks() -> usize {
        let swings: u32 = SWINGS.iter().map(|swing| swing.duration).sum();
        let pulses = PULSES.len() as u32 * (4 * MAX_PULSE + AFTER_PULSE);
        (REST + RAMP + swings + HOMING + pulses + 10) as usize
    }

    /// Returns the progress, 0 to 1.
    pub fn fraction(&self) -> f64 {
        // Ramps usually end early, so progress is counted by stage.
        let swings: u32 = SWINGS.iter().map(|swing| swing.duration).sum();
        let before = match self.stage {
            Stage::Rest | Stage::Ramp => 0,
            Stage::Swing(index) => SWINGS[..index].iter().map(|swing| swing.duration).sum::<u32>() + self.ticks,
            Stage::Homing | Stage::Pulse(_) => swings,
            Stage::Done => return 1.0,
        };
        f64::from(before) / f64::from(swings + HOMING)
    }

    /// Returns the name of the current stage.
    pub fn doing(&self) -> &'static str {
        match self.stage {
            Stage::Rest => "resting",
            Stage::Ramp => "finding the force that moves it",
            Stage::Swing(_) => "swinging",
            Stage::Homing => "coming home",
            Stage::Pulse(_) => "trying the strongest forces",
            Stage::Done => "done",
        }
    }

    /// Whether all stages are done.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Returns the reason for an early end, if any.
    pub fn gave_up(&self) -> Option<GaveUp> {
        self.gave_up
    }

    /// Returns the force for this tick, N. The handle is at `position_m`, and the motor currently applies `acting_n`.
    /// Real-time: constant.
    pub fn next(&mut self, position_m: f64, acting_n: f64) -> f64 {
        let home_m = self.look(position_m);
        self.ticks += 1;
        self.total += 1;
        let force_n = match self.stage {
            Stage::Rest => self.rest(position_m - home_m),
            Stage::Ramp => self.ramp(position_m - home_m),
            Stage::Swing(index) => self.swing(index, position_m - home_m),
            Stage::Homing => self.come_home(position_m - home_m),
            Stage::Pulse(index) => self.pulse(index, position_m - home_m),
            Stage::Done => 0.0,
        };
        if self.is_done() { 0.0 } else { self.towards(force_n, acting_n) }
    }

    /// Returns the maximum change of the force in a tick, N.
    fn step_n(&self) -> f64 {
        self.bounds.force_n / CHANGE
    }

    /// Returns the number of ticks needed to change from zero to a force.
    fn ticks_to(&self, force_n: f64) -> u32 {
        (force_n / self.step_n()).round() as u32
    }

    /// Returns the next force between `acting_n` and `wanted_n`, within the force and slew limits, N.
    fn towards(&self, wanted_n: f64, acting_n: f64) -> f64 {
        let step_n = self.step_n();
        let wanted_n = wanted_n.clamp(-self.bounds.force_n, self.bounds.force_n);
        acting_n + (wanted_n - acting_n).clamp(-step_n, step_n)
    }

    /// Records a position and returns the start position, m.
    fn look(&mut self, position_m: f64) -> f64 {
        if self.home_m.is_none() {
            self.recent_m = [position_m; SPEED_TICKS + 1];
        }
        let change_m = (position_m - self.recent_m[SPEED_TICKS]).abs();
        if change_m > 1e-10 {
            self.smallest_change_m = self.smallest_change_m.min(change_m);
        }
        self.recent_m.rotate_left(1);
        self.recent_m[SPEED_TICKS] = position_m;
        *self.home_m.get_or_insert(position_m)
    }

    fn speed_m_per_s(&self) -> f64 {
        (self.recent_m[SPEED_TICKS] - self.recent_m[0]) / (SPEED_TICKS as f64 * TICK_S)
    }

    /// Whether a distance exceeds encoder noise.
    fn is_motion(&self, way_m: f64) -> bool {
        way_m.abs() >= MOVED_M && way_m.abs() > (MOVED_CHANGES - 0.5) * self.smallest_change_m
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.ticks) = (stage, 0);
    }

    fn give_up(&mut self, why: GaveUp) -> f64 {
        self.gave_up = Some(why);
        self.enter(Stage::Done);
        0.0
    }

    fn rest(&mut self, way_m: f64) -> f64 {
        if self.is_motion(way_m) {
            return self.give_up(GaveUp::MovesByItself { distance_m: way_m });
        }
        if self.ticks >= REST {
            self.enter(Stage::Ramp);
        }
        0.0
    }

    fn ramp(&mut self, way_m: f64) -> f64 {
        let force_n = self.bounds.force_n * f64::from(self.ticks) / f64::from(RAMP);
        if self.is_motion(way_m) {
            if way_m < 0.0 {
                return self.give_up(GaveUp::MovesBackwards { force_n });
            }
            self.breakaway_n = force_n;
            self.push.force_n = (1.5 * force_n).min(self.bounds.force_n);
            self.push.direction = -1.0;
            self.enter(Stage::Swing(0));
        } else if self.ticks >= RAMP {
            return self.give_up(GaveUp::DoesNotMove { force_n });
        }
        force_n
    }

    fn swing(&mut self, index: usize, way_m: f64) -> f64 {
        let swing = SWINGS[index];
        self.push.ticks += 1;
        if self.push.is_coasting {
            self.coast(&swing, way_m);
        } else {
            self.drive(&swing, way_m);
        }
        if self.ticks >= swing.duration {
            self.enter(if index + 1 < SWINGS.len() { Stage::Swing(index + 1) } else { Stage::Homing });
        }
        if self.push.is_coasting { 0.0 } else { self.push.direction * self.push.force_n }
    }

    fn drive(&mut self, swing: &Swing, way_m: f64) {
        let Push { direction, ticks, .. } = self.push;
        let speed = self.speed_m_per_s();
        let outwards = direction * way_m / self.bounds.reach_m;
        let wanted = swing.speed_m_per_s * (1.0 - 0.7 * outwards).clamp(0.3, 1.3);
        let is_fast = direction * speed >= wanted;
        if is_fast || self.must_turn(direction * way_m, direction * speed) {
            self.learn_from_push(swing, speed, is_fast);
            self.turn(swing);
        } else if ticks >= self.push.patience {
            self.strengthen();
            self.push.patience += swing.push;
        }
    }

    /// Whether the handle would leave its reach unless it brakes now.
    fn must_turn(&self, outwards_m: f64, speed: f64) -> bool {
        let speed = speed.max(0.0);
        let brakes_in_m = speed * speed / (2.0 * self.push.acceleration) + speed * LATENCY_S;
        speed > 0.0 && outwards_m + brakes_in_m >= self.bounds.reach_m
    }

    fn learn_from_push(&mut self, swing: &Swing, speed: f64, is_fast: bool) {
        let seconds = f64::from(self.push.ticks.max(1)) * TICK_S;
        let seen = (speed - self.push.speed_at_start).abs() / seconds;
        self.push.acceleration = (0.5 * (self.push.acceleration + seen)).max(FIRST_ACCELERATION / 2.0);
        if self.push.ticks < swing.push * 2 / 3 {
            self.push.force_n = (self.push.force_n / ADAPT).max(1.2 * self.breakaway_n).min(self.bounds.force_n);
        } else if is_fast && self.push.ticks > swing.push * 3 / 2 {
            self.strengthen();
        }
    }

    fn strengthen(&mut self) {
        self.push.force_n = (self.push.force_n * ADAPT).min(self.bounds.force_n);
    }

    fn turn(&mut self, swing: &Swing) {
        if swing.coast > 0 {
            (self.push.is_coasting, self.push.ticks) = (true, 0);
        } else {
            self.push_back(swing);
        }
    }

    fn push_back(&mut self, swing: &Swing) {
        self.push.direction = -self.push.direction;
        (self.push.is_coasting, self.push.ticks, self.push.patience) = (false, 0, 2 * swing.push);
        self.push.speed_at_start = self.speed_m_per_s();
    }

    fn coast(&mut self, swing: &Swing, way_m: f64) {
        let direction = self.push.direction;
        let must_turn = self.must_turn(direction * way_m, direction * self.speed_m_per_s());
        if must_turn || self.push.ticks >= swing.coast {
            self.push_back(swing);
        }
    }

    fn come_home(&mut self, way_m: f64) -> f64 {
        let is_home = self.speed_m_per_s().abs() < AT_REST_M_PER_S && way_m.abs() < AT_HOME * self.bounds.reach_m;
        if self.ticks >= HOMING || is_home {
            self.enter(Stage::Pulse(0));
        }
        self.homewards_n(way_m)
    }

    /// Returns the force of a soft spring and damper towards the start, N. It is scaled by the mass estimated from the
    /// pushes and never exceeds their force.
    fn homewards_n(&self, way_m: f64) -> f64 {
        let mass_kg = self.push.force_n / self.push.acceleration;
        let pull = HOMING_RATE * (HOMING_RATE * way_m + 2.0 * self.speed_m_per_s());
        (-mass_kg * pull).clamp(-self.push.force_n, self.push.force_n)
    }

    /// Returns the force of a pulse in this tick, N. A pulse consists of a push, a push of twice the duration in the
    /// opposite direction, and the first push again, so that the handle returns to its initial position and speed.
    fn pulse(&mut self, index: usize, way_m: f64) -> f64 {
        let Some(fraction) = PULSES.get(index) else {
            self.enter(Stage::Done);
            return 0.0;
        };
        let (strength_n, length) = self.pulse_size(fraction.abs() * self.bounds.force_n);
        let force_n = strength_n.copysign(*fraction);
        // A reversal changes the force by twice as much as the start and the end do, so it starts earlier by half its
        // duration.
        let early = (self.ticks_to(strength_n) / 2).min(length / 2);
        match self.ticks {
            tick if tick + early <= length || (3 * length < tick + early && tick <= 4 * length) => force_n,
            tick if tick + early <= 3 * length => -force_n,
            tick if tick < 4 * length + AFTER_PULSE => self.homewards_n(way_m),
            _ => {
                self.enter(Stage::Pulse(index + 1));
                0.0
            }
        }
    }

    /// Returns the force, N, and the duration, ticks, of one push of a pulse. The force is reduced if the requested one
    /// would make the handle too fast within a single tick.
    fn pulse_size(&self, requested_n: f64) -> (f64, u32) {
        let mass_kg = self.push.force_n / self.push.acceleration;
        let force_n = requested_n.min(mass_kg * PULSE_SPEED_M_PER_S / TICK_S);
        let acceleration = force_n / mass_kg;
        let seconds = (PULSE_DISTANCE_M / acceleration).sqrt().min(PULSE_SPEED_M_PER_S / acceleration);
        (force_n, ((seconds / TICK_S).round() as u32).clamp(1, MAX_PULSE))
    }
}
