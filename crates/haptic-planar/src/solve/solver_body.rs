//! What a tick works on: each body's velocity at the end of the tick, and how impulses change it.

use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::tick::TICK_S;
use nalgebra::{Matrix3, Vector2, Vector3};

/// One body during one tick.
#[derive(Clone, Copy, Debug)]
pub struct SolverBody {
    /// Velocity of the centre of mass at the end of the tick, m/s.
    pub velocity: Vector2<f64>,
    /// Spin at the end of the tick, rad/s.
    pub angular_velocity: f64,
    /// Inverse mass as the contact solve sees it (the coupling inside), 1/kg.
    pub inverse_mass: f64,
    /// Inverse inertia likewise, 1/(kg·m²).
    pub inverse_inertia: f64,
    /// How far impacts of this tick moved the virtual start, m.
    pub shift: Vector2<f64>,
    /// The same for the angle, rad.
    pub shift_angle: f64,
    /// Acceleration by the forces known at the start of the tick, m/s².
    pub acceleration: Vector2<f64>,
    /// The same for the spin, rad/s².
    pub angular_acceleration: f64,
    /// Inverse of the bare mass, 1/kg; impacts are too short to feel the coupling.
    pub bare_inverse_mass: f64,
    /// Inverse of the bare inertia, 1/(kg·m²).
    pub bare_inverse_inertia: f64,
    /// Farthest that a point of the body can go in this tick by its velocity, m.
    pub reach_m: f64,
    /// Farthest that a near body can go in this tick, and so send this one, m.
    pub sent_m: f64,
    /// Displacement of the centre of mass over the tick, m.
    pub step: Vector2<f64>,
    /// Displacement of the angle over the tick, rad.
    pub step_angle: f64,
    /// A contact carries load on this body in this tick.
    pub loaded: bool,
    /// A contact carried load on this body in the last tick: it stands among others.
    pub was_loaded: bool,
    /// An impact changed this body in this tick.
    pub struck: bool,
    /// It goes so far in this tick that its way must be swept.
    pub fast: bool,
}

impl SolverBody {
    fn resting(bare_inverse_mass: f64, bare_inverse_inertia: f64) -> Self {
        Self {
            velocity: Vector2::zeros(),
            angular_velocity: 0.0,
            inverse_mass: bare_inverse_mass,
            inverse_inertia: bare_inverse_inertia,
            shift: Vector2::zeros(),
            shift_angle: 0.0,
            acceleration: Vector2::zeros(),
            angular_acceleration: 0.0,
            bare_inverse_mass,
            bare_inverse_inertia,
            reach_m: 0.0,
            sent_m: 0.0,
            step: Vector2::zeros(),
            step_angle: 0.0,
            loaded: false,
            was_loaded: false,
            struck: false,
            fast: false,
        }
    }

    /// The tick's displacement: with a load on the body to the end velocity's (backward Euler), which a contact needs;
    /// in free flight by the midpoint rule, which is exact under a constant force.
    #[inline]
    pub fn set_step(&mut self) {
        self.step = self.shift + self.velocity * TICK_S;
        self.step_angle = self.shift_angle + self.angular_velocity * TICK_S;
        if !self.loaded {
            self.step -= self.acceleration * (TICK_S * TICK_S / 2.0);
            self.step_angle -= self.angular_acceleration * (TICK_S * TICK_S / 2.0);
        }
    }

    /// Works out how far a point of the body can go in this tick, given its distance from the centre.
    #[inline]
    pub fn set_reach(&mut self, radius_m: f64) {
        self.reach_m = TICK_S * (self.velocity.norm() + self.angular_velocity.abs() * radius_m);
        self.sent_m = 0.0;
    }
}

/// The tool's inverse mass matrix when the grip joins its translation and rotation (handle off centre, or a rail).
#[derive(Clone, Copy, Debug)]
pub struct CoupledMass {
    /// Which body.
    pub body: usize,
    /// Inverse of mass plus coupling, rows x, y, angle.
    pub inverse: Matrix3<f64>,
}

/// All bodies during one tick.
#[derive(Clone, Debug)]
pub struct SolverBodies {
    /// In file order; fixed bodies have zero inverse masses and never change.
    pub all: Vec<SolverBody>,
    /// Set when the tool's mass matrix is not diagonal.
    pub joined: Option<CoupledMass>,
}

impl SolverBodies {
    /// Working memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        let all = scene.bodies.iter().map(|b| SolverBody::resting(1.0 / b.mass_kg, 1.0 / b.inertia_kg_m2)).collect();
        Self { all, joined: None }
    }

    /// Velocities after a tick of free flight under gravity and air drag. Real-time: once over the moving bodies.
    pub fn fall(&mut self, scene: &Scene, bodies: &[BodyState], moving: &[usize]) {
        let dv = scene.gravity_m_per_s2 * TICK_S;
        for &i in moving {
            let work = &mut self.all[i];
            let motion = &bodies[i];
            work.velocity = motion.velocity_m_per_s + dv;
            work.acceleration = scene.gravity_m_per_s2;
            work.angular_velocity = motion.angular_velocity_rad_per_s;
            work.angular_acceleration = 0.0;
            work.shift = Vector2::zeros();
            work.shift_angle = 0.0;
            work.was_loaded = work.loaded;
            work.loaded = false;
            work.struck = false;
        }
        if scene.air_drag_n_m_s_per_rad > 0.0 {
            self.drag(scene.air_drag_n_m_s_per_rad, moving);
        }
    }

    /// Air drag slows the spin (Sauer et al.), solved at the end of the step so that it never reverses it.
    fn drag(&mut self, drag: f64, moving: &[usize]) {
        for &i in moving {
            let work = &mut self.all[i];
            let slowed = work.angular_velocity / (1.0 + TICK_S * drag * work.bare_inverse_inertia);
            work.angular_acceleration = (slowed - work.angular_velocity) / TICK_S;
            work.angular_velocity = slowed;
        }
    }

    /// Changes a body's velocity by an impulse at its centre and an angular impulse, the coupling inside.
    #[inline]
    pub fn push(&mut self, body: usize, impulse: Vector2<f64>, angular: f64) {
        let work = &mut self.all[body];
        if let Some(joined) = &self.joined
            && joined.body == body
        {
            let change = joined.inverse * Vector3::new(impulse.x, impulse.y, angular);
            work.velocity += change.xy();
            work.angular_velocity += change.z;
        } else {
            work.velocity += impulse * work.inverse_mass;
            work.angular_velocity += angular * work.inverse_inertia;
        }
    }

    /// Compliance of a body between two generalised directions (x, y, arm): row · M̂⁻¹ · column.
    #[inline]
    pub fn compliance(&self, body: usize, row: Vector3<f64>, column: Vector3<f64>) -> f64 {
        if let Some(joined) = &self.joined
            && joined.body == body
        {
            row.dot(&(joined.inverse * column))
        } else {
            let work = &self.all[body];
            row.xy().dot(&column.xy()) * work.inverse_mass + row.z * column.z * work.inverse_inertia
        }
    }

    /// Whether a body's mass matrix is not diagonal.
    #[inline]
    pub fn is_joined(&self, body: usize) -> bool {
        self.joined.is_some_and(|joined| joined.body == body)
    }
}
