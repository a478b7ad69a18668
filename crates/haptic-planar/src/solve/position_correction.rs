//! Position correction: removes penetration by the displacement δq = M̂⁻¹ Jᵀ p of least kinetic norm (Baraff). The
//! multipliers p ≥ 0 are complementary to the predicted gaps g + J δq ≥ 0.
//!
//! M̂ is the mass of the contact solve, which includes T² times the stiffness of the coupling: the norm also counts the
//! energy that δq stores in the coupling. With the bare mass, a light tool on a stiff angular spring would be rotated
//! rather than shifted, and the correction would wind up the spring.
//!
//! The solver makes a few sweeps over the predicted gaps. Open gaps limit the correction, so no body is pushed into
//! another. Velocities do not change, so bodies are not ejected.
//!
//! The law is that of contacts without friction, with displacements in place of velocities. A few manifolds whose sweeps
//! have not converged are therefore solved by the direct solve of the contacts.

use crate::collide::warm_start::BlockImpulse;
use crate::solve::contact_solver::{MAX_SWEEPS, Solver};
use crate::solve::direct::MAX_COST_SWEEPS;
use crate::solve::manifold::{Manifold, VERY_DEEP_M};
use crate::solve::policy::Policy;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Penetration that is not corrected, m. If it were zero, resting contacts would open and close.
pub const SLOP_M: f64 = 5e-6;
/// Speed limit of the correction, m/s.
const MAX_SPEED_M_PER_S: f64 = 1.0;
/// Numbers of sweeps over the manifolds: the first applies normally, the second if a penetration is deep. The second is
/// also the largest number in a tick in which every near pair touches.
pub const CORRECTION_SWEEPS: [usize; 2] = [4, 16];
/// Penetration above which the correction makes the larger number of sweeps, m. It occurs in a pile that is pressed
/// hard, in which a correction takes many sweeps to propagate.
const DEEP_M: f64 = 5e-5;
/// Maximum number of sweeps in any tick.
const MAX_SWEEPS_OF_FEW: usize = 160;
/// Maximum number of manifolds whose correction is solved directly. Without the direct solve, the correction of a body
/// that is 10⁴ times heavier than the one below it takes thousands of ticks. Most of it then follows after the bodies
/// have come to rest, when no kinetic energy pays for it.
const MAX_DIRECT: usize = 16;
/// Largest displacement, m, and rotation, rad, of a body by a direct solve whose result is used. A larger correction can
/// push a body into another one whose contact with it is not known, or for which the gaps are not linear.
const MAX_DIRECT_MOTION: (f64, f64) = (2e-4, 2e-3);
/// Change of every gap in the last sweep below which the correction has converged, m.
const CONVERGED_M: f64 = 1e-9;

/// Position correction of one body.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyCorrection {
    /// Displacement of the centre of mass, world, m.
    pub displacement: Vector2<f64>,
    /// Change of the angle, rad.
    pub angle: f64,
}

/// Scratch memory of the correction.
#[derive(Clone, Debug)]
pub struct Correction {
    /// Maximum number of manifolds in a tick.
    capacity: usize,
    /// Correction of each body; of the last tick that had any if this one has none.
    corrections: Vec<BodyCorrection>,
    /// Whether this tick has corrections.
    pub is_active: bool,
    /// Number of sweeps of the last correction.
    pub sweeps: usize,
    /// Largest change of a gap by the multiplier of its own point in the last sweep, m.
    change_m: f64,
    /// Multipliers p of the two points of each manifold.
    multipliers: Vec<[f64; 2]>,
    /// Clearance of the two points of each manifold, m: the predicted gap, plus the slop if the gap is negative. A
    /// negative clearance is corrected.
    clearance: Vec<[f64; 2]>,
    /// Frictionless contacts of the direct solve.
    direct: Vec<Manifold>,
    /// Velocity and angular velocity of each dynamic body during the direct solve.
    velocities: Vec<(Vector2<f64>, f64)>,
}

