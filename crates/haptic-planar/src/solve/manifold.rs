//! The contact of two bodies in one tick: geometry, masses and impulses.
//!
//! u_n = n·(v_B − v_A) + ω_B (r_B × n) − ω_A (r_A × n), which is negative when the contact closes. u_t is the same with
//! t in place of n. An impulse p on B and −p on A changes u by K p, where K = J M⁻¹ Jᵀ.

use crate::collide::narrow::ContactGeometry;
use crate::collide::pair_table::Pair;
use crate::collide::warm_start::WarmStart;
use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::math::{cross, tangent_of};
use crate::shape::features::FeatureId;
use crate::solve::block::{Factor, InverseEffectiveMass};
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::solve::symmetric::Symmetric3;
use crate::tick::TICK_S;
use nalgebra::{Vector2, Vector3};

/// Penetration above which contact solve and position correction make as many sweeps as the worst-case step permits, m. A
/// light body between a heavy one and a wall takes about as many sweeps as the ratio of their masses; with fewer, it
/// sinks in by millimetres.
pub const VERY_DEEP_M: f64 = 2e-4;
/// Cosine between the normals of two consecutive ticks above which a contact counts as the same.
const SAME_CONTACT: f64 = 0.95;

/// Contact between two bodies at one or two points that share a normal and a tangent.
#[derive(Clone, Copy, Debug)]
pub struct Manifold {
    /// Indices of the first and second body.
    pub bodies: [usize; 2],
    /// Index of the near pair in the pair table.
    pub pair: usize,
    /// Unit normal from the first to the second body, world.
    pub normal: Vector2<f64>,
    /// Unit tangent t = (n_y, −n_x), world.
    pub tangent: Vector2<f64>,
    /// Number of points, one or two; zero while the contact is taken out of the solve.
    pub count: usize,
    /// Number of points before the contact was taken out of the solve.
    pub silenced: usize,
    /// Gap of each point at the start of the tick, m; negative if the bodies overlap.
    pub gap_m: [f64; 2],
    /// Part of each gap that only the predicted rotation of a face takes away and that is not corrected, m.
    pub relief_m: [f64; 2],
    /// Arm r × n for each body and point, m.
    pub arm: [[f64; 2]; 2],
    /// Arm r × t for each body, m; the same for both points.
    pub slip_arm: [f64; 2],
    /// Inverse effective mass including the coupling, 1/kg.
    pub mass: InverseEffectiveMass,
    /// Coulomb coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Largest permitted closing speed of each point in this tick, m/s.
    pub bias: [f64; 2],
    /// Impulses of this tick so far, N·s.
    pub impulse: BlockImpulse,
    /// Mode of the impulses of this tick.
    pub mode: Mode,
    /// Angular impulse of rolling friction in this tick so far, N·m·s.
    pub roll: f64,
    /// Inverse of the equations of a mode, reused from sweep to sweep.
    pub factor: Factor,
    /// Impulses of the last tick, for the threshold between impact and contact.
    pub last: BlockImpulse,
    /// Mode of the contact in the last tick.
    pub last_mode: Mode,
    /// Features of the contact.
    pub id: FeatureId,
    /// If there is a single point, the end of the clipped edge at which it lies: 0 or 1, in the order of the tangent.
    pub end: usize,
}

