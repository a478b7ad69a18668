//! The coupling of one tick, solved inside the step.
//!
//! The force on the tool is F = K (s₀ + Θ Δs) + B Δs/T, where s₀ is the stretch at the start of the tick (hand minus
//! handle) and Δs its change. Θ = ½ is the midpoint rule and Θ = 1 backward Euler; [`Constrained`] chooses between the
//! two for each direction. The unknown is the mean velocity v̄ of the tool:
//!
//!   [M (2 − P) + T² J̄ᵀ Z J̄] v̄ = M (2 − P) v₀ + T f + T J̄ᵀ (K s₀ + Z Δhand) + impulses,   Z = K Θ + B/T.
//!
//! J̄ uses the secant arm of the handle, so J̄ T v̄ is exactly the displacement of the handle and the force does exactly
//! the work that the energy balance counts. Both rules store the same energy, so the step can switch between them from
//! tick to tick.

use crate::collide::warm_start::Mode;
use crate::input::CouplingInput;
use crate::math::{cross, rotate, secant_arm, spin_cross};
use crate::scene::body_state::BodyState;
use crate::scene::{Scene, Tool};
use crate::solve::constrained::Constrained;
use crate::solve::contact_work::does_work;
use crate::solve::fixed_point::FixedPoint;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::{CoupledMass, SolverBodies, SolverBody};
use crate::solve::symmetric::Symmetric3;
use crate::tick::TICK_S;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Stiffness across a rail, N/m. With a smaller value, a contact force would push the handle visibly off its line.
const RAIL_STIFFNESS_N_PER_M: f64 = 1e6;
/// Damping across a rail, N·s/m; prevents oscillation across the rail.
const RAIL_DAMPING_N_S_PER_M: f64 = 1e3;

/// Maximum number of linear solves for the free motions of a tick beyond one for each of them: a free motion takes two to
/// four for a handle off centre.
pub const MAX_SOLVES: usize = 64;
/// Error of the rotation in a free motion that is tolerated, rad. With a larger one, a handle off centre would gain or
/// lose energy.
const ROTATION_TOLERANCE_RAD: f64 = 1e-15;

/// Largest number of parts of equal duration in which the tool flies through a tick.
pub const MAX_PARTS: usize = 8;
/// Phase of the coupling's oscillation that one part of a tick may cover, rad. The frequency of the midpoint rule is low
/// by a twelfth of its square.
const PART_RAD: f64 = 0.3;
/// Maximum number of times that a tick under contact load is solved again with a better arm or fraction of the gains.
pub const MAX_REPEATS: usize = 4;
/// Number of sweeps in a tick after which it is not solved again: sweeps over a pile are not exact enough to tell whether
/// another solve would be better.
pub const REPEAT_SWEEPS: usize = 8;
/// Largest rotation for which a tick under contact load uses the secant arm, rad. A light tool on a stiff spring can rotate
/// by radians; then the secant arms of the repetitions need not converge, and with a wrong one the force moves the tool
/// against itself at the start of the tick, so that no part of the tick is passive. With an arm close to that of the
/// start, a short enough part of it is.
const MAX_SECANT_ROTATION_RAD: f64 = 0.5;
/// Ratio of the kinetic energy of a loaded tool's mean velocity to that of its end velocity below which the tool stands
/// still. A tool that a spring turns back is that slow in its mean in one tick of a thousand at most.
const STANDING_FRACTION: f64 = 1e-6;
/// Error of the handle's work above which a tick under contact load is solved again, J.
const REPEAT_J: f64 = 1e-11;
/// Work by the error of the saturated force above which the energy of a tick under contact load is examined, J; 1e-5 of the
/// work in a tick of 10 N at 0.1 m/s.
const MISFIT_J: f64 = 1e-9;
/// Relative error of the saturated force above which a tick under contact load is solved again.
const REPEAT_FRACTION: f64 = 1e-5;
/// Number of times that the error of a saturated force is applied to the tool before the coupling is computed again.
/// Each reduces the error to T (T K + B)/m of it, which is little unless the tool is light and stiffly held.
const MAX_FORCE_STEPS: usize = 2;

/// The coupling of one tick.
#[derive(Clone, Copy, Debug)]
pub struct ImplicitCoupling {
    tool: Tool,
    mass_kg: f64,
    inertia_kg_m2: f64,
    /// Duration of the tick or of the part of it that this coupling describes, s.
    duration_s: f64,
    /// Position of the hand at the end of the tick, world, m.
    hand_m: Vector2<f64>,
    /// Vector from the centre of mass to the handle at the start of the tick, world, m.
    start_arm_m: Vector2<f64>,
    /// Secant arm of the handle for the predicted rotation of the tick, world, m.
    arm_m: Vector2<f64>,
    stiffness: f64,
    damping: f64,
    angular_stiffness: f64,
    angular_damping: f64,
    /// Vector from the handle at the start of the tick to the hand at its end, world, m.
    stretch_m: Vector2<f64>,
    hand_displacement_m: Vector2<f64>,
    /// Rest angle of the tool minus its angle at the start of the tick, rad.
    twist_rad: f64,
    /// Fraction of the gains that keeps the predicted force within the limit, at most 1.
    fraction: f64,
    /// Search for the fraction of the gains under contact load.
    fraction_search: FixedPoint,
    /// Force on the tool beyond that of the reduced gains, world, N: the rest of the force at its limit.
    extra_force: Vector2<f64>,
    /// Number of times that the error of the force was applied since the coupling was last computed.
    force_steps: usize,
    /// Constrained directions of a tick under contact load; `None` for backward Euler in all directions.
    constrained: Option<Constrained>,
    /// Velocity at the start of the tick (x, y, angle), world, m/s and rad/s.
    start: Vector3<f64>,
    /// Velocity after a tick of the forces other than coupling and contacts (x, y, angle), world, m/s and rad/s.
    forced: Vector3<f64>,
    /// Whether the handle is at the centre of mass.
    is_central: bool,
    max_force_n: f64,
    /// Unit direction of the rail, if there is one.
    rail: Option<Vector2<f64>>,
}

