//! The energy tank: the device never gives the hand more energy than the world has and the hand has paid for.
//!
//! S_k = min(S_{k−1} − f_{k−1}·Δx_k + (b/T)|Δx_k|², E + S_res) is the energy on account when the hand is read at tick k:
//! f is the force on the hand, held over the period, so f·Δx is exactly the energy that left, and at least (b/T)|Δx|²
//! of it was eaten by the device's own damping, whatever path the hand took between the two readings. E is what the
//! world still stores; energy that the world dissipated must not be given back, hence the minimum.
//!
//! With |f_k| ≤ √(4bS_k/T) the next change is at least −|f||Δx| + (b/T)|Δx|² ≥ −f²T/(4b) ≥ −S_k: the account never goes
//! below zero for any hand. A spring of stiffness up to 2b/T has stored just enough to pay for its own force, so it is
//! never cut; a stiffer one is felt as 2b/T.
//!
//! Energy of height is a large reserve that has nothing to do with the hand: with S alone, a heap on a shelf could feed a
//! limit cycle for a long while. So there is a second account, N = S without it: what the world gives up in height is
//! paid in, what it gains is paid out, and the cap is what moves and what is stretched. Forces beyond the weight that
//! the hand carries must be paid for by N as well. A carried weight needs no paying: a constant force, held between
//! samples, gives exactly what the height loses. N makes nothing less safe, S alone is the guarantee.
//!
//! The proof wants the force to act at the instant of the reading. A later one is answered by counting less damping.

mod checkpoint;

use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Energy on account beyond what the world stores, J. It covers the rounding and the warm start of the contact solver
/// (9e-6 J were seen); at 50 mJ a limit cycle lives on it.
pub const RESERVE_J: f64 = 1e-4;

/// What the tank does about a force that cannot be paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passivity {
    /// Scales it down.
    #[default]
    Tank,
    /// Lets it pass and keeps the account, which may then go below zero.
    Observer,
    /// Keeps no account.
    Off,
}

impl Passivity {
    /// All of them, by the names in profiles and messages.
    pub const NAMES: [(&'static str, Self); 3] =
        [("tank", Self::Tank), ("observer", Self::Observer), ("off", Self::Off)];
}

/// What the tank knows of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TankSettings {
    /// What to do about unpaid forces.
    pub passivity: Passivity,
    /// Lower bound of the device's damping, N·s/m. Without damping nothing can be paid, and no force passes.
    pub damping_n_s_per_m: f64,
    /// How often the device is served, s.
    pub period_s: f64,
    /// From the reading to the force acting, beyond the period, s.
    pub delay_s: f64,
    /// See [`RESERVE_J`].
    pub reserve_j: f64,
}

impl TankSettings {
    /// The damping that the account may count on: b scaled by (T/2)/(T/2 + t_d).
    fn counted_damping_n_s_per_m(&self) -> f64 {
        let half_s = self.period_s / 2.0;
        self.damping_n_s_per_m * half_s / (half_s + self.delay_s)
    }
}

/// What the world could give the hand, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredEnergy {
    /// Everything it stores, height counted from the lowest places.
    pub total_j: f64,
    /// The part of it that is height.
    pub height_j: f64,
}

/// Force times time of what was sent since the last reading, to know the mean force over a gap in the readings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    impulse_n_s: Vector2<f64>,
    elapsed_s: f64,
    force_n: Vector2<f64>,
}

impl Held {
    const NOTHING: Self = Self { impulse_n_s: Vector2::new(0.0, 0.0), elapsed_s: 0.0, force_n: Vector2::new(0.0, 0.0) };
}

/// The account between the device and the hand. Everything is in the device's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tank {
    passivity: Passivity,
    /// b as counted, N·s/m.
    damping_n_s_per_m: f64,
    period_s: f64,
    reserve_j: f64,
    /// S, J.
    level_j: f64,
    lowest_j: f64,
    /// N, J.
    non_gravity_j: f64,
    /// Energy of height at the last booking, J.
    height_j: f64,
    /// Hand at the last reading, m; none before the first.
    position_m: Option<Vector2<f64>>,
    held: Held,
}

impl Tank {
    /// A tank that holds what the world stores at its start, plus the reserve.
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

