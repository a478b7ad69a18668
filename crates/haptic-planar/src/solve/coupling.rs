//! The coupling of one tick, solved inside the step.
//!
//! Backward Euler: M̂ = M + J_hᵀ(T B + T² K)J_h, v = M̂⁻¹[M v₀ + T f + T J_hᵀ(K (x_d − x_h) + B ẋ_d)]. Here x_d is the
//! position of the hand and x_h that of the handle. If no contact carries load, the midpoint rule is used instead,
//! because it has no numerical damping and keeps the frequency of the oscillation. Both rules store the same energy, so
//! the step can switch between them from tick to tick.

use crate::input::CouplingInput;
use crate::math::integrate_rotation;
use crate::math::rotate;
use crate::math::{cross, spin_cross};
use crate::scene::body_state::BodyState;
use crate::scene::{Scene, Tool};
use crate::solve::solver_body::{CoupledMass, SolverBodies, SolverBody};
use crate::tick::TICK_S;
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// Stiffness across a rail, N/m. With a smaller value, a contact force would push the handle visibly off its line.
const RAIL_STIFFNESS_N_PER_M: f64 = 1e6;
/// Damping across a rail, N·s/m; prevents oscillation across the rail.
const RAIL_DAMPING_N_S_PER_M: f64 = 1e3;

/// The coupling of one tick.
#[derive(Clone, Copy, Debug)]
pub struct ImplicitCoupling {
    tool: Tool,
    mass_kg: f64,
    inertia_kg_m2: f64,
    /// Vector from the centre of mass to the handle in the middle of the tick, world, m.
    arm_m: Vector2<f64>,
    stiffness: Matrix2<f64>,
    damping: Matrix2<f64>,
    angular_stiffness: f64,
    angular_damping: f64,
    /// Vector from the handle at the start of the tick to the hand at its end, world, m.
    stretch_m: Vector2<f64>,
    hand_displacement_m: Vector2<f64>,
    /// Rest angle of the tool minus its angle at the start of the tick, rad.
    twist_rad: f64,
    saturated: bool,
    max_force_n: f64,
    /// Unit direction of the rail, if there is one.
    rail: Option<Vector2<f64>>,
    full_stiffness: f64,
}

/// The tool's motion in this tick without contacts.
#[derive(Clone, Copy, Debug)]
pub struct FreeMotion {
    /// Velocity at the end of the tick, world, m/s.
    pub velocity: Vector2<f64>,
    /// Angular velocity at the end of the tick, rad/s.
    pub angular_velocity: f64,
    /// Displacement of the centre of mass, world, m.
    pub displacement: Vector2<f64>,
    /// Change of the angle, rad.
    pub rotation_step_rad: f64,
    /// Displacement of the handle, world, m.
    pub handle_displacement: Vector2<f64>,
}

impl ImplicitCoupling {
    /// Creates the coupling of this tick. If the predicted force exceeds the limit, the gains are reduced until it does
    /// not, so that the same limited force acts on the hand and on the tool.
    pub fn new(scene: &Scene, tool: Tool, body_state: &BodyState, input: &CouplingInput, rest_angle_rad: f64) -> Self {
        let stretch = input.hand_m - (body_state.centre_m + rotate(body_state.rotation, tool.handle_m));
        let arm = middle_arm(tool, body_state);
        let hand_displacement = input.hand_m - input.hand_before_m;
        let handle_displacement =
            (body_state.velocity_m_per_s + spin_cross(body_state.angular_velocity_rad_per_s, arm)) * TICK_S;
        let (k, b) = (input.stiffness_n_per_m, input.damping_n_s_per_m);
        let predicted = (stretch - handle_displacement) * k + (hand_displacement - handle_displacement) * (b / TICK_S);
        let fraction = shrink(predicted, input);
        let (stiffness, damping) = gains(k * fraction, b * fraction, input.rail);
        Self {
            tool,
            mass_kg: scene.bodies[tool.body].mass_kg,
            inertia_kg_m2: scene.bodies[tool.body].inertia_kg_m2,
            arm_m: arm,
            stiffness,
            damping,
            angular_stiffness: input.angular_stiffness_n_m_per_rad,
            angular_damping: input.angular_damping_n_m_s_per_rad,
            stretch_m: stretch,
            hand_displacement_m: hand_displacement,
            twist_rad: rest_angle_rad - body_state.angle_rad,
            saturated: fraction < 1.0,
            max_force_n: input.max_force_n,
            rail: input.rail,
            full_stiffness: k,
        }
    }

