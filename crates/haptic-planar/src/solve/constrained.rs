//! Directions of the tool's motion that contacts or a rail constrain in a tick, and the rule of integration that
//! follows from them.
//!
//! With the mean velocity v̄ of the tick, the velocity v₁ at its end is
//!
//!   v₁ = v̄ + (1 − P)(v̄ − v₀),   Δq = T v̄,   M (v₁ − v₀) = impulses of the tick,
//!
//! where P is the projector onto the constrained directions that is orthogonal in the metric of M. P = 0 is the
//! midpoint rule and P = 1 is backward Euler. With d = v̄ − v₀, the kinetic energy changes by the work of all forces
//! over Δq minus ½ dᵀ M P d. The rule is therefore passive for any P, and lossless where P = 0. In the constrained
//! directions, a load acts on the end velocity as in backward Euler; the other directions have no numerical damping.

use crate::math::{cross, spin_cross};
use crate::solve::symmetric::Symmetric3;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Part of a row's squared length that must be independent of the earlier rows for the row to count.
const INDEPENDENT: f64 = 1e-8;
/// Square of the lever below which a handle hardly moves along the only constrained row, as a fraction of the squared
/// radius of gyration. A smooth change up to this lever avoids a jump of the force.
const HELD_LEVER_SQUARE: f64 = 1e-3;

/// Constrained directions of one tick, at most three: the generalised velocities are x, y and angle.
#[derive(Clone, Copy, Debug)]
pub struct Constrained {
    /// Diagonal of the mass matrix M: kg, kg, kg·m².
    mass: Vector3<f64>,
    /// Directions e with e_iᵀ M e_j = δ_ij; the first `count` are valid.
    directions: [Vector3<f64>; 3],
    count: usize,
}

impl Constrained {
    /// Returns no constrained directions: the midpoint rule.
    pub fn none(mass_kg: f64, inertia_kg_m2: f64) -> Self {
        let mass = Vector3::new(mass_kg, mass_kg, inertia_kg_m2);
        Self { mass, directions: [Vector3::zeros(); 3], count: 0 }
    }

    /// Adds the direction of a row of a constraint's Jacobian, made orthogonal to the earlier ones. Returns that
    /// direction; `None` if the row depends on earlier ones.
    pub fn add(&mut self, row: Vector3<f64>) -> Option<Vector3<f64>> {
        let bare = row.component_div(&self.mass);
        let mut direction = bare;
        for earlier in &self.directions[..self.count] {
            direction -= earlier * earlier.dot(&row);
        }
        let square = direction.dot(&self.mass.component_mul(&direction));
        if self.count == 3 || square <= INDEPENDENT * row.dot(&bare) {
            return None;
        }
        direction /= square.sqrt();
        self.directions[self.count] = direction;
        self.count += 1;
        Some(direction)
    }

    /// Returns the number of constrained directions.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the momentum M v.
    pub fn momentum(&self, velocity: Vector3<f64>) -> Vector3<f64> {
        self.mass.component_mul(&velocity)
    }

    /// Returns M (2 − P), the inertia that the mean velocity sees.
    pub fn matrix(&self) -> Symmetric3 {
        let mut matrix = Symmetric3::diagonal(self.mass * 2.0);
        for direction in &self.directions[..self.count] {
            matrix.subtract_square(self.momentum(*direction));
        }
        matrix
    }

    /// Returns Θ, the part of the change of a spring's stretch in the tick that its force includes, for a handle at
    /// `arm` from the centre of mass: ½ along the motions of the handle that the constraints leave free, 1 across them.
    /// Symmetric. With more than ½ along a free motion, the spring would damp it.
    pub fn spring_part(&self, arm: Vector2<f64>) -> Matrix2<f64> {
        let identity = Matrix2::identity();
        match self.count {
            0 => identity * 0.5,
            1 => identity * 0.5 + self.part_across_row(arm),
            2 => identity - self.part_along_free_motion(arm),
            _ => identity,
        }
    }