impl Manifold {
    /// Computes the arms of a contact and adopts the impulses of the last tick if the contact is the same. The masses
    /// are zero until [`Self::set_mass`]; a manifold is large, and setting them here would copy it once more.
    #[inline(always)]
    pub fn new(
        index: usize,
        pair: &Pair,
        geometry: &ContactGeometry,
        centres: [Vector2<f64>; 2],
        relief_m: [f64; 2],
    ) -> Self {
        let bodies = [pair.bodies[0] as usize, pair.bodies[1] as usize];
        let (normal, tangent) = (geometry.normal, tangent_of(geometry.normal));
        let mut arm = [[0.0; 2]; 2];
        let mut slip_arm = [0.0; 2];
        // Friction acts on the surface of each body; before the bodies meet, their surfaces are a gap apart.
        let apart = normal * geometry.apart_m;
        let surface = if geometry.id.face_of == 2 {
            [geometry.at_m[0] - apart, geometry.at_m[0]]
        } else {
            [geometry.at_m[0], geometry.at_m[0] + apart]
        };
        for side in 0..2 {
            let centre = centres[side];
            slip_arm[side] = cross(surface[side] - centre, tangent);
            arm[side][0] = cross(geometry.at_m[0] - centre, normal);
            if geometry.count == 2 {
                arm[side][1] = cross(geometry.at_m[1] - centre, normal);
            }
        }
        let (impulse, mode) = warm_start(&pair.warm_start, geometry);
        Self {
            bodies,
            pair: index,
            normal,
            tangent,
            count: geometry.count,
            silenced: geometry.count,
            gap_m: geometry.gap_m,
            relief_m,
            arm,
            slip_arm,
            mass: InverseEffectiveMass::default(),
            friction: pair.friction,
            restitution: pair.restitution,
            bias: [0.0; 2],
            impulse,
            mode,
            roll: pair.warm_start.roll,
            factor: Factor::default(),
            last: impulse,
            last_mode: mode,
            id: geometry.id,
            end: geometry.end,
        }
    }

    /// Returns the normal velocity of a point, m/s; negative when closing.
    #[inline]
    pub fn normal_speed(&self, solver_bodies: &[SolverBody], point: usize) -> f64 {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        self.normal.dot(&(b.velocity - a.velocity)) + b.angular_velocity * self.arm[1][point]
            - a.angular_velocity * self.arm[0][point]
    }

    /// Returns the slip velocity of the second body relative to the first along the tangent, m/s.
    #[inline]
    pub fn slip_speed(&self, solver_bodies: &[SolverBody]) -> f64 {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        self.tangent.dot(&(b.velocity - a.velocity)) + b.angular_velocity * self.slip_arm[1]
            - a.angular_velocity * self.slip_arm[0]
    }

    /// Returns the gap of a point at the virtual start of the tick, which the impacts so far have shifted, m.
    #[inline]
    pub fn gap_now(&self, solver_bodies: &[SolverBody], point: usize) -> f64 {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        self.gap_m[point] + self.normal.dot(&(b.shift - a.shift)) + b.shift_angle * self.arm[1][point]
            - a.shift_angle * self.arm[0][point]
    }

    /// Returns the gap of a point at the end of the tick, to first order, m.
    #[inline]
    pub fn gap_after(&self, solver_bodies: &[SolverBody], point: usize) -> f64 {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        self.gap_m[point]
            + self.normal.dot(&(b.displacement - a.displacement))
            + b.rotation_step_rad * self.arm[1][point]
            - a.rotation_step_rad * self.arm[0][point]
    }

    /// Returns the gap of a point at the end of the tick that is corrected and reported if negative, m.
    #[inline]
    pub fn penetration_gap_after(&self, solver_bodies: &[SolverBody], point: usize) -> f64 {
        self.gap_after(solver_bodies, point) + self.relief_m[point]
    }

    /// Returns the normal and tangential relative acceleration of a point by the forces known at the start of the tick,
    /// m/s².
    pub fn acceleration(&self, solver_bodies: &[SolverBody], point: usize) -> (f64, f64) {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        let linear = b.acceleration - a.acceleration;
        let normal = self.normal.dot(&linear) + b.angular_acceleration * self.arm[1][point]
            - a.angular_acceleration * self.arm[0][point];
        let slip = self.tangent.dot(&linear) + b.angular_acceleration * self.slip_arm[1]
            - a.angular_acceleration * self.slip_arm[0];
        (normal, slip)
    }

