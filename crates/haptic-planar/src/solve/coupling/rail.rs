//! Free motion of a tool on a rail: the handle stays on its line, and the force of the rail does no work.
//!
//! With the centre's coordinate x along the rail and the angle θ, the velocity across it is −β ω, where β(θ) is the
//! component of the handle's arm along the rail. The kinetic energy is therefore ½ m ẋ² + ½ D ω², D = I + m β². With
//! π = √D ω it is ½ m ẋ² + ½ π², a constant metric, in which the midpoint rule is exact in the energy:
//!
//!   Δθ = T π̄/√D̄,   π₁ − π₀ = Q/√D̄,   π̄ = (π₀ + π₁)/2,   so that ½ (π₁² − π₀²) = Q Δθ/T,
//!
//! where Q is the angular impulse of all forces along the motion. This holds for any √D̄; the one used is the mean of √D
//! over the rotation by Simpson's rule. The secant arm makes the displacements exact, so that the handle stays on the
//! line without an iteration, and the velocity at the end satisfies the constraint with the arm at the end.
//!
//! Rejected: the rail as a spring by backward Euler, whose direction in the body's frame turns from tick to tick. The
//! velocity at the end of a tick then violates the constraint of the next one by ω² r T, and the rule takes off the
//! kinetic energy of this component: ω⁴ r² T per second and kilogram.

use super::{FreeMotion, ImplicitCoupling, RAIL_STIFFNESS_N_PER_M, across, vector3, velocity_of};
use crate::math::{cross, integrate_rotation, rotate, secant_arm, spin_cross};
use crate::scene::body_state::BodyState;
use crate::solve::symmetric::Symmetric3;
use nalgebra::{Vector2, Vector3};

/// Part of its distance from the line by which a handle returns in a free motion. A tick under contact load can leave
/// the handle as far off the line as the rail yields, some micrometres.
const RETURN_FRACTION: f64 = 0.5;
/// Largest distance by which a handle returns to the line in a free motion, m. It is a change of the position alone, so
/// it must be small against the distances that the search for contacts covers.
const MAX_RETURN_M: f64 = 1e-4;

impl ImplicitCoupling {
    /// Returns the tool's motion on a rail along `axis` under the coupling and an impulse of other forces (x, y,
    /// angle), for an assumed rotation.
    #[inline(never)]
    pub(super) fn rail_motion(
        &self,
        start: &BodyState,
        impulse: Vector3<f64>,
        axis: Vector2<f64>,
        rotation_rad: f64,
    ) -> FreeMotion {
        let (m, t) = (self.mass_kg, self.duration_s);
        let v0 = velocity_of(start);
        let normal = across(axis);
        let arm = secant_arm(self.start_arm_m, rotation_rad);
        let turn = Turn::new(self, axis, rotation_rad);
        // Velocity of the line, and the start velocity that is compatible with it.
        let line_speed = normal.dot(&self.hand_displacement_m) / t;
        let along0 = axis.dot(&v0.xy());
        let spin0 = turn.project(self, v0.z, normal.dot(&v0.xy()) - line_speed);
        let momentum0 = turn.root[0] * spin0;

        let implicit = 0.5 * self.stiffness + self.damping / t;
        let angular = 0.5 * self.angular_stiffness + self.angular_damping / t;
        let (lever, height) = (axis.dot(&arm), cross(arm, axis));
        let pull = axis.dot(&(self.stretch_m - self.hand_displacement_m)) * self.stiffness
            + axis.dot(&self.hand_displacement_m) * implicit;
        let (pushed, pushed_across) = (axis.dot(&impulse.xy()), normal.dot(&impulse.xy()));
        let right = [
            2.0 * m * along0 + pushed + pull * t,
            2.0 * turn.mean_root * momentum0 + impulse.z - lever * pushed_across
                + (height * pull + self.angular_stiffness * self.twist_rad) * t,
        ];
        let [xx, xz, zz] = [
            2.0 * m + implicit * t * t,
            implicit * height * t * t,
            2.0 * turn.mean_root * turn.mean_root + (implicit * height * height + angular) * t * t,
        ];
        let scale = 1.0 / (xx * zz - xz * xz);
        let inverse = [zz * scale, -xz * scale, xx * scale];
        let along = inverse[0] * right[0] + inverse[1] * right[1];
        let spin = inverse[1] * right[0] + inverse[2] * right[1];

        let return_speed = self.return_m(normal, pushed_across / t) / t;
        let mean = vector3(axis * along + normal * (line_speed + return_speed - lever * spin), spin);
        let end_spin = (2.0 * turn.mean_root * spin - momentum0) / turn.root[1];
        let end_along = 2.0 * along - along0;
        let end = vector3(axis * end_along + normal * (line_speed - turn.lever[1] * end_spin), end_spin);
        let force_along = pull - implicit * (along + height * spin) * t;
        let force_across = (normal.dot(&(end - v0).xy()) * m - pushed_across) / t;
        FreeMotion {
            mean,
            end,
            impulse,
            force: axis * force_along + normal * force_across,
            response: response(axis, normal * -lever, inverse),
            duration_s: t,
        }
    }

