//! A step for an island with a single dynamic body. Its contacts may be redundant, like those of a box on many tiles.
//!
//! Each equation that prescribes a velocity is given a softness ε d, where d is its own compliance. With the required
//! change w of the velocity, the row j of the Jacobian and the change δp of the impulse, it is j·δv + ε d δp = w.
//! Redundant contacts therefore share the change of the load. Let f be the direction of the impulse, with its sliding
//! friction, and W the inverse mass of the body. Then δv = W Σ f δp is a system of three equations for any number of
//! contacts:
//!
//!   (1 + W Σ f jᵀ/ε d) δv = W (Σ f w/ε d + known impulses).

use super::matrix::{inverse, times, transposed};
use super::system::{Equations, System};
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBodies;
use nalgebra::Vector3;

/// Softness ε of each equation that prescribes a velocity. With a smaller value, gaps that no rigid body can close all
/// at once cause large impulses, and the modes change from step to step; with a larger one, more steps are needed.
const SOFTNESS: f64 = 1e-6;

impl System {
    /// Computes the changes of the impulses of the collected manifolds, which act on a single dynamic body. Returns
    /// whether they exist: with friction, the system can be singular.
    pub(super) fn solve_one_body(&mut self, body: usize, manifolds: &[Manifold], solver_bodies: &SolverBodies) -> bool {
        let (mut columns, mut impulse) = ([Vector3::zeros(); 3], Vector3::zeros());
        for ((index, own), values) in self.loaded.iter().zip(&mut self.values) {
            let manifold = &manifolds[*index];
            *values = own.values(manifold, solver_bodies);
            let rows = Rows::new(own, manifold, body);
            for (row, &value) in values.iter().enumerate() {
                if let Some(stiffness) = rows.stiffness[row] {
                    let force = rows.force(own, row) * stiffness;
                    impulse += force * value;
                    for (column, along) in columns.iter_mut().zip(rows.along[row].iter()) {
                        *column += force * *along;
                    }
                } else if value != 0.0 {
                    impulse += rows.force(own, row) * value;
                }
            }
        }
        let respond = |impulse: Vector3<f64>| {
            let (linear, angular) = solver_bodies.response(body, impulse.xy(), impulse.z);
            [linear.x, linear.y, angular]
        };
        let mut system = transposed(&columns.map(respond));
        for (row, entries) in system.iter_mut().enumerate() {
            entries[row] += 1.0;
        }
        let velocity = Vector3::from(times(&inverse(&system), &respond(impulse)));
        for ((index, own), values) in self.loaded.iter().zip(&mut self.values) {
            let rows = Rows::new(own, &manifolds[*index], body);
            for ((value, along), stiffness) in values.iter_mut().zip(&rows.along).zip(rows.stiffness) {
                if let Some(stiffness) = stiffness {
                    *value = stiffness * (*value - along.dot(&velocity));
                }
            }
            values[2] -= own.slides.unwrap_or(0.0) * (values[0] + values[1]);
        }
        velocity.iter().all(|component| component.is_finite())
    }
}

/// The equations of a manifold as rows for the velocity of one of its bodies.
struct Rows {
    /// Row of the Jacobian of each equation: first normal, second normal, tangent.
    along: [Vector3<f64>; 3],
    /// 1/ε d of each equation that prescribes a velocity; `None` for one that prescribes an impulse.
    stiffness: [Option<f64>; 3],
}

impl Rows {
    #[inline(always)]
    fn new(own: &Equations, manifold: &Manifold, body: usize) -> Self {
        let sign = if manifold.bodies[1] == body { 1.0 } else { -1.0 };
        let along = [manifold.normal_row(body, 0), manifold.normal_row(body, 1), manifold.slip_row(body)];
        let soft = |compliance: f64| 1.0 / (SOFTNESS * compliance);
        let m = &manifold.mass;
        let stiffness = [
            own.loaded[0].then(|| soft(m.n11)),
            own.loaded[1].then(|| soft(m.n22)),
            own.slides.is_none().then(|| soft(m.tt)),
        ];
        Self { along: along.map(|row| row * sign), stiffness }
    }

    /// Returns the impulse on the body for each unit of the impulse of a row.
    #[inline(always)]
    fn force(&self, own: &Equations, row: usize) -> Vector3<f64> {
        match own.slides {
            Some(signed_friction) if row < 2 => self.along[row] - self.along[2] * signed_friction,
            _ => self.along[row],
        }
    }
}