    /// Applies a change of the impulses to both bodies, whose masses include the coupling.
    #[inline(always)]
    pub fn apply_impulse(&self, solver_bodies: &mut SolverBodies, change: &BlockImpulse) {
        let [p1, p2] = change.normal;
        let force = self.normal * (p1 + p2) + self.tangent * change.tangent;
        let about =
            |side: usize| self.arm[side][0] * p1 + self.arm[side][1] * p2 + self.slip_arm[side] * change.tangent;
        solver_bodies.apply_impulse(self.bodies[0], -force, -about(0));
        solver_bodies.apply_impulse(self.bodies[1], force, about(1));
    }

    /// Sets the bias b_i = (g_i + J_i d − min(g_i, 0)) / T: a gap may close, but existing penetration is left to the
    /// position correction.
    #[inline(always)]
    pub fn set_bias(&mut self, solver_bodies: &[SolverBody]) {
        for point in 0..self.count {
            self.bias[point] = (self.gap_now(solver_bodies, point) - self.gap_m[point].min(0.0)) / TICK_S;
        }
        if self.count == 1 {
            self.bias[1] = f64::INFINITY;
        }
    }

    /// Returns the sum of the normal impulses, N·s.
    #[inline]
    pub fn normal_impulse(&self) -> f64 {
        self.impulse.normal[0] + self.impulse.normal[1]
    }

    /// Returns the first body of this contact that is not fixed.
    #[inline]
    pub fn dynamic_body(&self, solver_bodies: &[SolverBody]) -> usize {
        self.bodies[usize::from(solver_bodies[self.bodies[0]].inverse_mass == 0.0)]
    }

    /// Whether a body is one of the two bodies of this contact.
    #[inline]
    pub fn involves(&self, body: usize) -> bool {
        self.bodies[0] == body || self.bodies[1] == body
    }

    /// Returns the warm start of the next tick, in which the index of a normal impulse is the end of the manifold at
    /// which it acts.
    pub fn warm_start(&self) -> WarmStart {
        let mut impulse = self.impulse;
        if self.count == 1 && self.end == 1 {
            impulse.normal = [0.0, self.impulse.normal[0]];
        }
        WarmStart { normal: self.normal, impulse, mode: self.mode, roll: self.roll, id: self.id }
    }

    /// Computes the masses.
    #[inline(always)]
    pub fn set_mass(&mut self, solver_bodies: &SolverBodies) {
        self.mass = self.effective_mass(solver_bodies);
    }

    /// Computes the masses again, after the coupling of one of the bodies has changed.
    pub fn renew_mass(&mut self, solver_bodies: &SolverBodies) {
        self.set_mass(solver_bodies);
        self.factor = Factor::default();
    }

    /// Takes the contact out of the solve until [`Self::restore`]: it has no points and carries no load.
    pub fn silence(&mut self) {
        (self.silenced, self.count) = (self.count, 0);
        self.bias = [f64::INFINITY; 2];
        (self.impulse, self.mode, self.restitution) = (BlockImpulse::default(), Mode::Open, 0.0);
    }

    /// Restores the points of a contact that was taken out of the solve.
    pub fn restore(&mut self) {
        self.count = self.silenced;
    }

    /// Returns the row of the Jacobian of a point's normal velocity for the body `body`, up to its sign.
    pub fn normal_row(&self, body: usize, point: usize) -> Vector3<f64> {
        let arm = self.arm[usize::from(self.bodies[1] == body)][point];
        Vector3::new(self.normal.x, self.normal.y, arm)
    }

    /// Returns the row of the Jacobian of the slip velocity for the body `body`, up to its sign.
    pub fn slip_row(&self, body: usize) -> Vector3<f64> {
        let arm = self.slip_arm[usize::from(self.bodies[1] == body)];
        Vector3::new(self.tangent.x, self.tangent.y, arm)
    }

