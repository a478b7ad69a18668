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
//! The proof wants the force to act at the instant of the reading. A later one is answered by counting less damping.

use nalgebra::Vector2;

/// Energy on account beyond what the world stores, J. It covers the rounding and the warm start of the contact solver
/// (9e-6 J were seen); at 50 mJ a limit cycle lives on it.
pub const RESERVE_J: f64 = 1e-4;

/// What the tank does about a force that cannot be paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passivity {
    /// Scales it down.
    #[default]
    Tank,
    /// Lets it pass and keeps the account, which may then go below zero.
    Observer,
    /// Keeps no account.
    Off,
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

/// Force times time of what was sent since the last reading, to know the mean force over a gap in the readings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    impulse_n_s: Vector2<f64>,
    elapsed_s: f64,
    force_n: Vector2<f64>,
}

impl Held {
    const NOTHING: Self = Self { impulse_n_s: Vector2::new(0.0, 0.0), elapsed_s: 0.0, force_n: Vector2::new(0.0, 0.0) };

    fn mean_force_n(&self) -> Vector2<f64> {
        if self.elapsed_s > 0.0 { self.impulse_n_s / self.elapsed_s } else { Vector2::zeros() }
    }
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
    /// Hand at the last reading, m; none before the first.
    position_m: Option<Vector2<f64>>,
    held: Held,
}

impl Tank {
    /// A tank that holds what the world stores at its start, plus the reserve.
    pub fn new(settings: &TankSettings, stored_j: f64) -> Self {
        let mut tank = Self {
            passivity: settings.passivity,
            damping_n_s_per_m: settings.counted_damping_n_s_per_m(),
            period_s: settings.period_s,
            reserve_j: settings.reserve_j,
            level_j: 0.0,
            lowest_j: 0.0,
            position_m: None,
            held: Held::NOTHING,
        };
        tank.refill(stored_j);
        tank
    }

    /// Starts the account anew for a world that was put in place of the old one, with no force acting.
    pub fn refill(&mut self, stored_j: f64) {
        self.level_j = self.cap_j(stored_j);
        self.lowest_j = self.level_j;
        self.position_m = None;
        self.held = Held::NOTHING;
    }

    /// Takes other settings for the same account. Real-time: constant.
    pub fn resettle(&mut self, settings: &TankSettings) {
        self.passivity = settings.passivity;
        self.damping_n_s_per_m = settings.counted_damping_n_s_per_m();
        self.period_s = settings.period_s;
        self.reserve_j = settings.reserve_j;
    }

    /// Books what the last force did, `elapsed_s` having passed since the last call. `position_m` is a new reading of
    /// the hand, or none if this tick brought none: then the force goes on unbooked until the next one. `stored_j` is
    /// what the world could still deliver. Real-time: constant.
    pub fn observe(&mut self, position_m: Option<Vector2<f64>>, elapsed_s: f64, stored_j: f64) {
        self.let_pass(elapsed_s);
        if let Some(position_m) = position_m {
            let change_j = self.exchange_j(position_m);
            self.book(position_m, change_j, stored_j);
        }
    }

    /// Books a reading that cannot be trusted, such as a jump: it may cost, but it earns nothing. Real-time: constant.
    pub fn distrust(&mut self, position_m: Vector2<f64>, elapsed_s: f64, stored_j: f64) {
        self.let_pass(elapsed_s);
        let change_j = self.exchange_j(position_m).min(0.0);
        self.book(position_m, change_j, stored_j);
    }

    /// The part of a force that can be paid for, direction kept; it is remembered as what the device now gives.
    /// `ready_j` is what the world could deliver at once: a further limit that keeps energy which is stored far from
    /// the hand (a heap on a shelf) from feeding a limit cycle; infinity for none. Real-time: constant.
    pub fn admit(&mut self, force_n: Vector2<f64>, ready_j: f64) -> Vector2<f64> {
        let limit_n = self.limit_n(ready_j);
        let norm_n = force_n.norm();
        let admitted_n = if norm_n <= limit_n { force_n } else { force_n * (limit_n / norm_n) };
        self.held.force_n = admitted_n;
        admitted_n
    }

    /// The force that the device gives now, N.
    pub fn held_n(&self) -> Vector2<f64> {
        self.held.force_n
    }

    /// The device still gives this force, whatever was admitted: the last one did not go out. Real-time: constant.
    pub fn hold(&mut self, force_n: Vector2<f64>) {
        self.held.force_n = force_n;
    }

    /// The largest force that can be paid for now, N. Over a gap in the readings the force has to last longer.
    pub fn limit_n(&self, ready_j: f64) -> f64 {
        match self.passivity {
            Passivity::Tank => {
                let lasting_s = self.held.elapsed_s + self.period_s;
                let payable_j = self.level_j.min(ready_j + self.reserve_j).max(0.0);
                (4.0 * self.damping_n_s_per_m * payable_j / lasting_s).sqrt()
            }
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    /// Energy that a static load needs on account to be felt in full, J.
    pub fn price_of_force_j(&self, force_n: f64) -> f64 {
        force_n * force_n * self.period_s / (4.0 * self.damping_n_s_per_m)
    }

    /// What is on account beyond what the present force needs, J.
    pub fn surplus_j(&self) -> f64 {
        match self.passivity {
            Passivity::Tank => (self.level_j - self.price_of_force_j(self.held.force_n.norm())).max(0.0),
            Passivity::Observer | Passivity::Off => f64::INFINITY,
        }
    }

    /// Pays for something other than a force, such as a stiffer spring. Real-time: constant.
    pub fn draw(&mut self, energy_j: f64) {
        if self.passivity != Passivity::Off {
            self.settle(self.level_j - energy_j);
        }
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
        if self.passivity == Passivity::Off { 0.0 } else { stored_j.max(0.0) + self.reserve_j }
    }

    fn let_pass(&mut self, elapsed_s: f64) {
        self.held.impulse_n_s += self.held.force_n * elapsed_s;
        self.held.elapsed_s += elapsed_s;
    }

    /// Energy that came in since the last reading, J: work of the hand against the force, and what the device ate.
    fn exchange_j(&self, position_m: Vector2<f64>) -> f64 {
        let moved_m = position_m - self.position_m.unwrap_or(position_m);
        let eaten_j = self.damping_n_s_per_m / self.held.elapsed_s.max(self.period_s) * moved_m.norm_squared();
        eaten_j - self.held.mean_force_n().dot(&moved_m)
    }

    fn book(&mut self, position_m: Vector2<f64>, change_j: f64, stored_j: f64) {
        self.position_m = Some(position_m);
        self.held = Held { force_n: self.held.force_n, ..Held::NOTHING };
        self.settle((self.level_j + change_j).min(self.cap_j(stored_j)));
    }

    fn settle(&mut self, level_j: f64) {
        self.level_j = if self.passivity == Passivity::Off { 0.0 } else { level_j };
        self.lowest_j = self.lowest_j.min(self.level_j);
    }
}

#[cfg(test)]
mod tests;
