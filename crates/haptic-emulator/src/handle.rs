//! The handle of an emulated device: a mass per axis between its motor and a hand that follows a path.

/// A hand that visits corners in turn, and the handle it moves. Device frame: x to the right, y away from the user.
#[derive(Clone, Debug)]
pub struct Handle {
    /// Where it is, m.
    pub position_m: [f64; 2],
    velocity_m_per_s: [f64; 2],
    reach_m: f64,
    time_s: f64,
}

/// Moving mass, kg.
const MASS_KG: f64 = 0.3;
/// The hand's spring, N/m, and damper, N·s/m.
const STIFFNESS_N_PER_M: f64 = 150.0;
const DAMPING_N_S_PER_M: f64 = 6.0;
/// How long the hand stays in the middle before it moves, and how long it takes from corner to corner, s.
const REST_S: f64 = 4.0;
const LEG_S: f64 = 1.0;
/// The corners, one in each quadrant, by way of the middle.
const CORNERS: [[f64; 2]; 8] =
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [-1.0, 1.0], [0.0, 0.0], [-1.0, -1.0], [0.0, 0.0], [1.0, -1.0]];

impl Handle {
    /// A handle at rest in the middle, whose hand will reach so far.
    pub fn new(reach_m: f64) -> Self {
        Self { position_m: [0.0; 2], velocity_m_per_s: [0.0; 2], reach_m, time_s: 0.0 }
    }

    /// Where the hand wants to be, m.
    pub fn target_m(&self) -> [f64; 2] {
        let legs = ((self.time_s - REST_S) / LEG_S).max(0.0);
        let (from, share) = (legs as usize % CORNERS.len(), legs.fract());
        let to = CORNERS[(from + 1) % CORNERS.len()];
        [0, 1].map(|axis| self.reach_m * (CORNERS[from][axis] * (1.0 - share) + to[axis] * share))
    }

    /// Moves on by `elapsed_s` under the force of the motors, N.
    pub fn advance(&mut self, force_n: [f64; 2], elapsed_s: f64) {
        self.time_s += elapsed_s;
        let target_m = self.target_m();
        for axis in 0..2 {
            let (position, velocity) = (self.position_m[axis], self.velocity_m_per_s[axis]);
            let hand_n = STIFFNESS_N_PER_M * (target_m[axis] - position) - DAMPING_N_S_PER_M * velocity;
            self.velocity_m_per_s[axis] += (hand_n + force_n[axis]) / MASS_KG * elapsed_s;
            self.position_m[axis] += self.velocity_m_per_s[axis] * elapsed_s;
        }
    }
}
