//! Energy tank: the device never delivers more energy to the hand than the world stores and the hand has put in.
//!
//! S_k = min(S_{k−1} − f_{k−1}·Δx_k + (b/T)|Δx_k|², E + S_res) is the tank level when the hand is read at tick k. f is
//! the force on the hand, held over the period, so f·Δx is exactly the energy that left. At least (b/T)|Δx|² of it was
//! dissipated by the device's own damping, whatever path the hand took between the two readings. E is the energy that
//! the world still stores. Energy that the world has dissipated must not be delivered again, hence the minimum.
//!
//! With |f_k| ≤ √(4bS_k/T) the next change is at least −|f||Δx| + (b/T)|Δx|² ≥ −f²T/(4b) ≥ −S_k: the level never falls
//! below zero, for any hand. A spring of stiffness up to 2b/T stores just enough energy for its own force, so it is
//! never limited. A stiffer one is displayed as 2b/T.
//!
//! Gravitational potential energy is a large reserve that is unrelated to the hand: with S alone, a heap on a shelf
//! could feed a limit cycle for a long time. A second level, N, therefore excludes it. Potential energy that the world
//! loses is added to N, potential energy that it gains is subtracted, and N is capped at the kinetic and elastic
//! energy. Forces beyond the weight that the hand carries must be covered by N as well. A carried weight is exempt: a
//! constant force, held between samples, delivers exactly the potential energy that is lost. N does not weaken the
//! guarantee, which S alone provides.
//!
//! The proof requires the force to act at the instant of the reading. A delay is accounted for by counting less
//! damping.

mod checkpoint;

use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Energy in the tank in addition to the energy stored in the world, J. It covers errors from rounding and from the
/// warm start of the contact solver (up to 9e-6 J observed). 50 mJ would be enough to sustain a limit cycle.
pub const RESERVE_J: f64 = 1e-4;

/// Treatment of a force that the energy in the tank does not cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passivity {
    /// Scales the force down.
    #[default]
    Tank,
    /// Passes the force but updates the level, which may then fall below zero.
    Observer,
    /// Disables the tank.
    Off,
}

impl Passivity {
    /// All modes with their names in profiles and messages.
    pub const NAMES: [(&'static str, Self); 3] =
        [("tank", Self::Tank), ("observer", Self::Observer), ("off", Self::Off)];
}

/// Settings of the tank, device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TankSettings {
    /// Treatment of forces that the energy does not cover.
    pub passivity: Passivity,
    /// Lower bound on the device's damping, N·s/m. With no damping, the tank admits no force.
    pub damping_n_s_per_m: f64,
    /// Service period of the device, s.
    pub period_s: f64,
    /// Delay from the reading until the force acts, beyond the period, s.
    pub delay_s: f64,
    /// Reserve, J; see [`RESERVE_J`].
    pub reserve_j: f64,
}

impl TankSettings {
    /// Returns the damping that the tank may rely on, N·s/m: b scaled by (T/2)/(T/2 + t_d).
    fn counted_damping_n_s_per_m(&self) -> f64 {
        let half_s = self.period_s / 2.0;
        self.damping_n_s_per_m * half_s / (half_s + self.delay_s)
    }
}

/// Energy that the world could deliver to the hand, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredEnergy {
    /// All stored energy, J; heights are measured from the lowest positions that the bodies could reach.
    pub total_j: f64,
    /// Gravitational potential part of `total_j`, J.
    pub height_j: f64,
}

/// Time integral of the force sent since the last reading. It gives the mean force over a gap in the readings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    impulse_n_s: Vector2<f64>,
    elapsed_s: f64,
    force_n: Vector2<f64>,
}

impl Held {
    const NOTHING: Self = Self { impulse_n_s: Vector2::new(0.0, 0.0), elapsed_s: 0.0, force_n: Vector2::new(0.0, 0.0) };
}

/// Energy tank between the device and the hand. All quantities are in the device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tank {
    passivity: Passivity,
    /// Damping b that the tank relies on, N·s/m.
    damping_n_s_per_m: f64,
    period_s: f64,
    reserve_j: f64,
    /// Tank level S, J.
    level_j: f64,
    lowest_j: f64,
    /// Level N without gravitational potential energy, J.
    non_gravity_j: f64,
    /// Gravitational potential energy at the last update, J.
    height_j: f64,
    /// Hand position at the last reading, m; `None` before the first.
    position_m: Option<Vector2<f64>>,
    held: Held,
}