    /// Adds the coupling to the tool's velocity and mass, for the contact solve. Real-time: at most one 3×3 inverse.
    pub fn apply(&self, solver_bodies: &mut SolverBodies, body_state: &BodyState) {
        let resistance = self.damping * TICK_S + self.stiffness * (TICK_S * TICK_S);
        let angular_resistance = self.angular_damping * TICK_S + self.angular_stiffness * (TICK_S * TICK_S);
        let pull = self.stiffness * self.stretch_m * TICK_S + self.damping * self.hand_displacement_m;
        let twist = self.angular_stiffness * self.twist_rad * TICK_S;
        let solver_body = &mut solver_bodies.all[self.tool.body];
        let momentum = solver_body.velocity * self.mass_kg + pull;
        let angular = solver_body.angular_velocity * self.inertia_kg_m2 + cross(self.arm_m, pull) + twist;
        if self.is_plain() {
            solver_body.augmented_inverse_mass = 1.0 / (self.mass_kg + resistance.m11);
            solver_body.augmented_inverse_inertia = 1.0 / (self.inertia_kg_m2 + angular_resistance);
            solver_body.velocity = momentum * solver_body.augmented_inverse_mass;
            solver_body.angular_velocity = angular * solver_body.augmented_inverse_inertia;
            solver_bodies.coupled_mass = None;
        } else {
            let inverse = self.inverse(resistance, angular_resistance);
            let free = inverse * Vector3::new(momentum.x, momentum.y, angular);
            // The momentum includes the pull at the handle, and the matrix includes the resistance there.
            solver_body.augmented_inverse_mass = inverse.m11;
            solver_body.augmented_inverse_inertia = inverse.m33;
            solver_body.velocity = free.xy();
            solver_body.angular_velocity = free.z;
            solver_bodies.coupled_mass = Some(CoupledMass { body: self.tool.body, inverse });
        }
        let solver_body = &mut solver_bodies.all[self.tool.body];
        solver_body.acceleration = (solver_body.velocity - body_state.velocity_m_per_s) / TICK_S;
        solver_body.angular_acceleration =
            (solver_body.angular_velocity - body_state.angular_velocity_rad_per_s) / TICK_S;
    }

    /// Applies an impact on the tool at the time τ after the start of the tick: v += M̂⁻¹ (M + τ (T K + B)) ΔV. Without
    /// the coupling, the impact would change the velocity by ΔV = (dv, dw).
    pub fn apply_impact(&self, solver_bodies: &mut SolverBodies, tau_s: f64, dv: Vector2<f64>, dw: f64) {
        let late = (self.stiffness * TICK_S + self.damping) * tau_s;
        let force = late * (dv + spin_cross(dw, self.arm_m));
        let angular_resistance = (self.angular_stiffness * TICK_S + self.angular_damping) * tau_s;
        let impulse = dv * self.mass_kg + force;
        let angular = dw * (self.inertia_kg_m2 + angular_resistance) + cross(self.arm_m, force);
        solver_bodies.apply_impulse(self.tool.body, impulse, angular);
    }