    /// Returns the arm of the handle after a rotation, world, m.
    pub(super) fn end_arm(&self, rotation_rad: f64) -> Vector2<f64> {
        self.start_arm_m + spin_cross(rotation_rad, secant_arm(self.start_arm_m, rotation_rad))
    }

    /// Returns the distance by which the tool is moved across the rail to bring its handle back to the line, m. The
    /// energy K e² κ (1 − κ/2) that the rail releases for the part κ of the distance e must cover the work −f e κ
    /// against the other forces f across the rail.
    fn return_m(&self, normal: Vector2<f64>, force: f64) -> f64 {
        let off_m = normal.dot(&(self.stretch_m - self.hand_displacement_m));
        if off_m == 0.0 {
            return 0.0;
        }
        let paid = 2.0 * (1.0 + force / (RAIL_STIFFNESS_N_PER_M * off_m));
        (off_m * paid.clamp(0.0, RETURN_FRACTION)).clamp(-MAX_RETURN_M, MAX_RETURN_M)
    }
}

/// Levers of a handle on a rail in a rotation, and the inertia D of the rotation about it.
struct Turn {
    /// Components β of the arm along the rail at the start and at the end, m.
    lever: [f64; 2],
    /// √D at the start and at the end, √(kg·m²).
    root: [f64; 2],
    /// √D̄.
    mean_root: f64,
}

impl Turn {
    fn new(coupling: &ImplicitCoupling, axis: Vector2<f64>, rotation_rad: f64) -> Self {
        let half = integrate_rotation(Vector2::x(), 0.5 * rotation_rad);
        let arms = [coupling.start_arm_m, rotate(half, coupling.start_arm_m), coupling.end_arm(rotation_rad)];
        let levers = arms.map(|arm| axis.dot(&arm));
        let roots = levers.map(|lever| (coupling.inertia_kg_m2 + coupling.mass_kg * lever * lever).sqrt());
        Self {
            lever: [levers[0], levers[2]],
            root: [roots[0], roots[2]],
            mean_root: (roots[0] + 4.0 * roots[1] + roots[2]) / 6.0,
        }
    }

    /// Returns the angular velocity at the start after the rail has stopped the velocity of the handle across it, for a
    /// centre that moves across the line at `speed`. Only an impact or a tick under contact load leaves such a velocity.
    fn project(&self, coupling: &ImplicitCoupling, spin: f64, speed: f64) -> f64 {
        let lever = self.lever[0];
        (coupling.inertia_kg_m2 * spin - coupling.mass_kg * lever * speed) / (self.root[0] * self.root[0])
    }
}

/// Returns the change of the mean velocity by an impulse, for a tool that moves along `axis`, and by `swing` when it
/// rotates. `inverse` is the inverse of the mass for these two motions: xx, xz, zz.
fn response(axis: Vector2<f64>, swing: Vector2<f64>, inverse: [f64; 3]) -> Symmetric3 {
    let [xx, xz, zz] = inverse;
    let along = axis * xx + swing * xz;
    let turned = axis * xz + swing * zz;
    Symmetric3 {
        xx: along.x * axis.x + turned.x * swing.x,
        xy: along.x * axis.y + turned.x * swing.y,
        xz: turned.x,
        yy: along.y * axis.y + turned.y * swing.y,
        yz: turned.y,
        zz,
    }
}