impl Tank {
    /// Creates a tank that holds the energy of the world at the start, plus the reserve.
    pub fn new(settings: &TankSettings, stored: StoredEnergy) -> Self {
        let mut tank = Self {
            passivity: settings.passivity,
            damping_n_s_per_m: settings.counted_damping_n_s_per_m(),
            period_s: settings.period_s,
            reserve_j: settings.reserve_j,
            level_j: 0.0,
            lowest_j: 0.0,
            non_gravity_j: 0.0,
            height_j: 0.0,
            position_m: None,
            held: Held::NOTHING,
        };
        tank.refill(stored);
        tank
    }

    /// Resets the tank for a new world, with no force acting.
    pub fn refill(&mut self, stored: StoredEnergy) {
        self.level_j = self.cap_j(stored.total_j);
        self.lowest_j = self.level_j;
        self.non_gravity_j = self.cap_j(stored.total_j - stored.height_j);
        self.height_j = stored.height_j;
        self.position_m = None;
        self.held = Held::NOTHING;
    }

    /// Applies new settings, keeping the levels. Real-time: constant.
    pub fn set_limits(&mut self, settings: &TankSettings) {
        self.passivity = settings.passivity;
        self.damping_n_s_per_m = settings.counted_damping_n_s_per_m();
        self.period_s = settings.period_s;
        self.reserve_j = settings.reserve_j;
    }

    /// Updates the levels with the energy exchanged by the last force. The hand is now at `position_m`, and `elapsed_s`
    /// have passed since the last call. `stored` is the energy that the world could still deliver. An untrusted
    /// reading, such as a jump, may lower a level but never raises it. Returns the displacement of the hand since the
    /// last reading, m. Real-time: constant.
    pub fn observe(
        &mut self,
        position_m: Vector2<f64>,
        elapsed_s: f64,
        stored: StoredEnergy,
        is_trusted: bool,
    ) -> Vector2<f64> {
        self.skip_reading(elapsed_s);
        let moved_m = position_m - self.position_m.replace(position_m).unwrap_or(position_m);
        let change_j = self.exchange_j(moved_m);
        self.update_energy(if is_trusted { change_j } else { change_j.min(0.0) }, stored);
        moved_m
    }

    /// Records that `elapsed_s` passed without a new reading. The force continues to act, and the next reading accounts
    /// for it. Real-time: constant.
    pub fn skip_reading(&mut self, elapsed_s: f64) {
        self.held.impulse_n_s += self.held.force_n * elapsed_s;
        self.held.elapsed_s += elapsed_s;
    }

    /// Returns the part of a force that the energy covers and stores it as the acting force. `load_n` is the weight of
    /// the tool: the force is first reduced towards the part of the weight that the hand carries, then towards zero.
    /// Real-time: constant.
    pub fn admit(&mut self, force_n: Vector2<f64>, load_n: Vector2<f64>) -> Vector2<f64> {
        let carried_n = project_onto_segment(load_n, force_n);
        let excess_n = force_n - carried_n;
        let (near_squared, level_squared) = (self.limit_squared(self.non_gravity_j), self.limit_squared(self.level_j));
        let is_paid = excess_n.norm_squared() <= near_squared && force_n.norm_squared() <= level_squared;
        self.held.force_n = if is_paid {
            force_n
        } else {
            let nearly_n = carried_n + clamp_norm(excess_n, near_squared.sqrt());
            clamp_norm(nearly_n, level_squared.sqrt())
        };
        self.held.force_n
    }

    /// Returns the force that the device applies now, N.
    pub fn acting_force_n(&self) -> Vector2<f64> {
        self.held.force_n
    }

    /// Sets the force that the device still applies because the last admitted force was not written. Real-time:
    /// constant.
    pub fn hold(&mut self, force_n: Vector2<f64>) {
        self.held.force_n = force_n;
    }