/// What a solve of the contacts must repeat because its result differs from what the coupling assumed.
#[derive(Clone, Copy, Debug)]
pub enum Refinement {
    /// Nothing.
    None,
    /// The contacts, after this change of the force on the tool, world, N.
    Force {
        /// The change.
        change_n: Vector2<f64>,
        /// Whether the error that is left is surely small enough.
        is_final: bool,
    },
    /// The coupling and the contacts.
    Coupling,
}

/// The tool's motion in a tick, of which the contacts are known.
#[derive(Clone, Copy, Debug)]
pub struct FreeMotion {
    /// Mean velocity over the tick (x, y, angle), world, m/s and rad/s.
    pub mean: Vector3<f64>,
    /// Velocity at the end of the tick (x, y, angle), world, m/s and rad/s.
    pub end: Vector3<f64>,
    /// Impulse of all forces other than the coupling (x, y, angle), world, N·s and N·m·s.
    pub impulse: Vector3<f64>,
    /// Mean coupling force on the tool, world, N.
    pub force: Vector2<f64>,
    /// Change of the mean velocity by an impulse.
    response: Symmetric3,
    duration_s: f64,
}

impl FreeMotion {
    /// Returns the displacement of the centre of mass, world, m.
    pub fn displacement(&self) -> Vector2<f64> {
        self.mean.xy() * self.duration_s
    }

    /// Returns the change of the angle, rad.
    pub fn rotation_step_rad(&self) -> f64 {
        self.mean.z * self.duration_s
    }

    /// Adds the impulse along `row` that moves the tool `by_m` farther along it, to first order: only the mean velocity
    /// and the impulse change. Returns the size of the impulse, N·s.
    pub fn displace(&mut self, row: Vector3<f64>, by_m: f64) -> f64 {
        let change = self.response.times(row);
        let size = by_m / (row.dot(&change) * self.duration_s);
        self.mean += change * size;
        self.impulse += row * size;
        size
    }
}

/// Coefficients of the coupling force F = K s₀ + Z Δs and of the torque.
struct Coefficients {
    /// K, N/m.
    stiffness: Matrix2<f64>,
    /// Z = K Θ + B/T, N/m.
    implicit: Matrix2<f64>,
    /// The same for the rotation, N·m/rad.
    angular: f64,
}

impl ImplicitCoupling {
    /// Creates the coupling of this tick, for a tool that other forces would give the velocity `forced`. If the
    /// predicted force exceeds the limit, the gains are reduced until it does not, so that the same limited force acts
    /// on the hand and on the tool.
    #[inline(always)]
    pub fn new(scene: &Scene, tool: Tool, body_state: &BodyState, input: &CouplingInput, forced: &SolverBody) -> Self {
        let start_arm = rotate(body_state.rotation, tool.handle_m);
        let stretch = input.hand_m - (body_state.centre_m + start_arm);
        let is_central = tool.handle_m.x == 0.0 && tool.handle_m.y == 0.0;
        let arm =
            if is_central { start_arm } else { loaded_arm(start_arm, body_state.angular_velocity_rad_per_s * TICK_S) };
        let hand_displacement = input.hand_m - input.hand_before_m;
        let handle_displacement =
            (body_state.velocity_m_per_s + spin_cross(body_state.angular_velocity_rad_per_s, arm)) * TICK_S;
        let (k, b) = (input.stiffness_n_per_m, input.damping_n_s_per_m);
        let predicted = (stretch - handle_displacement) * k + (hand_displacement - handle_displacement) * (b / TICK_S);
        let fraction = shrink(predicted, input);
        Self {
            tool,
            mass_kg: scene.bodies[tool.body].mass_kg,
            inertia_kg_m2: scene.bodies[tool.body].inertia_kg_m2,
            duration_s: TICK_S,
            hand_m: input.hand_m,
            start_arm_m: start_arm,
            arm_m: arm,
            stiffness: k,
            damping: b,
            angular_stiffness: input.angular_stiffness_n_m_per_rad,
            angular_damping: input.angular_damping_n_m_s_per_rad,
            stretch_m: stretch,
            hand_displacement_m: hand_displacement,
            twist_rad: scene.bodies[tool.body].angle_rad - body_state.angle_rad,
            fraction,
            fraction_search: FixedPoint::from(fraction),
            extra_force: Vector2::zeros(),
            force_steps: 0,
            constrained: None,
            start: vector3(body_state.velocity_m_per_s, body_state.angular_velocity_rad_per_s),
            forced: vector3(forced.velocity, forced.angular_velocity),
            is_central,
            max_force_n: input.max_force_n,
            rail: input.rail,
        }
    }

    /// Returns the coupling of a part of this tick: from the time `from_s` after its start, at which the tool has moved
    /// from `start` to `now`, and for `duration_s`. The hand moves uniformly over the tick.
    pub fn part(&self, start: &BodyState, now: &BodyState, from_s: f64, duration_s: f64) -> Self {
        let start_arm_m = rotate(now.rotation, self.tool.handle_m);
        let left_s = TICK_S - from_s - duration_s;
        let hand_m = self.hand_m - self.hand_displacement_m * (left_s / TICK_S);
        Self {
            duration_s,
            start_arm_m,
            stretch_m: hand_m - (now.centre_m + start_arm_m),
            hand_displacement_m: self.hand_displacement_m * (duration_s / TICK_S),
            twist_rad: self.twist_rad + start.angle_rad - now.angle_rad,
            ..*self
        }
    }

    /// Whether one part of a tick is too long for the frequency of the linear spring.
    #[inline]
    pub fn needs_parts(&self) -> bool {
        self.squared_phase() > PART_RAD * PART_RAD
    }

