//! The handle of an emulated device: a mass per axis between its motor and a hand that follows a path.

/// What the hand does. Device frame: x to the right, y away from the user.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    /// It stays in the middle.
    Still,
    /// It waits beside a round post in the middle, leans on it and goes round it.
    RoundThePost,
}

/// A hand and the handle it moves.
#[derive(Clone, Debug)]
pub struct Handle {
    /// Where it is, m.
    pub position_m: [f64; 2],
    velocity_m_per_s: [f64; 2],
    path: Path,
    time_s: f64,
}

/// Moving mass, kg.
const MASS_KG: f64 = 0.3;
/// The hand's spring, N/m, and damper, N·s/m.
const STIFFNESS_N_PER_M: f64 = 150.0;
const DAMPING_N_S_PER_M: f64 = 6.0;
/// How long the hand waits beside the post: until the force has come on; how long it takes to it, and once round, s.
const REST_S: f64 = 4.0;
const APPROACH_S: f64 = 1.0;
const ROUND_S: f64 = 2.0;
/// How far from the middle it waits, and wants to be while it leans on the post, m.
const BESIDE_M: f64 = 0.025;
const LEANING_M: f64 = 0.006;

impl Handle {
    /// A handle in the middle, held there.
    pub fn still() -> Self {
        Self::on(Path::Still)
    }

    /// A handle that will lean on a post in the middle from every side.
    pub fn round_the_post() -> Self {
        Self::on(Path::RoundThePost)
    }

    fn on(path: Path) -> Self {
        let mut handle = Self { position_m: [0.0; 2], velocity_m_per_s: [0.0; 2], path, time_s: 0.0 };
        handle.position_m = handle.target_m();
        handle
    }

    /// Where the hand wants to be, m.
    pub fn target_m(&self) -> [f64; 2] {
        if self.path == Path::Still {
            return [0.0; 2];
        }
        let approached = ((self.time_s - REST_S) / APPROACH_S).clamp(0.0, 1.0);
        let rounds = ((self.time_s - REST_S - APPROACH_S) / ROUND_S).max(0.0);
        let radius_m = BESIDE_M + approached * (LEANING_M - BESIDE_M);
        let (sine, cosine) = libm::sincos(rounds * core::f64::consts::TAU);
        [radius_m * cosine, radius_m * sine]
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