    /// Returns the square of the largest force that an energy covers, N²; callers take the root only where needed.
    /// During a gap in the readings, the force must be covered for longer.
    fn limit_squared(&self, energy_j: f64) -> f64 {
        match self.passivity {
            Passivity::Tank => {
                let lasting_s = self.held.elapsed_s + self.period_s;
                4.0 * self.damping_n_s_per_m * larger(energy_j, 0.0) / lasting_s
            }
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    fn price_of_force_j(&self, force_n: f64) -> f64 {
        force_n * force_n * self.period_s / (4.0 * self.damping_n_s_per_m)
    }

    /// Returns the energy available beyond the energy needed for the acting force, J.
    pub fn available_j(&self) -> f64 {
        match self.passivity {
            Passivity::Tank => {
                let needed_j = self.price_of_force_j(self.held.force_n.norm());
                (self.level_j.min(self.non_gravity_j) - needed_j).max(0.0)
            }
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    /// Adds energy that the world received without work of the hand while the force engaged, J, zero or more. The levels
    /// stay limited to the energy that the world stores. Real-time: constant.
    pub fn deposit(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            self.set_levels(self.level_j + energy_j, self.non_gravity_j + energy_j);
        }
    }

    /// Withdraws energy for a purpose other than a force, such as a stiffer spring. Real-time: constant.
    pub fn draw(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            self.set_levels(self.level_j - energy_j, self.non_gravity_j - energy_j);
        }
    }

    /// Resets N to the kinetic and elastic energy. While the hand receives only part of the force, it lifts the tool
    /// and stretches the spring without doing the full work. That deficit would suppress the force of every wall, and a
    /// hand that feels no force cannot make up for it. Real-time: constant.
    pub fn reset_near(&mut self, stored: StoredEnergy) {
        self.non_gravity_j = self.cap_j(stored.total_j - stored.height_j);
    }

    /// Returns the tank level, J; zero when passivity is off.
    pub fn level_j(&self) -> f64 {
        self.level_j
    }

    /// Returns the lowest level since the last refill, J. A level below zero means that the observer has detected an
    /// active device.
    pub fn lowest_j(&self) -> f64 {
        self.lowest_j
    }

    fn cap_j(&self, stored_j: f64) -> f64 {
        if self.passivity == Passivity::Off { 0.0 } else { larger(stored_j, 0.0) + self.reserve_j }
    }

    /// Returns the energy gained since the last reading, J: work of the hand against the force, plus dissipation in the
    /// device.
    fn exchange_j(&self, moved_m: Vector2<f64>) -> f64 {
        let lasted_s = larger(self.held.elapsed_s, self.period_s);
        (self.damping_n_s_per_m * moved_m.norm_squared() - self.held.impulse_n_s.dot(&moved_m)) / lasted_s
    }

    fn update_energy(&mut self, change_j: f64, stored: StoredEnergy) {
        self.held = Held { force_n: self.held.force_n, ..Held::NOTHING };
        let fallen_j = self.height_j - stored.height_j;
        self.height_j = stored.height_j;
        let level_j = smaller(self.level_j + change_j, self.cap_j(stored.total_j));
        let non_gravity_j =
            smaller(self.non_gravity_j + change_j + fallen_j, self.cap_j(stored.total_j - stored.height_j));
        self.set_levels(level_j, non_gravity_j);
    }

    fn set_levels(&mut self, level_j: f64, non_gravity_j: f64) {
        (self.level_j, self.non_gravity_j) =
            if self.passivity == Passivity::Off { (0.0, 0.0) } else { (level_j, non_gravity_j) };
        self.lowest_j = smaller(self.lowest_j, self.level_j);
    }
}

/// Returns the larger of two numbers, or the second if the first is NaN, in one instruction; `f64::max` takes five.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the smaller of two numbers, or the second if the first is NaN, in one instruction.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Returns the point of the segment from zero to `end` that is nearest to `point`. Real-time: constant.
pub fn project_onto_segment(end: Vector2<f64>, point: Vector2<f64>) -> Vector2<f64> {
    let (along, length_squared) = (point.dot(&end), end.norm_squared());
    if along >= length_squared {
        end
    } else if along > 0.0 {
        end * (along / length_squared)
    } else {
        Vector2::zeros()
    }
}

/// Limits the length of a vector to `longest`, keeping its direction. Real-time: constant.
pub fn clamp_norm(vector: Vector2<f64>, longest: f64) -> Vector2<f64> {
    let length_squared = vector.norm_squared();
    if length_squared <= longest * longest { vector } else { vector * (longest / length_squared.sqrt()) }
}

#[cfg(test)]
mod tests;
