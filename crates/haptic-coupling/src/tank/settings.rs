//! Settings of the tank, and the energy that it is given.

use super::account::AccountSettings;
use super::larger;
use serde::{Deserialize, Serialize};

/// Smallest damping in the account, N·s/m. It only keeps the numbers finite: without damping, no force passes.
pub(super) const MIN_DAMPING_N_S_PER_M: f64 = 1e-6;

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
    /// Lower bound on the dry friction of each axis, N.
    pub coulomb_n: f64,
    /// Upper bound on the encoder step, m; zero for an ideal encoder.
    pub encoder_step_m: f64,
    /// Service period of the device, s.
    pub period_s: f64,
    /// Upper bound on the delay from the reading until the force acts, beyond the period, s. It may vary.
    pub delay_s: f64,
    /// Reserve, J; see [`super::RESERVE_J`].
    pub reserve_j: f64,
}

impl TankSettings {
    /// Returns the damping that N relies on, N·s/m: b scaled by (T/2)/(T/2 + t_d).
    pub(super) fn counted_damping_n_s_per_m(&self) -> f64 {
        let half_s = self.period_s / 2.0;
        self.damping_n_s_per_m * half_s / (half_s + self.delay_s)
    }

    pub(super) fn account(&self) -> AccountSettings {
        let damping_n_s_per_m = larger(self.damping_n_s_per_m, MIN_DAMPING_N_S_PER_M);
        AccountSettings::new(damping_n_s_per_m, self.coulomb_n, self.encoder_step_m)
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
