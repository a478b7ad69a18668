//! The energy account of a world: what is stored, what the hand put in, where it went.

use serde::Serialize;

/// Energy stored and moved, all in joules since the start; the account is kept every tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyBalance {
    /// Kinetic energy of all bodies now.
    pub kinetic_j: f64,
    /// Potential energy of all bodies now, from their start.
    pub potential_j: f64,
    /// Energy stored in the coupling now.
    pub coupling_j: f64,
    /// Work that the hand has put in.
    #[serde(rename = "work_j")]
    pub work_in_j: f64,
    /// Lost to friction.
    pub friction_j: f64,
    /// Lost in impacts.
    #[serde(rename = "impacts_j")]
    pub impact_j: f64,
    /// Lost in the coupling's dampers, in rolling friction and in air drag.
    pub damping_j: f64,
    /// The largest rise of (stored − work in) over any earlier tick: the gain nothing explains.
    pub gain_max_j: f64,
    /// The lowest (stored − work in) so far, from which the next gain counts.
    #[serde(skip)]
    pub(crate) lowest_j: f64,
}

impl Default for EnergyBalance {
    /// An account without entries; the first tick sets what later gains count from.
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
    /// Energy stored now: kinetic, potential and coupling.
    pub fn stored_j(&self) -> f64 {
        self.kinetic_j + self.potential_j + self.coupling_j
    }

    /// Energy came in otherwise than through the hand and was paid for elsewhere: it counts as no gain. Real-time: constant.
    pub fn explain(&mut self, joules: f64) {
        self.lowest_j += joules;
    }

    /// Later gains count from the next tick: what lies between was not watched. Real-time: constant.
    pub fn restart_gain(&mut self) {
        self.lowest_j = f64::INFINITY;
    }

    /// Books the new stored energies and updates the largest unexplained gain. Real-time: constant.
    pub(crate) fn update(&mut self, kinetic_j: f64, potential_j: f64, coupling_j: f64, work_j: f64) {
        self.kinetic_j = kinetic_j;
        self.potential_j = potential_j;
        self.coupling_j = coupling_j;
        self.work_in_j += work_j;
        let unexplained = self.stored_j() - self.work_in_j;
        self.gain_max_j = self.gain_max_j.max(unexplained - self.lowest_j);
        self.lowest_j = self.lowest_j.min(unexplained);
    }
}
