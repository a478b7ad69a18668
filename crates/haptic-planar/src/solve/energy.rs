//! The energy balance: stored energy, work of the hand and losses.
//!
//! In every tick, the stored energy must satisfy ΔE ≤ f·Δx_d − losses, where f is the coupling force on the tool and
//! Δx_d the displacement of the hand. A rise of (stored energy − work of the hand) is a gain that the balance cannot
//! explain.

use serde::Serialize;

/// Energy balance of a world, J, updated in every tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyBalance {
    /// Kinetic energy of all bodies now.
    pub kinetic_j: f64,
    /// Potential energy of all bodies now, relative to the initial positions of their shape frames.
    pub potential_j: f64,
    /// Energy stored in the coupling now.
    pub coupling_j: f64,
    /// Work done by the hand since the start.
    #[serde(rename = "work_j")]
    pub work_in_j: f64,
    /// Energy lost to friction since the start.
    pub friction_j: f64,
    /// Energy lost in impacts since the start.
    #[serde(rename = "impacts_j")]
    pub impact_j: f64,
    /// Energy lost in the dampers of the coupling since the start.
    pub damping_j: f64,
    /// Largest rise of (stored energy − work of the hand) above its lowest earlier value, which is the largest energy
    /// gain so far.
    pub gain_max_j: f64,
    /// Lowest value of (stored energy − work of the hand) so far, from which gains are measured.
    #[serde(skip)]
    pub(crate) lowest_j: f64,
}

impl Default for EnergyBalance {
    /// Returns an empty balance; the first tick sets the level from which gains are measured.
    fn default() -> Self {
        Self {
            kinetic_j: 0.0,
            potential_j: 0.0,
            coupling_j: 0.0,
            work_in_j: 0.0,
            friction_j: 0.0,
            impact_j: 0.0,
            damping_j: 0.0,
            gain_max_j: 0.0,
            lowest_j: f64::INFINITY,
        }
    }
}

impl EnergyBalance {
    /// Returns the energy stored now: kinetic, potential and coupling, J.
    pub fn stored_j(&self) -> f64 {
        self.kinetic_j + self.potential_j + self.coupling_j
    }

    /// Accounts for energy that was added deliberately and not by the hand, such as by a change of gains, so that it
    /// does not count as a gain. Real-time: constant.
    pub fn explain(&mut self, joules: f64) {
        self.lowest_j += joules;
    }

    /// Restarts the measurement of gains: later gains are measured from the next tick. The largest gain so far is kept.
    /// Real-time: constant.
    pub fn restart_gain(&mut self) {
        self.lowest_j = f64::INFINITY;
    }

    /// Sets the stored energies, adds the work of the hand in this tick and updates the largest gain. Real-time:
    /// constant.
    pub(crate) fn update(&mut self, kinetic_j: f64, potential_j: f64, coupling_j: f64, work_j: f64) {
        self.kinetic_j = kinetic_j;
        self.potential_j = potential_j;
        self.coupling_j = coupling_j;
        self.work_in_j += work_j;
        let unexplained = self.stored_j() - self.work_in_j;
        // Plain comparisons: a maximum that handles NaN costs three times as much.
        if unexplained - self.lowest_j > self.gain_max_j {
            self.gain_max_j = unexplained - self.lowest_j;
        }
        if unexplained < self.lowest_j {
            self.lowest_j = unexplained;
        }
    }
}