impl Correction {
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            capacity: manifolds,
            corrections: vec![BodyCorrection::default(); bodies],
            is_active: false,
            sweeps: 0,
            change_m: 0.0,
            multipliers: Vec::with_capacity(manifolds),
            clearance: Vec::with_capacity(manifolds),
            direct: Vec::with_capacity(MAX_DIRECT),
            velocities: Vec::with_capacity(bodies),
        }
    }

    /// Computes the corrections of this tick; returns whether there are any. Real-time: at most the cost of
    /// `CORRECTION_SWEEPS[1]` passes over as many manifolds as the capacity.
    pub fn run<P: Policy>(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &SolverBodies,
        dynamic_bodies: &[usize],
    ) -> bool {
        let min_clearance_m = self.measure::<P>(manifolds, &solver_bodies.all);
        self.is_active = min_clearance_m < 0.0 || P::FORCED;
        if !self.is_active {
            return false;
        }
        for &i in dynamic_bodies {
            self.corrections[i] = BodyCorrection::default();
        }
        self.multipliers.clear();
        self.multipliers.resize(manifolds.len(), [0.0; 2]);
        self.sweeps = self.number_of_sweeps::<P>(min_clearance_m, manifolds.len());
        self.change_m = 0.0;
        for _ in 0..self.sweeps {
            self.change_m = 0.0;
            for (index, manifold) in manifolds.iter().enumerate() {
                self.relax(index, manifold, solver_bodies);
            }
        }
        true
    }

    /// Solves the corrections of a few manifolds directly if their sweeps have not converged and the contact solve,
    /// which made `relaxations`, has left enough of its sweeps. Keeps those of the sweeps if the direct solve finds none
    /// or larger ones than [`MAX_DIRECT_MOTION`]. Returns the relaxations that this cost. Real-time: at
    /// most [`MAX_COST_SWEEPS`] sweeps over at most [`MAX_DIRECT`] manifolds, which the contact solve left.
    pub fn finish_directly(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
        contact_solver: &mut Solver,
        relaxations: usize,
    ) -> usize {
        let count = manifolds.len();
        if self.change_m < CONVERGED_M
            || count > MAX_DIRECT
            || relaxations + MAX_COST_SWEEPS * count > 2 * MAX_SWEEPS * count
        {
            return 0;
        }
        self.direct.clear();
        for ((manifold, multipliers), clearance) in manifolds.iter().zip(&self.multipliers).zip(&self.clearance) {
            let mut frictionless = *manifold;
            frictionless.friction = 0.0;
            frictionless.bias = clearance.map(|clearance_m| clearance_m / TICK_S);
            frictionless.impulse = BlockImpulse { normal: multipliers.map(|p| p / TICK_S), tangent: 0.0 };
            (frictionless.mode, frictionless.factor) = Default::default();
            self.direct.push(frictionless);
        }
        self.velocities.clear();
        for &body in dynamic_bodies {
            let (moved, correction) = (&mut solver_bodies.all[body], &self.corrections[body]);
            self.velocities.push((moved.velocity, moved.angular_velocity));
            (moved.velocity, moved.angular_velocity) = (correction.displacement / TICK_S, correction.angle / TICK_S);
        }
        let outcome = contact_solver.solve_directly(&mut self.direct, solver_bodies, dynamic_bodies);
        let is_small = dynamic_bodies.iter().all(|&body| {
            let moved = &solver_bodies.all[body];
            let (displacement_m, rotation_rad) = MAX_DIRECT_MOTION;
            moved.velocity.norm() * TICK_S <= displacement_m && moved.angular_velocity.abs() * TICK_S <= rotation_rad
        });
        for (&body, &(velocity, angular_velocity)) in dynamic_bodies.iter().zip(&self.velocities) {
            let moved = &mut solver_bodies.all[body];
            if outcome.is_solved && is_small {
                self.corrections[body] =
                    BodyCorrection { displacement: moved.velocity * TICK_S, angle: moved.angular_velocity * TICK_S };
            }
            (moved.velocity, moved.angular_velocity) = (velocity, angular_velocity);
        }
        outcome.cost_sweeps * count
    }

    /// Returns the number of sweeps for the smallest clearance, m. More than `CORRECTION_SWEEPS[1]` sweeps cost no more
    /// than these over as many manifolds as the capacity; the worst-case step makes sweeps of that cost even if its
    /// scene has fewer pairs.
    fn number_of_sweeps<P: Policy>(&self, min_clearance_m: f64, manifolds: usize) -> usize {
        let [few, many] = CORRECTION_SWEEPS;
        if P::FORCED {
            (many * self.capacity).div_ceil(manifolds.max(1))
        } else if min_clearance_m < -VERY_DEEP_M {
            (many * self.capacity / manifolds.max(1)).clamp(many, MAX_SWEEPS_OF_FEW)
        } else if min_clearance_m < -DEEP_M {
            many
        } else {
            few
        }
    }

    /// Returns the correction of a body in this tick.
    pub fn of(&self, body: usize) -> BodyCorrection {
        if self.is_active { self.corrections[body] } else { BodyCorrection::default() }
    }

    /// Scales the correction of a body in this tick.
    pub fn scale(&mut self, body: usize, factor: f64) {
        self.corrections[body].displacement *= factor;
        self.corrections[body].angle *= factor;
    }

    /// Computes the clearance of each point from its predicted gap at the end of the tick. Returns the smallest
    /// clearance, m; infinite if there are no points.
    fn measure<P: Policy>(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody]) -> f64 {
        self.clearance.clear();
        let mut min = f64::INFINITY;
        for manifold in manifolds {
            let mut clearance = [f64::INFINITY; 2];
            for (point, clearance) in clearance.iter_mut().enumerate().take(manifold.count) {
                let gap = manifold.penetration_gap_after(solver_bodies, point);
                let gap = if P::FORCED { gap.min(-2.0 * DEEP_M) } else { gap };
                *clearance = if gap < 0.0 { (gap + SLOP_M).clamp(-MAX_SPEED_M_PER_S * TICK_S, 0.0) } else { gap };
                min = min.min(*clearance);
            }
            self.clearance.push(clearance);
        }
        min
    }

    /// Solves for the two multipliers of one manifold exactly, without friction, and applies their change to the
    /// corrections.
    fn relax(&mut self, index: usize, manifold: &Manifold, solver_bodies: &SolverBodies) {
        let [p1, p2] = self.multipliers[index];
        let (w1, w2) = (self.clearance_now(index, manifold, 0), self.clearance_now(index, manifold, 1));
        if p1 == 0.0 && p2 == 0.0 && w1 >= 0.0 && w2 >= 0.0 {
            return;
        }
        let m = &manifold.mass;
        let (f1, f2) = (w1 - m.n11 * p1 - m.n12 * p2, w2 - m.n12 * p1 - m.n22 * p2);
        let new = m.frictionless_impulses([f1, f2]);
        self.multipliers[index] = new;
        let change = [new[0] - p1, new[1] - p2];
        self.change_m = self.change_m.max((m.n11 * change[0]).abs()).max((m.n22 * change[1]).abs());
        self.apply(manifold, solver_bodies, change);
    }

    fn clearance_now(&self, index: usize, manifold: &Manifold, point: usize) -> f64 {
        let clearance = self.clearance[index][point];
        if clearance == f64::INFINITY {
            return clearance;
        }
        let (a, b) = (&self.corrections[manifold.bodies[0]], &self.corrections[manifold.bodies[1]]);
        clearance + manifold.normal.dot(&(b.displacement - a.displacement)) + b.angle * manifold.arm[1][point]
            - a.angle * manifold.arm[0][point]
    }

    fn apply(&mut self, manifold: &Manifold, solver_bodies: &SolverBodies, change: [f64; 2]) {
        let push = manifold.normal * (change[0] + change[1]);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let body = manifold.bodies[side];
            let about = manifold.arm[side][0] * change[0] + manifold.arm[side][1] * change[1];
            let (displacement, angle) = solver_bodies.response(body, push * sign, about * sign);
            self.corrections[body].displacement += displacement;
            self.corrections[body].angle += angle;
        }
    }
}

/// Whether a manifold penetrates so deep at the end of the tick that it is corrected.
#[inline]
pub fn penetrates(manifold: &Manifold, solver_bodies: &[SolverBody]) -> bool {
    (0..manifold.count).any(|point| manifold.penetration_gap_after(solver_bodies, point) < -SLOP_M)
}