    #[inline(always)]
    fn effective_mass(&self, solver_bodies: &SolverBodies) -> InverseEffectiveMass {
        if let Some(coupled) = &solver_bodies.coupled_mass
            && self.involves(coupled.body)
        {
            let side = usize::from(self.bodies[1] == coupled.body);
            return self.coupled_effective_mass(side, &coupled.inverse, &solver_bodies.all[self.bodies[1 - side]]);
        }
        let (a, b) = (&solver_bodies.all[self.bodies[0]], &solver_bodies.all[self.bodies[1]]);
        self.diagonal_mass(
            a.augmented_inverse_mass + b.augmented_inverse_mass,
            a.augmented_inverse_inertia,
            b.augmented_inverse_inertia,
        )
    }

    /// Returns the inverse effective mass without the coupling, for impacts, 1/kg.
    pub fn uncoupled_mass(&self, solver_bodies: &[SolverBody]) -> InverseEffectiveMass {
        let (a, b) = (&solver_bodies[self.bodies[0]], &solver_bodies[self.bodies[1]]);
        self.diagonal_mass(a.inverse_mass + b.inverse_mass, a.inverse_inertia, b.inverse_inertia)
    }

    #[inline]
    fn diagonal_mass(&self, linear: f64, about_a: f64, about_b: f64) -> InverseEffectiveMass {
        let [[a1, a2], [b1, b2]] = self.arm;
        let [at, bt] = self.slip_arm;
        let second = if self.count == 2 { linear } else { 0.0 };
        InverseEffectiveMass {
            n11: linear + about_a * a1 * a1 + about_b * b1 * b1,
            n12: second + about_a * a1 * a2 + about_b * b1 * b2,
            n22: second + about_a * a2 * a2 + about_b * b2 * b2,
            n1t: about_a * a1 * at + about_b * b1 * bt,
            n2t: about_a * a2 * at + about_b * b2 * bt,
            tt: linear + about_a * at * at + about_b * bt * bt,
        }
    }

    /// Returns the inverse effective mass if the body on one side has an inverse mass matrix that is not diagonal.
    fn coupled_effective_mass(&self, side: usize, inverse: &Symmetric3, other: &SolverBody) -> InverseEffectiveMass {
        let about = |of: usize| if of == side { 0.0 } else { other.augmented_inverse_inertia };
        let mut mass = self.diagonal_mass(other.augmented_inverse_mass, about(0), about(1));
        let row = |axis: Vector2<f64>, arm: f64| Vector3::new(axis.x, axis.y, arm);
        let (first, slip) = (row(self.normal, self.arm[side][0]), row(self.tangent, self.slip_arm[side]));
        let (by_first, by_slip) = (inverse.times(first), inverse.times(slip));
        mass.n11 += first.dot(&by_first);
        mass.n1t += first.dot(&by_slip);
        mass.tt += slip.dot(&by_slip);
        if self.count == 2 {
            let second = row(self.normal, self.arm[side][1]);
            mass.n12 += second.dot(&by_first);
            mass.n22 += second.dot(&inverse.times(second));
            mass.n2t += second.dot(&by_slip);
        }
        mass
    }
}

/// Returns the impulses and mode of the last tick if the contact is the same, that is, if it has the same features or a
/// similar normal. Otherwise returns zero impulses.
#[inline(always)]
fn warm_start(warm: &WarmStart, geometry: &ContactGeometry) -> (BlockImpulse, Mode) {
    if warm.id != geometry.id && warm.normal.dot(&geometry.normal) < SAME_CONTACT {
        return (BlockImpulse::default(), Mode::Open);
    }
    let mut impulse = warm.impulse;
    if geometry.count == 1 {
        let kept = impulse.normal[geometry.end];
        let total = impulse.normal[0] + impulse.normal[1];
        impulse.tangent = if total > 0.0 { impulse.tangent * (kept / total) } else { 0.0 };
        impulse.normal = [kept, 0.0];
    }
    (impulse, if geometry.count == 1 { warm.mode.for_single_point() } else { warm.mode })
}
