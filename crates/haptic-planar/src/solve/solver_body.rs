//! Solver bodies: the velocity of each body at the end of the tick, and its change v += M̂⁻¹ P by an impulse P, where
//! the mass matrix M̂ includes the coupling.

use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::solve::symmetric::Symmetric3;
use crate::tick::TICK_S;
use nalgebra::{Vector2, Vector3};

/// Velocities, inverse masses and displacement of one body during one tick.
#[derive(Clone, Copy, Debug)]
pub struct SolverBody {
    /// Velocity of the centre of mass at the end of the tick, world, m/s.
    pub velocity: Vector2<f64>,
    /// Angular velocity at the end of the tick, rad/s.
    pub angular_velocity: f64,
    /// Inverse mass including the coupling, for the contact solve, 1/kg. For a tool with a [`CoupledMass`], the first
    /// diagonal entry of its inverse mass matrix.
    pub augmented_inverse_mass: f64,
    /// Inverse inertia including the coupling, for the contact solve, 1/(kg·m²). For a tool with a [`CoupledMass`], the
    /// last diagonal entry of its inverse mass matrix.
    pub augmented_inverse_inertia: f64,
    /// Shift d of the virtual start position by the impacts of this tick, world, m.
    pub shift: Vector2<f64>,
    /// Shift of the virtual start angle by the impacts of this tick, rad.
    pub shift_angle: f64,
    /// Acceleration by the forces known at the start of the tick, world, m/s².
    pub acceleration: Vector2<f64>,
    /// Angular acceleration by the forces known at the start of the tick, rad/s².
    pub angular_acceleration: f64,
    /// Inverse mass without the coupling, 1/kg; used for impacts, which are too short for the coupling to act.
    pub inverse_mass: f64,
    /// Inverse inertia without the coupling, 1/(kg·m²).
    pub inverse_inertia: f64,
    /// Upper bound of the displacement of any point of the body by its velocity in this tick, m.
    pub reach_m: f64,
    /// Largest reach of the bodies near this one, m. An impact can move this body about that far.
    pub neighbour_reach_m: f64,
    /// Displacement of the centre of mass over the tick, world, m.
    pub displacement: Vector2<f64>,
    /// Rotation over the tick, rad.
    pub rotation_step_rad: f64,
    /// Whether this body was under contact load in the last tick.
    pub had_contact_load: bool,
    /// Whether this body is under contact load in this tick, or its displacement is integrated as if it were.
    pub has_contact_load: bool,
    /// Whether the motion of this tick is a free motion of the tool by the midpoint rule; valid for a held tool.
    pub is_free_motion: bool,
    /// Whether an impact changed this body in this tick.
    pub had_impact: bool,
    /// Time of the last impact on this body after the start of the tick, s; only valid if it had one.
    pub struck_s: f64,
    /// Whether this body moves so far in this tick that its time of impact is needed.
    pub is_fast: bool,
    /// Whether this body is fast only by its rotation, without an impact in this tick.
    pub only_rotates_fast: bool,
    /// Whether an obstacle leaves this body next to no motion in this tick.
    pub is_blocked: bool,
    /// Fraction of the displacement of a fast body along which its near pairs are known, 0 to 1. The body stops there.
    pub searched_fraction: f64,
    /// Whether this body rotated or moved so far in this tick that gaps cannot be extrapolated to the end of the tick.
    pub has_curved_motion: bool,
}

impl SolverBody {
    fn resting(inverse_mass: f64, inverse_inertia: f64) -> Self {
        Self {
            velocity: Vector2::zeros(),
            angular_velocity: 0.0,
            augmented_inverse_mass: inverse_mass,
            augmented_inverse_inertia: inverse_inertia,
            shift: Vector2::zeros(),
            shift_angle: 0.0,
            acceleration: Vector2::zeros(),
            angular_acceleration: 0.0,
            inverse_mass,
            inverse_inertia,
            reach_m: 0.0,
            neighbour_reach_m: 0.0,
            displacement: Vector2::zeros(),
            rotation_step_rad: 0.0,
            had_contact_load: false,
            has_contact_load: false,
            is_free_motion: false,
            had_impact: false,
            struck_s: 0.0,
            is_fast: false,
            only_rotates_fast: false,
            is_blocked: false,
            searched_fraction: 1.0,
            has_curved_motion: false,
        }
    }

    /// Sets the displacement of the tick. Under contact load, it is d + T v by backward Euler, the rule for which
    /// contacts are solved. In free motion, it is d + T v − ½ T² a by the midpoint rule, which is exact under a
    /// constant force.
    #[inline]
    pub fn set_displacement(&mut self) {
        self.displacement = self.shift + self.velocity * TICK_S;
        self.rotation_step_rad = self.shift_angle + self.angular_velocity * TICK_S;
        if !self.has_contact_load {
            self.displacement -= self.acceleration * (TICK_S * TICK_S / 2.0);
            self.rotation_step_rad -= self.angular_acceleration * (TICK_S * TICK_S / 2.0);
        }
    }

    /// Whether the free motion of a held tool had to be changed because it would have entered a fixed body, although
    /// the tool carried no load in the last tick.
    #[inline]
    pub fn starts_to_graze(&self) -> bool {
        self.is_free_motion && self.has_contact_load && !self.had_contact_load
    }

    /// Returns the kinetic energy of a dynamic body, without the coupling, J; zero if it stands outside the bounds.
    pub fn kinetic_j(&self) -> f64 {
        if self.inverse_mass == 0.0 {
            return 0.0;
        }
        let spin = self.angular_velocity * self.angular_velocity / self.inverse_inertia;
        0.5 * (self.velocity.norm_squared() / self.inverse_mass + spin)
    }

