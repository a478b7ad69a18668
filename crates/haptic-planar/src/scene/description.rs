//! Contents of a scene file as plain data, not validated yet. [`Scene::build`](crate::scene::Scene::build) validates
//! it.

use nalgebra::Vector2;

/// Description of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneDescription {
    /// Gravity of the world, m/s².
    pub gravity_m_per_s2: Vector2<f64>,
    /// Restitution law.
    pub restitution_law: RestitutionLaw,
    /// State in which an impact is resolved.
    pub impact_state: ImpactState,
    /// Rolling friction after Sauer et al.: a torque of this many metres times the normal force, against the rotation.
    pub rolling_friction: f64,
    /// Air drag after Sauer et al.: a torque per rad/s, against the rotation.
    pub air_drag_n_m_s_per_rad: f64,
    /// Bodies in file order.
    pub bodies: Vec<BodyDescription>,
    /// Overrides for single pairs of bodies.
    pub pairs: Vec<PairDescription>,
    /// The tool, if any.
    pub tool: Option<ToolDescription>,
}

impl Default for SceneDescription {
    fn default() -> Self {
        Self {
            gravity_m_per_s2: Vector2::new(0.0, -9.81),
            restitution_law: RestitutionLaw::Stronge,
            impact_state: ImpactState::InterState,
            rolling_friction: 0.0,
            air_drag_n_m_s_per_rad: 0.0,
            bodies: Vec::new(),
            pairs: Vec::new(),
            tool: None,
        }
    }
}

/// Description of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyDescription {
    /// Unique name.
    pub name: String,
    /// A fixed body never moves.
    pub fixed: bool,
    /// Position of the shape's frame in the world, m.
    pub position_m: Vector2<f64>,
    /// Rotation of the shape's frame, rad, anticlockwise.
    pub angle_rad: f64,
    /// Outline in the shape's frame.
    pub shape: ShapeDescription,
    /// Radius by which the outline is grown, m.
    pub rounding_m: f64,
    /// Mass per area; used when no mass is given.
    pub density_kg_per_m2: f64,
    /// Mass, if given.
    pub mass_kg: Option<f64>,
    /// Moment of inertia about the centre of mass, if given.
    pub inertia_kg_m2: Option<f64>,
    /// Coulomb coefficient; a pair takes the geometric mean.
    pub friction: f64,
    /// Coefficient of restitution; a pair takes the larger.
    pub restitution: f64,
    /// Velocity of the centre of mass at the start, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Angular velocity at the start, rad/s, anticlockwise.
    pub angular_velocity_rad_per_s: f64,
    /// Bodies of different layers do not touch.
    pub layer: i32,
    /// Colour for pictures, `#rrggbb`.
    pub colour: String,
}

impl BodyDescription {
    /// A dynamic body with every optional value at its default.
    pub fn new(name: &str, shape: ShapeDescription) -> Self {
        Self {
            name: name.to_owned(),
            fixed: false,
            position_m: Vector2::zeros(),
            angle_rad: 0.0,
            shape,
            rounding_m: 0.0,
            density_kg_per_m2: 10.0,
            mass_kg: None,
            inertia_kg_m2: None,
            friction: 0.5,
            restitution: 0.2,
            velocity_m_per_s: Vector2::zeros(),
            angular_velocity_rad_per_s: 0.0,
            layer: 0,
            colour: "#8899aa".to_owned(),
        }
    }
}

/// The outline of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeDescription {
    /// A disc about the frame's origin.
    Disc {
        /// Radius, m.
        radius_m: f64,
    },
    /// A box centred on the frame's origin.
    Box {
        /// Full width (x) and height (y), m.
        size_m: Vector2<f64>,
    },
    /// A simple polygon, convex or concave, either winding.
    Polygon {
        /// Corners, m.
        corners_m: Vec<Vector2<f64>>,
    },
    /// A segment along x, grown by a radius.
    Capsule {
        /// Distance between the centres of the two round ends, m.
        length_m: f64,
        /// Radius of the round ends, m.
        radius_m: f64,
    },
}

/// Overrides for one pair of bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDescription {
    /// The two bodies' names.
    pub bodies: [String; 2],
    /// Coulomb coefficient of this pair.
    pub friction: Option<f64>,
    /// Restitution of this pair.
    pub restitution: Option<f64>,
}

/// The body that the hand holds, and the handle.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// The body's name.
    pub body: String,
    /// Handle in the body's frame, m.
    pub handle_m: Vector2<f64>,
}

/// Meaning of the coefficient of restitution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestitutionLaw {
    /// Ratio of the elastic strain energies (Stronge): never gains energy.
    #[default]
    Stronge,
    /// Ratio of the normal impulses (Poisson).
    Poisson,
}

/// The state in which an impact is resolved: the choices of Chang & Colgate 1997, section 4.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImpactState {
    /// The paper's choice 5, made passive: see *Time and state of an impact* in `docs/physics.md`.
    #[default]
    InterState,
    /// Choice 5 as printed: gains energy; for comparison.
    InterStateAsPrinted,
    /// Choice 1, the exact collision state; unbounded in principle, so not for the daemon.
    Exact,
    /// Choice 2, the previous valid state.
    Previous,
    /// Choice 3, the previous position with the current velocity.
    PreviousPosition,
    /// Choice 4, a limited search for the time of contact.
    LimitedSearch,
    /// Choice 6, force and impulse spread over the step.
    ForceImpulse,
}
