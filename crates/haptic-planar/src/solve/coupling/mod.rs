//! The coupling of one tick, solved inside the step.
//!
//! The force on the tool is F = K (s₀ + Θ Δs) + B Δs/T, where s₀ is the stretch at the start of the tick (hand minus
//! handle) and Δs its change. Θ = ½ is the midpoint rule and Θ = 1 backward Euler; [`Constrained`] chooses between the
//! two for each direction. The unknown is the mean velocity v̄ of the tool:
//!
//!   [M (2 − P) + T² J̄ᵀ Z J̄] v̄ = M (2 − P) v₀ + T f + T J̄ᵀ (K s₀ + Z Δhand) + impulses,   Z = K Θ + B/T.
//!
//! J̄ uses the secant arm of the handle, so J̄ T v̄ is exactly the displacement of the handle and the force does
//! exactly the work that the energy balance counts. Both rules store the same energy, so the step can switch between
//! them from tick to tick.

mod balance;
mod free_motion;
mod limit;
mod loaded;
mod rail;

pub use free_motion::{FreeMotion, MAX_PARTS, MAX_SOLVES};
pub use limit::{MAX_REPEATS, REPEAT_SWEEPS, Refinement};

use crate::input::CouplingInput;
use crate::math::{cross, rotate, secant_arm, spin_cross};
use crate::scene::body_state::BodyState;
use crate::scene::{Scene, Tool};
use crate::solve::constrained::Constrained;
use crate::solve::fixed_point::FixedPoint;
use crate::solve::solver_body::{CoupledMass, SolverBodies, SolverBody};
use crate::solve::symmetric::Symmetric3;
use crate::tick::TICK_S;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Stiffness across a rail, N/m. With a smaller value, a contact force would push the handle visibly off its line.
const RAIL_STIFFNESS_N_PER_M: f64 = 1e6;
/// Damping across a rail, N·s/m; prevents oscillation across the rail.
const RAIL_DAMPING_N_S_PER_M: f64 = 1e3;
/// Largest rotation for which a tick under contact load uses the secant arm, rad. A light tool on a stiff spring can
/// rotate by radians; then the secant arms of the repetitions need not converge, and with a wrong one the force moves
/// the tool against itself at the start of the tick, so that no part of the tick is passive. With an arm close to that
/// of the start, a short enough part of it is.
const MAX_SECANT_ROTATION_RAD: f64 = 0.5;

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
        let is_central = tool.handle_m.x == 0.0 && tool.handle_m.y == 0.0;
        let (velocity, angular_velocity) = (body_state.velocity_m_per_s, body_state.angular_velocity_rad_per_s);
        let (start_arm, arm, handle_velocity) = if is_central {
            (Vector2::zeros(), Vector2::zeros(), velocity)
        } else {
            let start_arm = rotate(body_state.rotation, tool.handle_m);
            let arm = loaded_arm(start_arm, angular_velocity * TICK_S);
            (start_arm, arm, velocity + spin_cross(angular_velocity, arm))
        };
        let stretch = input.hand_m - (body_state.centre_m + start_arm);
        let hand_displacement = input.hand_m - input.hand_before_m;
        let handle_displacement = handle_velocity * TICK_S;
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
            start: vector3(velocity, angular_velocity),
            forced: vector3(forced.velocity, forced.angular_velocity),
            is_central,
            max_force_n: input.max_force_n,
            rail: input.rail,
        }
    }

    /// Adds the coupling to the tool's velocity and mass, for the contact solve. With constrained directions, the
    /// velocity of the solve is the mean velocity of the tick; otherwise, it is also that at its end. Real-time: at
    /// most one 3×3 inverse.
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
        let coefficients = self.coefficients(self.fraction, self.loaded_rule());
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

    /// Applies a change of the coupling force over the tick to the tool.
    pub fn apply_force(&self, solver_bodies: &mut SolverBodies, force: Vector2<f64>) {
        let impulse = force * TICK_S;
        solver_bodies.apply_impulse(self.tool.body, impulse, cross(self.arm_m, impulse));
    }

    /// Returns the coefficients of the force with this fraction of the gains for a handle at `arm`, for backward Euler
    /// or for the given constrained directions. Across a rail, the stiffness and damping of the rail apply, by backward
    /// Euler.
    fn coefficients(&self, fraction: f64, constrained: Option<(&Constrained, Vector2<f64>)>) -> Coefficients {
        let (k, b) = (self.stiffness * fraction, self.damping * fraction);
        let (linear, angular) = constrained
            .map_or_else(|| (Matrix2::identity(), 1.0), |(constrained, arm)| (constrained.spring_part(arm), 0.5));
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

    /// Returns the constrained directions and the arm of the contact solve; `None` for backward Euler.
    #[inline]
    fn loaded_rule(&self) -> Option<(&Constrained, Vector2<f64>)> {
        self.constrained.as_ref().map(|constrained| (constrained, self.arm_m))
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

    /// Returns the displacement of the handle for a displacement of the tool's centre of mass and a change of its
    /// angle, world, m.
    pub fn handle_displacement(&self, centre: Vector2<f64>, angle: f64) -> Vector2<f64> {
        if self.is_central { centre } else { centre + spin_cross(angle, secant_arm(self.start_arm_m, angle)) }
    }

    /// Returns the position of the handle in a pose of the tool, world, m.
    #[inline]
    pub fn handle_m(&self, tool: &BodyState) -> Vector2<f64> {
        if self.is_central { tool.centre_m } else { tool.centre_m + rotate(tool.rotation, self.tool.handle_m) }
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

/// Returns the arm of the handle in a tick under contact load in which the tool rotates by `rotation_rad`, world, m,
/// from that at its start.
fn loaded_arm(start_arm_m: Vector2<f64>, rotation_rad: f64) -> Vector2<f64> {
    secant_arm(start_arm_m, rotation_rad.clamp(-MAX_SECANT_ROTATION_RAD, MAX_SECANT_ROTATION_RAD))
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