    /// Returns the number of parts of a tick in which a free motion keeps the frequency of the linear spring, at most
    /// [`MAX_PARTS`].
    pub fn parts(&self) -> usize {
        let square = self.squared_phase();
        let covered = |parts: &usize| square <= (PART_RAD * *parts as f64) * (PART_RAD * *parts as f64);
        (1..MAX_PARTS).find(covered).unwrap_or(MAX_PARTS)
    }

    /// Returns the square of the phase of the linear spring's oscillation in a tick, rad². The angular spring, which is
    /// not felt, does not count.
    #[inline]
    fn squared_phase(&self) -> f64 {
        let arm_square = if self.is_central { 0.0 } else { self.start_arm_m.norm_squared() };
        self.stiffness * (1.0 / self.mass_kg + arm_square / self.inertia_kg_m2) * (TICK_S * TICK_S)
    }

    /// Adds the coupling to the tool's velocity and mass, for the contact solve. With constrained directions, the velocity
    /// of the solve is the mean velocity of the tick; otherwise, it is also that at its end. Real-time: at most one 3×3 inverse.
    #[inline(always)]
    pub fn apply(&self, solver_bodies: &mut SolverBodies) {
        if self.is_plain() && self.constrained.is_none() {
            let solver_body = &mut solver_bodies.all[self.tool.body];
            let (k, b) = (self.stiffness * self.fraction, self.damping * self.fraction);
            let pull = self.stretch_m * (k * TICK_S) + self.hand_displacement_m * b;
            let angular_resistance = self.angular_damping * TICK_S + self.angular_stiffness * (TICK_S * TICK_S);
            let angular = self.forced.z * self.inertia_kg_m2 + self.angular_stiffness * self.twist_rad * TICK_S;
            solver_body.augmented_inverse_mass = 1.0 / (self.mass_kg + b * TICK_S + k * (TICK_S * TICK_S));
            solver_body.augmented_inverse_inertia = 1.0 / (self.inertia_kg_m2 + angular_resistance);
            solver_body.velocity = (self.forced.xy() * self.mass_kg + pull) * solver_body.augmented_inverse_mass;
            solver_body.angular_velocity = angular * solver_body.augmented_inverse_inertia;
            solver_bodies.coupled_mass = None;
        } else {
            self.apply_matrix(solver_bodies);
        }
        let solver_body = &mut solver_bodies.all[self.tool.body];
        solver_body.acceleration = (solver_body.velocity - self.start.xy()) / TICK_S;
        solver_body.angular_acceleration = (solver_body.angular_velocity - self.start.z) / TICK_S;
    }

    /// Does what [`Self::apply`] does if the mass matrix is not diagonal.
    #[inline(never)]
    fn apply_matrix(&self, solver_bodies: &mut SolverBodies) {
        let coefficients = self.coefficients(self.fraction, self.constrained.as_ref());
        let mass = Vector3::new(self.mass_kg, self.mass_kg, self.inertia_kg_m2);
        let inertia = self.constrained.as_ref().map_or_else(|| Symmetric3::diagonal(mass), Constrained::matrix);
        let momentum = inertia.times(self.start) + (self.forced - self.start).component_mul(&mass);
        let inverse = self.inverse(inertia, self.arm_m, &coefficients);
        let free = inverse.times(momentum + self.pull(self.arm_m, &coefficients));
        // The momentum includes the pull at the handle, and the matrix includes the resistance there.
        let solver_body = &mut solver_bodies.all[self.tool.body];
        solver_body.augmented_inverse_mass = inverse.xx;
        solver_body.augmented_inverse_inertia = inverse.zz;
        (solver_body.velocity, solver_body.angular_velocity) = (free.xy(), free.z);
        solver_bodies.coupled_mass = Some(CoupledMass { body: self.tool.body, inverse });
    }

    /// Applies an impact on the tool at the time τ after the start of the tick: v += M̂⁻¹ (M + τ (T K + B)) ΔV. Without
    /// the coupling, the impact would change the velocity by ΔV = (dv, dw).
    pub fn apply_impact(&self, solver_bodies: &mut SolverBodies, tau_s: f64, dv: Vector2<f64>, dw: f64) {
        let coefficients = self.coefficients(self.fraction, None);
        let late_s2 = tau_s * TICK_S;
        let force = coefficients.implicit * (dv + spin_cross(dw, self.arm_m)) * late_s2;
        let impulse = dv * self.mass_kg + force;
        let angular = dw * (self.inertia_kg_m2 + coefficients.angular * late_s2) + cross(self.arm_m, force);
        solver_bodies.apply_impulse(self.tool.body, impulse, angular);
    }

    /// Finds the directions that contacts of the last tick constrain in this one: the normals that carried load, and the
    /// tangents of the contacts that did not slip. Returns whether the tool is free in some of the others, so that the
    /// coupling must be applied again. Only for a coupling within its force limit. Real-time: one pass over the
    /// manifolds.
    #[inline]
    pub fn constrain(&mut self, manifolds: &[Manifold]) -> bool {
        let was_loaded = |manifold: &Manifold| {
            manifold.involves(self.tool.body) && (manifold.last.normal[0] > 0.0 || manifold.last.normal[1] > 0.0)
        };
        self.fraction >= 1.0 && manifolds.iter().any(was_loaded) && self.constrain_loaded(manifolds)
    }

