//! Contents of a scene file as plain data, not validated yet. [`Scene::build`](crate::scene::Scene::build) validates
//! them.

use nalgebra::Vector2;

/// Description of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneDescription {
    /// Gravity, world, m/s².
    pub gravity_m_per_s2: Vector2<f64>,
    /// Restitution law.
    pub restitution_law: RestitutionLaw,
    /// Impact state: the position and velocity at which impacts are resolved.
    pub impact_state: ImpactState,
    /// Rolling friction after Sauer et al., m: the torque against the rotation is at most this length times the normal
    /// force.
    pub rolling_friction: f64,
    /// Air drag after Sauer et al., N·m·s/rad: the torque against the rotation per rad/s.
    pub air_drag_n_m_s_per_rad: f64,
    /// Bodies in file order.
    pub bodies: Vec<BodyDescription>,
    /// Overrides for individual pairs of bodies.
    pub pairs: Vec<PairDescription>,
    /// The tool, if any.
    pub tool: Option<ToolDescription>,
    /// The bounds of the world, if any.
    pub bounds: Option<Bounds>,
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
            bounds: None,
        }
    }
}

/// Description of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyDescription {
    /// Unique name.
    pub name: String,
    /// Whether the body is fixed, so that it never moves.
    pub fixed: bool,
    /// Initial position of the origin of the body's frame, world, m.
    pub position_m: Vector2<f64>,
    /// Initial angle of the body's frame, rad, anticlockwise.
    pub angle_rad: f64,
    /// Shapes that the body consists of, one or more. They may touch and overlap.
    pub shapes: Vec<PlacedShape>,
    /// Radius by which the shapes without a rounding of their own are grown, m.
    pub rounding_m: f64,
    /// Mass per area, kg/m²; used if no mass is given.
    pub density_kg_per_m2: f64,
    /// Mass, kg, if given; otherwise computed from the density.
    pub mass_kg: Option<f64>,
    /// Moment of inertia about the centre of mass, kg·m², if given; otherwise computed from the mass and the shape.
    pub inertia_kg_m2: Option<f64>,
    /// Coulomb coefficient; a pair of bodies uses the geometric mean of their coefficients.
    pub friction: f64,
    /// Coefficient of restitution; a pair of bodies uses the larger of their coefficients.
    pub restitution: f64,
    /// Initial velocity of the centre of mass, world, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Initial angular velocity, rad/s, anticlockwise.
    pub angular_velocity_rad_per_s: f64,
    /// Layer; bodies in different layers do not touch.
    pub layer: i32,
    /// Colour for pictures, `#rrggbb`.
    pub colour: String,
}

impl BodyDescription {
    /// Returns the description of a dynamic body with every optional value at its default.
    pub fn new(name: &str, shape: ShapeDescription) -> Self {
        Self {
            name: name.to_owned(),
            fixed: false,
            position_m: Vector2::zeros(),
            angle_rad: 0.0,
            shapes: vec![PlacedShape::at_origin(shape)],
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

/// A shape of a body and its place in the body's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedShape {
    /// Outline in the shape's frame.
    pub shape: ShapeDescription,
    /// Origin of the shape's frame, body frame, m.
    pub position_m: Vector2<f64>,
    /// Angle of the shape's frame in the body's frame, rad, anticlockwise.
    pub angle_rad: f64,
    /// Radius by which the outline is grown, m; without it, that of the body.
    pub rounding_m: Option<f64>,
}

impl PlacedShape {
    /// Returns a shape whose frame is the frame of its body.
    pub fn at_origin(shape: ShapeDescription) -> Self {
        Self { shape, position_m: Vector2::zeros(), angle_rad: 0.0, rounding_m: None }
    }

    /// Whether the frame of the shape is the frame of its body.
    pub fn is_at_origin(&self) -> bool {
        self.position_m == Vector2::zeros() && self.angle_rad == 0.0
    }
}

/// An outline.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeDescription {
    /// A disc centred on the origin of the shape's frame.
    Disc {
        /// Radius, m.
        radius_m: f64,
    },
    /// A box centred on the origin of the shape's frame.
    Box {
        /// Full width (x) and height (y), m.
        size_m: Vector2<f64>,
    },
    /// A simple polygon, convex or concave, in either winding order.
    Polygon {
        /// Corners in the shape's frame, m.
        corners_m: Vec<Vector2<f64>>,
    },
    /// A segment along x, centred on the origin of the shape's frame and grown by a radius.
    Capsule {
        /// Distance between the centres of the two round ends, m.
        length_m: f64,
        /// Radius of the round ends, m.
        radius_m: f64,
    },
    /// A line of straight walls, for rooms and mazes.
    Walls {
        /// Points of the line in the shape's frame, m.
        points_m: Vec<Vector2<f64>>,
        /// Thickness of the walls, half of it on each side of the line, m.
        thickness_m: f64,
        /// Whether a wall joins the last point to the first.
        closed: bool,
    },
}

/// Overrides for one pair of bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDescription {
    /// Names of the two bodies.
    pub bodies: [String; 2],
    /// Coulomb coefficient of this pair, if given.
    pub friction: Option<f64>,
    /// Restitution of this pair, if given.
    pub restitution: Option<f64>,
}

/// Description of the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// Name of the body that is the tool.
    pub body: String,
    /// Position of the handle in the body's frame, m.
    pub handle_m: Vector2<f64>,
    /// Whether gravity does not act on the tool.
    pub weightless: bool,
}

/// A rectangle along the axes of the world, and what happens to a dynamic body whose centre of mass leaves it. The tool
/// may leave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Two opposite corners, world, m, in any order; in a [`Scene`](crate::scene::Scene), the lower left and the upper
    /// right one.
    pub corners_m: [Vector2<f64>; 2],
    /// What happens to the body.
    pub leave: Leave,
}

impl Bounds {
    /// Returns the bounds with the lower left and the upper right corner.
    pub fn sorted(&self) -> Self {
        let [one, other] = self.corners_m;
        Self { corners_m: [one.inf(&other), one.sup(&other)], leave: self.leave }
    }

    /// Whether a point is inside or on the edge; the corners must be sorted.
    #[inline]
    pub fn contain(&self, point_m: Vector2<f64>) -> bool {
        let [low, high] = self.corners_m;
        low.x <= point_m.x && point_m.x <= high.x && low.y <= point_m.y && point_m.y <= high.y
    }
}

/// What happens to a body that leaves the bounds of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leave {
    /// It is put back to its initial pose at rest as soon as no other dynamic body is there. Until then, it stands still
    /// where it left.
    #[default]
    Respawn,
    /// It touches nothing from then on and is not drawn.
    Remove,
    /// It stands still where it left, like a fixed body.
    Stop,
}

/// Meaning of the coefficient of restitution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestitutionLaw {
    /// Square root of the ratio of the energy released in restitution to the energy absorbed in compression (Stronge).
    /// Never adds energy.
    #[default]
    Stronge,
    /// Ratio of the normal impulse of restitution to that of compression (Poisson).
    Poisson,
}

/// Impact state: the position and velocity at which an impact is resolved. The numbers are those of the choices in
/// Chang & Colgate 1997, section 4.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImpactState {
    /// Choice 5, modified to be passive; see *Time and state of an impact* in `docs/physics.md`.
    #[default]
    InterState,
    /// Choice 5 as printed in the paper. It gains energy and exists only for comparison.
    InterStateAsPrinted,
    /// Choice 1, the exact collision state. Its cost has no useful bound, so it is for simulation only.
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