    /// Returns what one constrained direction adds to Θ. The handle can move along its row only by rotation, with the
    /// distance between the handle and the line of the row as a lever.
    fn part_across_row(&self, arm: Vector2<f64>) -> Matrix2<f64> {
        let row = self.momentum(self.directions[0]);
        let (axis, square) = (row.xy(), row.xy().norm_squared());
        let moment = cross(arm, axis) - row.z;
        let free = moment * moment * self.mass.x / (square * self.mass.z * HELD_LEVER_SQUARE);
        if free < 1.0 { axis * axis.transpose() * (0.5 * (1.0 - free) / square) } else { Matrix2::zeros() }
    }

    /// Returns what the only free motion under two constrained directions takes off Θ.
    fn part_along_free_motion(&self, arm: Vector2<f64>) -> Matrix2<f64> {
        let free = self.momentum(self.directions[0]).cross(&self.momentum(self.directions[1]));
        let moved = free.xy() + spin_cross(free.z, arm);
        let square = moved.norm_squared();
        if square * self.mass.x > INDEPENDENT * free.dot(&self.momentum(free)) {
            moved * moved.transpose() * (0.5 / square)
        } else {
            Matrix2::zeros()
        }
    }

    /// Returns a velocity whose component along a direction of [`Self::add`] is replaced with `component`.
    pub fn with_component(&self, velocity: Vector3<f64>, direction: Vector3<f64>, component: f64) -> Vector3<f64> {
        velocity + direction * (component - direction.dot(&self.momentum(velocity)))
    }

    /// Returns the velocity at the end of a tick with the given velocity at its start and mean velocity.
    pub fn end_velocity(&self, start: Vector3<f64>, mean: Vector3<f64>) -> Vector3<f64> {
        let change = mean - start;
        let mut end = mean + change;
        for direction in &self.directions[..self.count] {
            end -= direction * direction.dot(&self.momentum(change));
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 3]; 3] = [[0.6, 0.8, 0.02], [0.6, 0.8, -0.01], [0.8, -0.6, 0.03]];

    fn constrained(rows: usize) -> Constrained {
        let mut all = Constrained::none(0.1, 2e-5);
        ROWS[..rows].iter().for_each(|&row| assert!(all.add(Vector3::from(row)).is_some()));
        all
    }

    #[test]
    fn no_direction_gives_the_midpoint_rule_and_three_give_backward_euler() {
        let (start, mean) = (Vector3::new(1.0, -2.0, 30.0), Vector3::new(1.5, 0.5, -20.0));
        assert!((constrained(0).end_velocity(start, mean) - (mean * 2.0 - start)).norm() < 1e-12);
        assert!((constrained(3).end_velocity(start, mean) - mean).norm() < 1e-12);
    }

    #[test]
    fn a_constrained_row_moves_as_its_end_velocity_says() {
        let (start, mean) = (Vector3::new(1.0, -2.0, 30.0), Vector3::new(1.5, 0.5, -20.0));
        for count in 1..=2 {
            let end = constrained(count).end_velocity(start, mean);
            for row in &ROWS[..count] {
                assert!((Vector3::from(*row).dot(&(end - mean))).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_spring_does_not_damp_the_only_free_motion_of_its_handle() {
        let arm = Vector2::new(0.02, -0.007);
        let all = constrained(2);
        let free = Vector3::from(ROWS[0]).cross(&Vector3::from(ROWS[1]));
        let moved = free.xy() + spin_cross(free.z, arm);
        assert!((all.spring_part(arm) * moved - moved * 0.5).norm() < 1e-12 * moved.norm());
        assert_eq!(constrained(0).spring_part(arm), Matrix2::identity() * 0.5);
        assert_eq!(constrained(3).spring_part(arm), Matrix2::identity());
    }

    #[test]
    fn one_row_holds_a_handle_on_its_line_and_no_other() {
        let row = Vector3::from(ROWS[0]);
        let on_line = Vector2::new(row.y, -row.x) * row.z;
        let part = constrained(1).spring_part(on_line);
        assert!((part * row.xy() - row.xy()).norm() < 1e-12);
        assert!((part * Vector2::new(row.y, -row.x) - Vector2::new(row.y, -row.x) * 0.5).norm() < 1e-12);
        assert_eq!(constrained(1).spring_part(on_line * 1.5), Matrix2::identity() * 0.5);
    }

    #[test]
    fn a_dependent_row_is_left_out() {
        let mut all = constrained(2);
        assert!(all.add(Vector3::new(1.2, 1.6, 0.005)).is_none());
        assert_eq!(all.count, 2);
    }
}