    /// Does what [`Self::constrain`] does if a contact of the tool carried load.
    #[inline(never)]
    fn constrain_loaded(&mut self, manifolds: &[Manifold]) -> bool {
        let start = self.limited_part(self.stretch_m - self.hand_displacement_m);
        if start.norm() * self.stiffness > self.max_force_n {
            return false;
        }
        let mut all = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        for manifold in manifolds.iter().filter(|manifold| manifold.involves(self.tool.body)) {
            for point in 0..manifold.count {
                if manifold.last.normal[point] > 0.0 {
                    all.add(manifold.normal_row(self.tool.body, point));
                }
            }
            if matches!(manifold.last_mode, Mode::Stick(_)) {
                all.add(manifold.slip_row(self.tool.body));
            }
        }
        if let Some(axis) = self.rail {
            all.add(at_handle(across(axis), self.arm_m));
        }
        let is_partly_free = all.count() < 3;
        if is_partly_free {
            self.constrained = Some(all);
        }
        is_partly_free
    }

    /// Compares the arm and the force limit that a solve of the contacts assumed with its result, and improves them.
    /// Real-time: constant.
    pub fn refine(&mut self, tool: &SolverBody) -> Refinement {
        let rotation = tool.angular_velocity * TICK_S;
        let step = tool.velocity * TICK_S + spin_cross(rotation, self.arm_m);
        if self.is_central && self.fraction >= 1.0 && self.is_far_from_limit(step) {
            return Refinement::None;
        }
        let end = self.limited_part(self.stretch_m - step);
        let change = self.limited_part(self.hand_displacement_m - step);
        let wanted = end * self.stiffness + change * (self.damping / TICK_S);
        let force = if self.is_plain() && self.constrained.is_none() {
            wanted * self.fraction + self.extra_force
        } else {
            self.force_of(step)
        };
        let arm = if self.is_central { self.arm_m } else { loaded_arm(self.start_arm_m, rotation) };
        let wrong_arm = !self.is_central && force.norm() * (arm - self.arm_m).norm() * rotation.abs() > REPEAT_J;
        let size = wanted.norm();
        let fraction = if size > self.max_force_n { self.max_force_n / size } else { 1.0 };
        let error = wanted * fraction - self.limited_part(force);
        let wrong_force = if self.constrained.is_some() {
            let largest = self.limited_part(force).norm().max(end.norm() * self.stiffness);
            largest > self.max_force_n
        } else {
            error.norm() > REPEAT_FRACTION * (size * fraction)
        };
        if !wrong_arm && !wrong_force {
            return Refinement::None;
        }
        if !wrong_arm && self.constrained.is_none() && self.force_steps < MAX_FORCE_STEPS {
            self.force_steps += 1;
            self.extra_force += error;
            let left = error.norm() * self.force_change_by_force();
            let is_final = self.is_central && left < REPEAT_FRACTION * (size * fraction);
            return Refinement::Force { change_n: error, is_final };
        }
        self.arm_m = arm;
        if wrong_force {
            self.constrained = None;
            self.fraction_search.improve(fraction);
            self.fraction = self.fraction_search.x.min(1.0);
        }
        (self.extra_force, self.force_steps) = (Vector2::zeros(), 0);
        Refinement::Coupling
    }

    /// Returns the coupling force on the tool by the rule of the contact solve, in a tick in which the handle moves by
    /// `step`, world, N.
    #[inline]
    fn force_of(&self, step: Vector2<f64>) -> Vector2<f64> {
        if self.is_plain() && self.constrained.is_none() {
            return self.whole_force(step) * self.fraction + self.extra_force;
        }
        self.force(step, &self.coefficients(self.fraction, self.constrained.as_ref())) + self.extra_force
    }

    /// Returns the coupling force on the tool by backward Euler with the whole gains, in a tick in which the handle moves
    /// by `step`, world, N.
    #[inline]
    fn whole_force(&self, step: Vector2<f64>) -> Vector2<f64> {
        if self.rail.is_some() {
            return self.force(step, &self.coefficients(1.0, None));
        }
        (self.stretch_m - step) * self.stiffness + (self.hand_displacement_m - step) * (self.damping / TICK_S)
    }

    /// Applies a change of the coupling force over the tick to the tool.
    pub fn apply_force(&self, solver_bodies: &mut SolverBodies, force: Vector2<f64>) {
        let impulse = force * TICK_S;
        solver_bodies.apply_impulse(self.tool.body, impulse, cross(self.arm_m, impulse));
    }

    /// Whether a tick in which the handle moves by `step` keeps the force limit with any rule.
    #[inline]
    fn is_far_from_limit(&self, step: Vector2<f64>) -> bool {
        // K (s₀ + Θ Δs) is at most K (|s₁| + ½ |Δs|), because Θ is between ½ and 1.
        let end = (self.stretch_m - step).norm();
        let change = (self.hand_displacement_m - step).norm();
        let start_square = (self.stretch_m - self.hand_displacement_m).norm_squared();
        let (k, limit) = (self.stiffness, self.max_force_n);
        k * end + (0.5 * k + self.damping / TICK_S) * change <= limit && start_square * (k * k) <= limit * limit
    }

    /// Returns the coupling force on the tool over the tick, clipped to the limit, world, N. The effect of the part that
    /// is clipped off is removed from the tool's velocity as well. At the limit, the force is that of the tool's pose at
    /// the end of the tick: the solve used a predicted fraction of the gains, and with its force the hand would not pay
    /// for the energy that the spring stores.
    pub fn finish(&self, solver_bodies: &mut SolverBodies) -> Vector2<f64> {
        let solver_body = &solver_bodies.all[self.tool.body];
        let step = solver_body.velocity * TICK_S
            + solver_body.shift
            + spin_cross(solver_body.angular_velocity * TICK_S + solver_body.shift_angle, self.arm_m);
        let force = self.force_of(step);
        let clipped = self.clipped(force);
        if clipped != force {
            self.apply_force(solver_bodies, clipped - force);
        }
        let end = self.limited_part(self.stretch_m - step);
        let is_limited = self.fraction < 1.0 || self.force_steps > 0 || clipped != force;
        if is_limited || end.norm_squared() * (self.stiffness * self.stiffness) > self.max_force_n * self.max_force_n {
            let force = self.force_at_end(&solver_bodies.all[self.tool.body]);
            // After a force step, the rest of the error is small, and the tool gets it too. Otherwise it may be large, and
            // would violate the contacts: then only the hand pays for the spring.
            if self.force_steps > 0 {
                self.apply_force(solver_bodies, force - clipped);
            }
            return force;
        }
        clipped
    }