    /// Starts the account anew for a world that was put in place of the old one, with no force acting.
    pub fn refill(&mut self, stored: StoredEnergy) {
        self.level_j = self.cap_j(stored.total_j);
        self.lowest_j = self.level_j;
        self.non_gravity_j = self.cap_j(stored.total_j - stored.height_j);
        self.height_j = stored.height_j;
        self.position_m = None;
        self.held = Held::NOTHING;
    }

    /// Takes other settings for the same account. Real-time: constant.
    pub fn set_limits(&mut self, settings: &TankSettings) {
        self.passivity = settings.passivity;
        self.damping_n_s_per_m = settings.counted_damping_n_s_per_m();
        self.period_s = settings.period_s;
        self.reserve_j = settings.reserve_j;
    }

    /// Books what the last force did, the hand now being at `position_m` and `elapsed_s` having passed since the last
    /// call. `stored` is what the world could still deliver. A reading that cannot be trusted, such as a jump, may cost
    /// but earns nothing. Returns how far the hand moved since the last reading, m. Real-time: constant.
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

    /// `elapsed_s` went by without a new reading: the force goes on, unbooked until the next one. Real-time: constant.
    pub fn skip_reading(&mut self, elapsed_s: f64) {
        self.held.impulse_n_s += self.held.force_n * elapsed_s;
        self.held.elapsed_s += elapsed_s;
    }

    /// The part of a force that can be paid for; it is remembered as what the device now gives. `load_n` is the weight
    /// of the tool: the force is cut towards the part of it that the hand carries, and then towards zero.
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

    /// The force that the device gives now, N.
    pub fn acting_force_n(&self) -> Vector2<f64> {
        self.held.force_n
    }

    /// The device still gives this force, whatever was admitted: the last one did not go out. Real-time: constant.
    pub fn hold(&mut self, force_n: Vector2<f64>) {
        self.held.force_n = force_n;
    }

    /// The square of the largest force that so much energy can pay for, N²; the root is taken only where it is needed.
    /// Over a gap in the readings the force has to last longer.
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

    /// What is on account beyond what the present force needs, J.
    pub fn available_j(&self) -> f64 {
        match self.passivity {
            Passivity::Tank => {
                let needed_j = self.price_of_force_j(self.held.force_n.norm());
                (self.level_j.min(self.non_gravity_j) - needed_j).max(0.0)
            }
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    /// Pays for something other than a force, such as a stiffer spring. Real-time: constant.
    pub fn draw(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            self.set_levels(self.level_j - energy_j, self.non_gravity_j - energy_j);
        }
    }

    /// Starts N anew, from what moves and what is stretched. While the hand gets only part of the force, it lifts a tool
    /// and stretches a spring that it does not pay for; that debt would silence every wall, and a hand that feels no force
    /// pays nothing back. Real-time: constant.
    pub fn reset_near(&mut self, stored: StoredEnergy) {
        self.non_gravity_j = self.cap_j(stored.total_j - stored.height_j);
    }

    /// The energy on account, J; zero if no account is kept.
    pub fn level_j(&self) -> f64 {
        self.level_j
    }

    /// The least that was ever on account since the last refill, J; below zero, the observer saw an active device.
    pub fn lowest_j(&self) -> f64 {
        self.lowest_j
    }

    fn cap_j(&self, stored_j: f64) -> f64 {
        if self.passivity == Passivity::Off { 0.0 } else { larger(stored_j, 0.0) + self.reserve_j }
    }

    /// Energy that came in since the last reading, J: work of the hand against the force, and what the device ate.
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

/// The larger of two numbers, or the second if the first is none, in one instruction; `f64::max` takes five.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, or the second if the first is none, likewise.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The point of the segment from zero to `end` that is nearest to `point`. Real-time: constant.
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

/// A vector no longer than `longest`, direction kept. Real-time: constant.
pub fn clamp_norm(vector: Vector2<f64>, longest: f64) -> Vector2<f64> {
    let length_squared = vector.norm_squared();
    if length_squared <= longest * longest { vector } else { vector * (longest / length_squared.sqrt()) }
}

#[cfg(test)]
mod tests;