    /// Returns the coupling force on the tool over the tick by backward Euler, clipped to the limit, world, N. The
    /// effect of the part that is clipped off is removed from the tool's velocity as well.
    #[inline(always)]
    pub fn finish(&self, solver_bodies: &mut SolverBodies) -> Vector2<f64> {
        let solver_body = &solver_bodies.all[self.tool.body];
        let step = self.handle_displacement(
            solver_body.velocity * TICK_S + solver_body.shift,
            solver_body.angular_velocity * TICK_S + solver_body.shift_angle,
        );
        let force =
            self.stiffness * (self.stretch_m - step) + self.damping * (self.hand_displacement_m - step) / TICK_S;
        let clipped = self.clipped(force);
        if clipped == force {
            return force;
        }
        let excess = (clipped - force) * TICK_S;
        solver_bodies.apply_impulse(self.tool.body, excess, cross(self.arm_m, excess));
        clipped
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

    /// Whether the coupling allows the midpoint rule in this tick: the gains are not reduced by the force limit, and
    /// there is no rail.
    pub fn allows_midpoint(&self) -> bool {
        !self.saturated && self.rail.is_none()
    }

    /// Whether a force is within the force limit of the coupling.
    pub fn within_limit(&self, force: Vector2<f64>) -> bool {
        force.norm_squared() <= self.max_force_n * self.max_force_n
    }

    /// Returns the tool's free motion by the midpoint rule, from the state at the start of the tick.
    pub fn midpoint(&self, start: &BodyState, gravity: Vector2<f64>) -> FreeMotion {
        let (v0, w0) = (start.velocity_m_per_s, start.angular_velocity_rad_per_s);
        let handle_speed = v0 + spin_cross(w0, self.arm_m);
        let middle = self.stretch_m - self.hand_displacement_m / 2.0 - handle_speed * (TICK_S / 4.0);
        let pull = self.stiffness * middle * TICK_S
            + self.damping * (self.hand_displacement_m - handle_speed * (TICK_S / 2.0));
        let twist = (self.angular_stiffness * (self.twist_rad - w0 * (TICK_S / 4.0)) - self.angular_damping * w0 / 2.0)
            * TICK_S;
        let momentum = (v0 + gravity * TICK_S) * self.mass_kg + pull;
        let angular = w0 * self.inertia_kg_m2 + cross(self.arm_m, pull) + twist;
        let (v1, w1) = self.midpoint_response(momentum, angular);
        let (displacement, rotation_step_rad) = (mean_displacement(v0, v1), (w0 + w1) * (TICK_S / 2.0));
        FreeMotion {
            velocity: v1,
            angular_velocity: w1,
            displacement,
            rotation_step_rad,
            handle_displacement: self.handle_displacement(displacement, rotation_step_rad),
        }
    }

    /// Changes a free motion so that the point with the lever arm `arm_m` moves `by_m` farther along `direction`.
    /// Returns the impulse that this takes, N·s.
    pub fn displace(&self, free_motion: &mut FreeMotion, direction: Vector2<f64>, arm_m: f64, by_m: f64) -> f64 {
        let (dv, dw) = self.midpoint_response(direction, arm_m);
        let give = (direction.dot(&dv) + arm_m * dw) * (TICK_S / 2.0);
        let impulse = by_m / give;
        free_motion.velocity += dv * impulse;
        free_motion.angular_velocity += dw * impulse;
        free_motion.displacement += dv * (impulse * TICK_S / 2.0);
        free_motion.rotation_step_rad += dw * (impulse * TICK_S / 2.0);
        free_motion.handle_displacement =
            self.handle_displacement(free_motion.displacement, free_motion.rotation_step_rad);
        impulse
    }

    /// Returns the change of the tool's linear and angular velocity by an impulse and an angular impulse under the
    /// midpoint rule.
    fn midpoint_response(&self, impulse: Vector2<f64>, angular: f64) -> (Vector2<f64>, f64) {
        let resistance = self.damping * (TICK_S / 2.0) + self.stiffness * (TICK_S * TICK_S / 4.0);
        let angular_resistance =
            self.angular_damping * (TICK_S / 2.0) + self.angular_stiffness * (TICK_S * TICK_S / 4.0);
        if self.is_plain() {
            (impulse / (self.mass_kg + resistance.m11), angular / (self.inertia_kg_m2 + angular_resistance))
        } else {
            let change = self.inverse(resistance, angular_resistance) * Vector3::new(impulse.x, impulse.y, angular);
            (change.xy(), change.z)
        }
    }

    /// Returns the coupling force on the tool by the midpoint rule, in a tick in which the handle moves by `step`,
    /// world, N.
    pub fn midpoint_force(&self, step: Vector2<f64>) -> Vector2<f64> {
        self.stiffness * (self.stretch_m - (self.hand_displacement_m + step) / 2.0)
            + self.damping * (self.hand_displacement_m - step) / TICK_S
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

    /// Returns the energy of the spring at a stretch, J. Uses the full stiffness, because the reduced one differs from
    /// tick to tick.
    fn spring_j(&self, stretch_m: f64) -> f64 {
        if self.full_stiffness * stretch_m <= self.max_force_n {
            0.5 * self.full_stiffness * stretch_m * stretch_m
        } else {
            self.max_force_n * (stretch_m - 0.5 * self.max_force_n / self.full_stiffness)
        }
    }

    /// Returns the change of the energy stored in the coupling over the tick, J.
    pub fn gain_j(&self, start: &BodyState, solver_body: &SolverBody) -> f64 {
        let step = self.handle_displacement(solver_body.displacement, solver_body.rotation_step_rad);
        let handle = start.centre_m + rotate(start.rotation, self.tool.handle_m);
        let hand = handle + self.stretch_m;
        self.stored_j(hand, handle + step, self.twist_rad - solver_body.rotation_step_rad)
            - self.stored_j(hand - self.hand_displacement_m, handle, self.twist_rad)
    }

    /// Returns the energy dissipated by the dampers in a tick in which the handle moves by `step` and the tool rotates
    /// by `rotation`, J.
    pub fn damped_j(&self, step: Vector2<f64>, rotation: f64) -> f64 {
        let slip = self.hand_displacement_m - step;
        (slip.dot(&(self.damping * slip)) + self.angular_damping * rotation * rotation) / TICK_S
    }

    /// Returns the displacement of the handle for a displacement of the tool's centre of mass and a change of its
    /// angle, to first order, as in the solve.
    pub fn handle_displacement(&self, centre: Vector2<f64>, angle: f64) -> Vector2<f64> {
        centre + spin_cross(angle, self.arm_m)
    }

    /// Returns the index of the tool.
    pub fn body(&self) -> usize {
        self.tool.body
    }

    /// Returns the displacement of the hand in this tick, world, m.
    pub fn hand_displacement_m(&self) -> Vector2<f64> {
        self.hand_displacement_m
    }

    /// Whether the mass matrix stays diagonal: the handle is at the centre of mass and there is no rail.
    fn is_plain(&self) -> bool {
        self.rail.is_none() && self.tool.handle_m == Vector2::zeros()
    }

    /// Returns the inverse of the mass matrix plus the coupling's resistance at the handle.
    fn inverse(&self, resistance: Matrix2<f64>, angular_resistance: f64) -> Matrix3<f64> {
        let around = spin_cross(1.0, self.arm_m);
        let lever = resistance * around;
        let corner = self.inertia_kg_m2 + angular_resistance + around.dot(&lever);
        let mass = Matrix3::new(
            self.mass_kg + resistance.m11,
            resistance.m12,
            lever.x,
            resistance.m21,
            self.mass_kg + resistance.m22,
            lever.y,
            lever.x,
            lever.y,
            corner,
        );
        // The matrix is positive definite: the body's own mass plus a resistance of zero or more.
        mass.try_inverse().unwrap_or_else(Matrix3::zeros)
    }
}

/// Returns the arm of the handle in the middle of the tick: the chord along which a rotating handle moves is
/// perpendicular to this arm.
fn middle_arm(tool: Tool, body_state: &BodyState) -> Vector2<f64> {
    if tool.handle_m == Vector2::zeros() {
        return Vector2::zeros();
    }
    rotate(
        integrate_rotation(body_state.rotation, body_state.angular_velocity_rad_per_s * (TICK_S / 2.0)),
        tool.handle_m,
    )
}

/// Returns the factor, at most 1, by which the gains are reduced to keep the predicted force within the limit.
fn shrink(predicted: Vector2<f64>, input: &CouplingInput) -> f64 {
    let size = match input.rail {
        Some(axis) => axis.dot(&predicted).abs(),
        None => predicted.norm(),
    };
    if size > input.max_force_n { input.max_force_n / size } else { 1.0 }
}

/// Returns the stiffness and damping matrices; across a rail, the stiffness and damping of the rail apply.
fn gains(k: f64, b: f64, rail: Option<Vector2<f64>>) -> (Matrix2<f64>, Matrix2<f64>) {
    let all = Matrix2::identity();
    match rail {
        None => (all * k, all * b),
        Some(axis) => {
            let along = axis * axis.transpose();
            let across = all - along;
            (along * k + across * RAIL_STIFFNESS_N_PER_M, along * b + across * RAIL_DAMPING_N_S_PER_M)
        }
    }
}

/// Removes the coupling from the tool's inverse mass.
pub fn clear_coupling(solver_bodies: &mut SolverBodies, tool: usize) {
    let solver_body: &mut SolverBody = &mut solver_bodies.all[tool];
    solver_body.augmented_inverse_mass = solver_body.inverse_mass;
    solver_body.augmented_inverse_inertia = solver_body.inverse_inertia;
    solver_bodies.coupled_mass = None;
}

/// Returns the displacement over a tick with the given velocities at its start and end, by the midpoint rule.
fn mean_displacement(before: Vector2<f64>, after: Vector2<f64>) -> Vector2<f64> {
    (before + after) * (TICK_S / 2.0)
}