    /// Returns the force of backward Euler on the tool in its pose at the end of the tick, clipped to the limit, world, N.
    fn force_at_end(&self, tool: &SolverBody) -> Vector2<f64> {
        let displacement = tool.velocity * TICK_S + tool.shift;
        let step = self.handle_displacement(displacement, tool.angular_velocity * TICK_S + tool.shift_angle);
        self.clipped(self.whole_force(step))
    }

    /// Sets the tool's displacement and end velocity after a tick under contact load. Real-time: one pass over the
    /// manifolds.
    pub fn set_displacement(&self, solver_bodies: &mut [SolverBody], manifolds: &[Manifold]) {
        let body = self.tool.body;
        solver_bodies[body].has_contact_load = true;
        solver_bodies[body].set_displacement();
        let Some(constrained) = self.constrained else { return };
        let tool = &solver_bodies[body];
        let mean = vector3(tool.velocity, tool.angular_velocity);
        let end = self.settle(constrained, mean, manifolds, solver_bodies);
        let tool = &mut solver_bodies[body];
        (tool.velocity, tool.angular_velocity) = (end.xy(), end.z);
    }

    /// Returns the velocity at the end of a tick with the given mean velocity. In a direction that carries load only
    /// since this tick, the free rule would end with a rebound: the component there is at most the mean one. A slip with
    /// friction on a fixed body that would end against its mean direction ends at rest. A tool that the contacts hold in
    /// all directions, although not all of them are constrained, would reverse its velocity in every tick and never move;
    /// it ends with the mean velocity. All of this only reduces the kinetic energy.
    fn settle(
        &self,
        mut constrained: Constrained,
        mean: Vector3<f64>,
        manifolds: &[Manifold],
        solver_bodies: &[SolverBody],
    ) -> Vector3<f64> {
        let body = self.tool.body;
        let mut end = constrained.end_velocity(self.start, mean);
        let loaded = |manifold: &&Manifold| manifold.involves(body) && manifold.normal_impulse() > 0.0;
        for manifold in manifolds.iter().filter(loaded) {
            for point in 0..manifold.count {
                if manifold.impulse.normal[point] > 0.0 {
                    end = limit_new(&mut constrained, manifold.normal_row(body, point), end, mean);
                }
            }
            if matches!(manifold.mode, Mode::Stick(_)) {
                end = limit_new(&mut constrained, manifold.slip_row(body), end, mean);
            }
        }
        for manifold in manifolds.iter().filter(loaded) {
            let other = manifold.bodies[usize::from(manifold.bodies[0] == body)];
            let slides = matches!(manifold.mode, Mode::SlideForward(_) | Mode::SlideBack(_));
            if slides
                && manifold.friction > 0.0
                && solver_bodies[other].inverse_mass == 0.0
                && let Some(direction) = constrained.add(manifold.slip_row(body))
            {
                let row = manifold.slip_row(body);
                if row.dot(&end) * row.dot(&mean) < 0.0 {
                    end = constrained.with_component(end, direction, 0.0);
                }
            }
        }
        let energy = |velocity: Vector3<f64>| velocity.dot(&constrained.momentum(velocity));
        if energy(mean) < STANDING_FRACTION * energy(end) { mean } else { end }
    }

    /// Clips a force to the limit. On a rail, only the component along the rail is clipped, because the force of the
    /// rail itself is not limited.
    fn clipped(&self, force: Vector2<f64>) -> Vector2<f64> {
        let limit = self.max_force_n;
        match self.rail {
            None if force.norm() > limit => force * (limit / force.norm()),
            Some(axis) if axis.dot(&force).abs() > limit => {
                let along = axis.dot(&force);
                force + axis * (along.clamp(-limit, limit) - along)
            }
            _ => force,
        }
    }

    /// Returns the tool's motion over the tick under the coupling and an impulse of other forces (x, y, angle); `None`
    /// if the force limit is reached. The rule is the midpoint rule; across a rail, it is backward Euler. Real-time:
    /// one 3×3 solve, and at most `solves_left` more.
    #[inline(always)]
    pub fn free_motion<P: Policy>(
        &self,
        start: &BodyState,
        impulse: Vector3<f64>,
        solves_left: &mut usize,
    ) -> Option<FreeMotion> {
        if self.is_plain() && !P::FORCED {
            let motion = self.plain_motion(velocity_of(start), impulse, 1.0);
            return if self.keeps_limit(motion.displacement()) { Some(motion) } else { None };
        }
        self.matrix_motion::<P>(start, impulse, solves_left)
    }

    /// Does what [`Self::free_motion`] does if the mass matrix is not diagonal.
    #[inline(never)]
    fn matrix_motion<P: Policy>(
        &self,
        start: &BodyState,
        impulse: Vector3<f64>,
        solves_left: &mut usize,
    ) -> Option<FreeMotion> {
        let mut rotation = FixedPoint::from(start.angular_velocity_rad_per_s * self.duration_s);
        loop {
            let arm = secant_arm(self.start_arm_m, rotation.x);
            let motion = self.motion(start, impulse, arm, 1.0);
            let has_rotation = (motion.rotation_step_rad() - rotation.x).abs()
                <= ROTATION_TOLERANCE_RAD * (1.0 + 8.0 * rotation.x.abs())
                || self.is_central;
            if (has_rotation && !P::FORCED) || *solves_left == 0 {
                let step = motion.displacement() + spin_cross(motion.rotation_step_rad(), arm);
                return (self.keeps_limit(step) || P::FORCED).then_some(motion);
            }
            rotation.improve(motion.rotation_step_rad());
            *solves_left -= 1;
        }
    }

