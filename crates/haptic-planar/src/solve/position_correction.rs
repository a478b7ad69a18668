//! Penetration is taken out at the level of positions, by the displacement of least kinetic norm (Baraff).
//!
//! A few sweeps over predicted gaps; gaps that are open are limits, so nothing is pushed into something else. No
//! velocity changes, so a correction never throws a body.

use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Penetration that is left alone, m. Zero would make and break resting contacts.
pub const SLOP_M: f64 = 5e-6;
/// Fastest correction, m/s.
const FASTEST_M_PER_S: f64 = 1.0;
/// Sweeps over the manifolds, as a rule and when something is deep.
pub const CORRECTION_SWEEPS: [usize; 2] = [4, 16];
/// Penetration that counts as deep, m: a crowd that is pressed hard, where a push takes many sweeps to get through.
const DEEP_M: f64 = 5e-5;

/// Displacement of one body, m and rad.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nudge {
    /// Of the centre of mass.
    pub by: Vector2<f64>,
    /// Of the angle.
    pub angle: f64,
}

/// Working memory of the correction.
#[derive(Clone, Debug)]
pub struct Correction {
    /// By body.
    pub nudges: Vec<Nudge>,
    /// Accumulated pushes by manifold.
    pushes: Vec<[f64; 2]>,
    /// Room of each point before it is too deep, m; negative must be pushed out.
    room: Vec<[f64; 2]>,
}

impl Correction {
    /// Room for a scene.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            nudges: vec![Nudge::default(); bodies],
            pushes: Vec::with_capacity(manifolds),
            room: Vec::with_capacity(manifolds),
        }
    }

    /// Works out the nudges of this tick; returns whether there are any.
    /// Real-time: [`CORRECTION_SWEEPS`] times once over the manifolds.
    pub fn run(&mut self, manifolds: &[Manifold], works: &[SolverBody], moving: &[usize]) -> bool {
        let least_room_m = self.measure(manifolds, works);
        if least_room_m >= 0.0 {
            return false;
        }
        for &i in moving {
            self.nudges[i] = Nudge::default();
        }
        self.pushes.clear();
        self.pushes.resize(manifolds.len(), [0.0; 2]);
        for _ in 0..CORRECTION_SWEEPS[usize::from(least_room_m < -DEEP_M)] {
            for (index, manifold) in manifolds.iter().enumerate() {
                self.relax(index, manifold, works);
            }
        }
        true
    }

    /// Predicts where each point will be at the end of the tick; returns the least room, m, infinite without points.
    fn measure(&mut self, manifolds: &[Manifold], works: &[SolverBody]) -> f64 {
        self.room.clear();
        let mut least = f64::INFINITY;
        for manifold in manifolds {
            let mut room = [f64::INFINITY; 2];
            for (point, room) in room.iter_mut().enumerate().take(manifold.count) {
                let gap = manifold.gap_after(works, point);
                *room = if gap < 0.0 { (gap + SLOP_M).clamp(-FASTEST_M_PER_S * TICK_S, 0.0) } else { gap };
                least = least.min(*room);
            }
            self.room.push(room);
        }
        least
    }

    /// Solves one manifold's two pushes exactly, friction aside.
    fn relax(&mut self, index: usize, manifold: &Manifold, works: &[SolverBody]) {
        let [p1, p2] = self.pushes[index];
        let (w1, w2) = (self.room_now(index, manifold, 0), self.room_now(index, manifold, 1));
        if p1 == 0.0 && p2 == 0.0 && w1 >= 0.0 && w2 >= 0.0 {
            return;
        }
        let m = manifold.bare_mass(works);
        let (f1, f2) = (w1 - m.n11 * p1 - m.n12 * p2, w2 - m.n12 * p1 - m.n22 * p2);
        let new = pushes(m.n11, m.n12, m.n22, f1, f2);
        self.pushes[index] = new;
        self.shove(manifold, works, [new[0] - p1, new[1] - p2]);
    }

    fn room_now(&self, index: usize, manifold: &Manifold, point: usize) -> f64 {
        let room = self.room[index][point];
        if room == f64::INFINITY {
            return room;
        }
        let (a, b) = (&self.nudges[manifold.bodies[0]], &self.nudges[manifold.bodies[1]]);
        room + manifold.normal.dot(&(b.by - a.by)) + b.angle * manifold.arm[1][point] - a.angle * manifold.arm[0][point]
    }

    fn shove(&mut self, manifold: &Manifold, works: &[SolverBody], change: [f64; 2]) {
        let push = manifold.normal * (change[0] + change[1]);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let body = manifold.bodies[side];
            let about = manifold.arm[side][0] * change[0] + manifold.arm[side][1] * change[1];
            self.nudges[body].by += push * (sign * works[body].bare_inverse_mass);
            self.nudges[body].angle += about * (sign * works[body].bare_inverse_inertia);
        }
    }
}

/// The two non-negative pushes p with f + K p ≥ 0, complementary.
fn pushes(k11: f64, k12: f64, k22: f64, f1: f64, f2: f64) -> [f64; 2] {
    if f1 >= 0.0 && f2 >= 0.0 {
        return [0.0; 2];
    }
    if f2 < f64::INFINITY {
        let scale = 1.0 / (k11 * k22 - k12 * k12);
        let (p1, p2) = ((k12 * f2 - k22 * f1) * scale, (k12 * f1 - k11 * f2) * scale);
        if p1 >= 0.0 && p2 >= 0.0 {
            return [p1, p2];
        }
    }
    let first = (-f1 / k11).max(0.0);
    if f2 == f64::INFINITY || f2 + k12 * first >= 0.0 {
        return [first, 0.0];
    }
    [0.0, (-f2 / k22).max(0.0)]
}