    /// Sets the reach of this body in this tick and clears that of its neighbours. `radius_m` is the largest distance
    /// of a point of the body from its centre of mass.
    #[inline]
    pub fn set_reach(&mut self, radius_m: f64) {
        self.reach_m = TICK_S * (self.velocity.norm() + self.angular_velocity.abs() * radius_m);
        self.neighbour_reach_m = 0.0;
    }
}

/// The tool's inverse mass matrix if the coupling makes it non-diagonal (handle off centre, or a rail).
#[derive(Clone, Copy, Debug)]
pub struct CoupledMass {
    /// Index of the tool.
    pub body: usize,
    /// Inverse of the mass matrix including the coupling; the rows and columns are x, y and angle.
    pub inverse: Symmetric3,
}

/// The solver bodies of all bodies during one tick.
#[derive(Clone, Debug)]
pub struct SolverBodies {
    /// Bodies in file order; fixed bodies and those that have left the bounds have zero inverse masses.
    pub all: Vec<SolverBody>,
    /// The tool's inverse mass matrix if it is not diagonal; `None` otherwise.
    pub coupled_mass: Option<CoupledMass>,
}

impl SolverBodies {
    /// Preallocates memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        let all = scene.bodies.iter().map(|b| SolverBody::resting(1.0 / b.mass_kg, 1.0 / b.inertia_kg_m2)).collect();
        Self { all, coupled_mass: None }
    }

    /// Sets the velocities after a tick of gravity, v = v₀ + T g, and air drag, and resets the data of the last tick.
    /// `left` marks the bodies that have left the bounds of the scene; it is empty without bounds. Real-time: one pass
    /// over the dynamic bodies, and one more with bounds.
    #[inline(always)]
    pub fn integrate_forces(&mut self, scene: &Scene, bodies: &[BodyState], left: &[bool]) {
        for &i in &scene.dynamic_bodies {
            let solver_body = &mut self.all[i];
            let (body_state, gravity) = (&bodies[i], scene.bodies[i].gravity_m_per_s2);
            solver_body.velocity = body_state.velocity_m_per_s + gravity * TICK_S;
            solver_body.acceleration = gravity;
            solver_body.angular_velocity = body_state.angular_velocity_rad_per_s;
            solver_body.angular_acceleration = 0.0;
            solver_body.shift = Vector2::zeros();
            solver_body.shift_angle = 0.0;
            solver_body.has_contact_load = false;
            solver_body.had_impact = false;
        }
        if scene.bounds.is_some() {
            self.hold(scene, left);
        }
        if scene.air_drag_n_m_s_per_rad > 0.0 {
            self.drag(scene.air_drag_n_m_s_per_rad, &scene.dynamic_bodies);
        }
    }

    /// Makes the bodies that have left the bounds like fixed ones, and all others movable. The workspace may come from a
    /// state in which other bodies have left. The tool, whose masses include the coupling, never leaves.
    #[cold]
    #[inline(never)]
    fn hold(&mut self, scene: &Scene, left: &[bool]) {
        let tool = scene.tool.map(|tool| tool.body);
        for &i in scene.dynamic_bodies.iter().filter(|&&body| tool != Some(body)) {
            let (body, solver_body) = (&scene.bodies[i], &mut self.all[i]);
            (solver_body.inverse_mass, solver_body.inverse_inertia) =
                if left[i] { (0.0, 0.0) } else { (1.0 / body.mass_kg, 1.0 / body.inertia_kg_m2) };
            solver_body.augmented_inverse_mass = solver_body.inverse_mass;
            solver_body.augmented_inverse_inertia = solver_body.inverse_inertia;
            if left[i] {
                (solver_body.velocity, solver_body.angular_velocity) = (Vector2::zeros(), 0.0);
                solver_body.acceleration = Vector2::zeros();
            }
        }
    }

    /// Applies air drag (Sauer et al.), which reduces the angular velocity. The integration is implicit, so that drag
    /// never reverses the rotation.
    #[cold]
    fn drag(&mut self, drag: f64, dynamic_bodies: &[usize]) {
        for &i in dynamic_bodies {
            let solver_body = &mut self.all[i];
            let slowed = solver_body.angular_velocity / (1.0 + TICK_S * drag * solver_body.inverse_inertia);
            solver_body.angular_acceleration = (slowed - solver_body.angular_velocity) / TICK_S;
            solver_body.angular_velocity = slowed;
        }
    }

    /// Applies an impulse at the centre of mass and an angular impulse to a body, whose mass includes the coupling.
    #[inline]
    pub fn apply_impulse(&mut self, body: usize, impulse: Vector2<f64>, angular: f64) {
        let (dv, dw) = self.response(body, impulse, angular);
        self.all[body].velocity += dv;
        self.all[body].angular_velocity += dw;
    }

    /// Returns the change of a body's velocity and angular velocity, M̂⁻¹ P, by an impulse at the centre of mass and an
    /// angular impulse.
    #[inline]
    pub fn response(&self, body: usize, impulse: Vector2<f64>, angular: f64) -> (Vector2<f64>, f64) {
        if let Some(coupled_mass) = &self.coupled_mass
            && coupled_mass.body == body
        {
            let change = coupled_mass.inverse.times(Vector3::new(impulse.x, impulse.y, angular));
            (change.xy(), change.z)
        } else {
            let solver_body = &self.all[body];
            (impulse * solver_body.augmented_inverse_mass, angular * solver_body.augmented_inverse_inertia)
        }
    }

    /// Returns the inverse mass matrix of a body if it is not diagonal.
    #[inline]
    pub fn coupled_inverse(&self, body: usize) -> Option<&Symmetric3> {
        self.coupled_mass.as_ref().filter(|coupled_mass| coupled_mass.body == body).map(|coupled| &coupled.inverse)
    }
}