    /// Returns the tool's velocity (x, y, angle) at the end of a free motion with the predicted arm and fraction of the
    /// gains.
    pub fn midpoint_velocity(&self, start: &BodyState, gravity: Vector2<f64>) -> Vector3<f64> {
        self.motion(start, vector3(gravity * (self.mass_kg * TICK_S), 0.0), self.arm_m, self.fraction).end
    }

    /// Returns the tool's motion for a given arm and fraction of the gains.
    #[inline(always)]
    fn motion(&self, start: &BodyState, impulse: Vector3<f64>, arm: Vector2<f64>, fraction: f64) -> FreeMotion {
        let v0 = velocity_of(start);
        if self.is_plain() {
            return self.plain_motion(v0, impulse, fraction);
        }
        let mut constrained = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        if let Some(axis) = self.rail {
            constrained.add(at_handle(across(axis), arm));
        }
        let coefficients = self.coefficients(fraction, Some(&constrained));
        let inertia = constrained.matrix();
        let response = self.inverse(inertia, arm, &coefficients);
        let mean = response.times(inertia.times(v0) + impulse + self.pull(arm, &coefficients));
        let step = mean.xy() * self.duration_s + spin_cross(mean.z * self.duration_s, arm);
        let force = self.force(step, &coefficients);
        FreeMotion {
            mean,
            end: constrained.end_velocity(v0, mean),
            impulse,
            force,
            response,
            duration_s: self.duration_s,
        }
    }

    /// Returns the motion of a tool that is held at its centre of mass, without a rail.
    #[inline(always)]
    fn plain_motion(&self, v0: Vector3<f64>, impulse: Vector3<f64>, fraction: f64) -> FreeMotion {
        let stiffness = self.stiffness * fraction;
        let implicit = stiffness / 2.0 + self.damping * fraction / self.duration_s;
        let angular = self.angular_stiffness / 2.0 + self.angular_damping / self.duration_s;
        let pull = (self.stretch_m - self.hand_displacement_m) * stiffness + self.hand_displacement_m * implicit;
        let twist = self.angular_stiffness * self.twist_rad;
        let response = 1.0 / (2.0 * self.mass_kg + implicit * (self.duration_s * self.duration_s));
        let angular_response = 1.0 / (2.0 * self.inertia_kg_m2 + angular * (self.duration_s * self.duration_s));
        let mean = (v0.xy() * (2.0 * self.mass_kg) + impulse.xy() + pull * self.duration_s) * response;
        let spin = (v0.z * (2.0 * self.inertia_kg_m2) + impulse.z + twist * self.duration_s) * angular_response;
        let mean = vector3(mean, spin);
        FreeMotion {
            mean,
            end: mean * 2.0 - v0,
            impulse,
            force: pull - mean.xy() * (implicit * self.duration_s),
            response: Symmetric3::diagonal(Vector3::new(response, response, angular_response)),
            duration_s: self.duration_s,
        }
    }

    /// Whether the force limit is not reached in a free motion with the given displacement of the handle: neither by the
    /// mean force nor by the spring at either end, where its potential would become linear.
    #[inline(always)]
    fn keeps_limit(&self, step: Vector2<f64>) -> bool {
        let change = self.limited_part(self.hand_displacement_m - step);
        let end = self.limited_part(self.stretch_m - step);
        let start = end - change;
        let wanted = (start + end) * (0.5 * self.stiffness) + change * (self.damping / self.duration_s);
        let (limit, reach) = (self.max_force_n, self.max_force_n / self.stiffness);
        let square = reach * reach;
        wanted.norm_squared() <= limit * limit && start.norm_squared() <= square && end.norm_squared() <= square
    }

    /// Whether the force was predicted to reach the limit.
    pub fn is_saturated(&self) -> bool {
        self.fraction < 1.0
    }

    /// Returns the part of a vector on which the force limit acts: the component along the rail, if there is one.
    fn limited_part(&self, vector: Vector2<f64>) -> Vector2<f64> {
        self.rail.map_or(vector, |axis| axis * axis.dot(&vector))
    }

    /// Returns the coefficients of the force with this fraction of the gains, for backward Euler or for the given
    /// constrained directions. Across a rail, the stiffness and damping of the rail apply, by backward Euler.
    fn coefficients(&self, fraction: f64, constrained: Option<&Constrained>) -> Coefficients {
        let (k, b) = (self.stiffness * fraction, self.damping * fraction);
        let (linear, angular) = constrained.map_or_else(
            || (Matrix2::identity(), 1.0),
            |constrained| {
                let linear = (Matrix2::identity() + constrained.linear_part()) * 0.5;
                (linear, 0.5 + 0.5 * constrained.angular_part())
            },
        );
        let angular = self.angular_stiffness * angular + self.angular_damping / self.duration_s;
        let identity = Matrix2::identity();
        let Some(axis) = self.rail else {
            return Coefficients {
                stiffness: identity * k,
                implicit: linear * k + identity * (b / self.duration_s),
                angular,
            };
        };
        let along = axis * axis.transpose();
        let across = identity - along;
        let end_part = axis.dot(&(linear * axis));
        Coefficients {
            stiffness: along * k + across * RAIL_STIFFNESS_N_PER_M,
            implicit: along * (k * end_part + b / self.duration_s)
                + across * (RAIL_STIFFNESS_N_PER_M + RAIL_DAMPING_N_S_PER_M / self.duration_s),
            angular,
        }
    }

    /// Returns the impulse of the coupling on a tool that does not move (x, y, angle), N·s and N·m·s.
    fn pull(&self, arm: Vector2<f64>, coefficients: &Coefficients) -> Vector3<f64> {
        let pull = coefficients.stiffness * (self.stretch_m - self.hand_displacement_m)
            + coefficients.implicit * self.hand_displacement_m;
        vector3(pull, cross(arm, pull) + self.angular_stiffness * self.twist_rad) * self.duration_s
    }

    /// Returns the coupling force on the tool in a tick in which the handle moves by `step`, world, N.
    fn force(&self, step: Vector2<f64>, coefficients: &Coefficients) -> Vector2<f64> {
        coefficients.stiffness * (self.stretch_m - self.hand_displacement_m)
            + coefficients.implicit * (self.hand_displacement_m - step)
    }

    /// Returns the coupling force on the tool by the midpoint rule, in a tick in which the centre of mass and the angle
    /// change by the given amounts, world, N. Without a force limit.
    pub fn midpoint_force(&self, displacement: Vector2<f64>, rotation_step_rad: f64) -> Vector2<f64> {
        let constrained = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        let step = self.handle_displacement(displacement, rotation_step_rad);
        self.force(step, &self.coefficients(self.fraction, Some(&constrained)))
    }

    /// Returns the coupling force on the tool if the handle moves by `step` instead of by `whole`, the motion for which
    /// `force` was computed, world, N. The rule must be that of `force`: `is_free_motion` selects the midpoint rule, in
    /// which `force` may be a mean over several parts, otherwise it is that of the contact solve. With this force, a tick
    /// that ends early is passive: the kinetic energy of v₀ + s (v₁ − v₀) and the energy of the spring are convex in s,
    /// and the force is linear in s. At the limit, the force is that of the end of the shorter motion: a linear change of
    /// a force that is clipped already would take away what the hand must pay for.
    pub fn force_of_shorter_motion(
        &self,
        force: Vector2<f64>,
        [whole, step]: [Vector2<f64>; 2],
        is_free_motion: bool,
    ) -> Vector2<f64> {
        if is_free_motion {
            let free = Constrained::none(self.mass_kg, self.inertia_kg_m2);
            return self.clipped(force + self.coefficients(1.0, Some(&free)).implicit * (whole - step));
        }
        self.clipped(if self.is_at_limit(whole) { self.whole_force(step) } else { self.force_of(step) })
    }

    /// Whether the force of a tick under contact load, in which the handle moves by `step`, is that of its end at the
    /// limit.
    fn is_at_limit(&self, step: Vector2<f64>) -> bool {
        let reach_m = self.max_force_n / self.stiffness;
        let end = self.limited_part(self.stretch_m - step);
        self.fraction < 1.0 || self.force_steps > 0 || end.norm_squared() > reach_m * reach_m
    }

    /// Whether the force on the hand may not fit the motion of the tool in a tick under contact load. At the force limit,
    /// it may differ from that of the solve, which used a predicted fraction of the gains, by a work of more than
    /// [`MISFIT_J`]; or the tool got the difference after the contacts were solved, so that their loads do work. Below the
    /// limit, the work at the handle may be wrong by more than [`REPEAT_J`], because the tool rotates by another angle than
    /// that of the secant arm. A free motion always fits. Real-time: one pass over the manifolds.
    #[inline]
    pub fn may_not_fit(&self, solver_bodies: &[SolverBody], manifolds: &[Manifold], force: Vector2<f64>) -> bool {
        let tool = &solver_bodies[self.tool.body];
        if tool.is_free_motion {
            return false;
        }
        if (self.fraction < 1.0 || self.force_steps > 0) && self.misfits_at_limit(solver_bodies, manifolds, force) {
            return true;
        }
        if self.is_central {
            return false;
        }
        let arm = secant_arm(self.start_arm_m, tool.rotation_step_rad);
        force.norm() * (arm - self.arm_m).norm() * tool.rotation_step_rad.abs() > REPEAT_J
    }

    /// Does what [`Self::may_not_fit`] does at the force limit. With the force F on the hand, F_s of the solve and F_e of the
    /// end of the tick, the tick gains at most (F_s − F)·Δhandle + (F_e − F)·Δhand. A force that the tool got after the
    /// contacts were solved is part of F_s, but it moved the tool and so changed F_e, by T (T K + B)/m of it.
    #[inline]
    fn misfits_at_limit(&self, solver_bodies: &[SolverBody], manifolds: &[Manifold], force: Vector2<f64>) -> bool {
        let tool = &solver_bodies[self.tool.body];
        let step = tool.displacement + spin_cross(tool.rotation_step_rad, self.arm_m);
        let misfit = force - self.clipped(self.force_of(step));
        let part = if self.force_steps > 0 && self.is_central { self.force_change_by_force() } else { 1.0 };
        let moved_square = 2.0 * (step.norm_squared() + self.hand_displacement_m.norm_squared());
        let works = |manifold: &Manifold| manifold.involves(self.tool.body) && does_work(manifold, solver_bodies);
        misfit.norm_squared() * (part * part) * moved_square > MISFIT_J * MISFIT_J || manifolds.iter().any(works)
    }

    /// Returns the change of the whole force at the end of a tick by a force on the tool, as a fraction of that force, for a
    /// handle at the centre of mass: T (T K + B)/m.
    #[inline]
    fn force_change_by_force(&self) -> f64 {
        TICK_S * (TICK_S * self.stiffness + self.damping) / self.mass_kg
    }

    /// Returns the energy stored in the coupling for the given positions of hand and handle and the given twist, J.
    /// Beyond the stretch at which the force reaches its limit, the spring force is constant.
    pub fn stored_j(&self, hand_m: Vector2<f64>, handle_m: Vector2<f64>, twist_rad: f64) -> f64 {
        let stretch = hand_m - handle_m;
        let angular = 0.5 * self.angular_stiffness * twist_rad * twist_rad;
        let Some(axis) = self.rail else { return self.spring_j(stretch.norm()) + angular };
        let along = axis.dot(&stretch);
        let across = stretch - axis * along;
        self.spring_j(along.abs()) + 0.5 * RAIL_STIFFNESS_N_PER_M * across.norm_squared() + angular
    }

    /// Returns the energy of the spring at a stretch, J.
    fn spring_j(&self, stretch_m: f64) -> f64 {
        if self.stiffness * stretch_m <= self.max_force_n {
            0.5 * self.stiffness * stretch_m * stretch_m
        } else {
            self.max_force_n * (stretch_m - 0.5 * self.max_force_n / self.stiffness)
        }
    }

    /// Returns the change of the energy stored in the coupling over the tick, J.
    pub fn gain_j(&self, start: &BodyState, solver_body: &SolverBody) -> f64 {
        let step = self.handle_displacement(solver_body.displacement, solver_body.rotation_step_rad);
        let handle = start.centre_m + self.start_arm_m;
        let hand = handle + self.stretch_m;
        self.stored_j(hand, handle + step, self.twist_rad - solver_body.rotation_step_rad)
            - self.stored_j(hand - self.hand_displacement_m, handle, self.twist_rad)
    }

    /// Returns the energy dissipated by the dampers in a tick in which the handle moves by `step` and the tool rotates
    /// by `rotation`, J.
    pub fn damped_j(&self, step: Vector2<f64>, rotation: f64) -> f64 {
        let slip = self.hand_displacement_m - step;
        let along = self.limited_part(slip);
        let mut linear = along.norm_squared() * self.damping * self.fraction;
        if self.rail.is_some() {
            linear += (slip - along).norm_squared() * RAIL_DAMPING_N_S_PER_M;
        }
        (linear + self.angular_damping * rotation * rotation) / TICK_S
    }

    /// Returns the displacement of the handle for a displacement of the tool's centre of mass and a change of its
    /// angle, world, m.
    pub fn handle_displacement(&self, centre: Vector2<f64>, angle: f64) -> Vector2<f64> {
        if self.is_central { centre } else { centre + spin_cross(angle, secant_arm(self.start_arm_m, angle)) }
    }

    /// Returns the index of the tool.
    pub fn body(&self) -> usize {
        self.tool.body
    }

    /// Returns the displacement of the hand in this tick, world, m.
    pub fn hand_displacement_m(&self) -> Vector2<f64> {
        self.hand_displacement_m
    }

    /// Whether the coupling leaves the mass matrix diagonal: the handle is at the centre of mass and there is no rail.
    fn is_plain(&self) -> bool {
        self.rail.is_none() && self.is_central
    }

    /// Returns the inverse of an inertia plus T² J̄ᵀ Z J̄, the coupling's resistance at the handle.
    fn inverse(&self, mut inertia: Symmetric3, arm: Vector2<f64>, coefficients: &Coefficients) -> Symmetric3 {
        let z = &coefficients.implicit;
        let around = spin_cross(1.0, arm);
        let lever = z * around;
        let corner = coefficients.angular + around.dot(&lever);
        let resistance = Symmetric3 { xx: z.m11, xy: z.m12, xz: lever.x, yy: z.m22, yz: lever.y, zz: corner };
        // The sum is positive definite: an inertia plus a resistance of zero or more.
        inertia.add_scaled(&resistance, self.duration_s * self.duration_s);
        inertia.inverse()
    }
}

/// Returns the arm of the handle in a tick under contact load in which the tool rotates by `rotation_rad`, world, m, from
/// that at its start.
fn loaded_arm(start_arm_m: Vector2<f64>, rotation_rad: f64) -> Vector2<f64> {
    secant_arm(start_arm_m, rotation_rad.clamp(-MAX_SECANT_ROTATION_RAD, MAX_SECANT_ROTATION_RAD))
}

/// Limits the component of an end velocity along a row that was not constrained so far to that of the mean velocity, and
/// adds the row to the constrained ones.
fn limit_new(constrained: &mut Constrained, row: Vector3<f64>, end: Vector3<f64>, mean: Vector3<f64>) -> Vector3<f64> {
    let Some(direction) = constrained.add(row) else { return end };
    let component = |velocity| direction.dot(&constrained.momentum(velocity));
    if component(end).abs() > component(mean).abs() {
        constrained.with_component(end, direction, component(mean))
    } else {
        end
    }
}

/// Returns the row of the Jacobian of the handle's velocity along an axis.
fn at_handle(axis: Vector2<f64>, arm: Vector2<f64>) -> Vector3<f64> {
    vector3(axis, cross(arm, axis))
}

/// Returns the direction across a rail.
fn across(axis: Vector2<f64>) -> Vector2<f64> {
    spin_cross(1.0, axis)
}

/// Returns the velocity (x, y, angle) of a body, world, m/s and rad/s.
pub fn velocity_of(body: &BodyState) -> Vector3<f64> {
    vector3(body.velocity_m_per_s, body.angular_velocity_rad_per_s)
}

fn vector3(linear: Vector2<f64>, angular: f64) -> Vector3<f64> {
    Vector3::new(linear.x, linear.y, angular)
}

/// Returns the factor, at most 1, by which the gains are reduced to keep the predicted force within the limit.
fn shrink(predicted: Vector2<f64>, input: &CouplingInput) -> f64 {
    let size = match input.rail {
        Some(axis) => axis.dot(&predicted).abs(),
        None => predicted.norm(),
    };
    if size > input.max_force_n { input.max_force_n / size } else { 1.0 }
}

/// Removes the coupling from the tool's inverse mass.
pub fn clear_coupling(solver_bodies: &mut SolverBodies, tool: usize) {
    let solver_body: &mut SolverBody = &mut solver_bodies.all[tool];
    solver_body.augmented_inverse_mass = solver_body.inverse_mass;
    solver_body.augmented_inverse_inertia = solver_body.inverse_inertia;
    solver_bodies.coupled_mass = None;
}
