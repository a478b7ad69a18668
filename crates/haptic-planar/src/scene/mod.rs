//! The scene: everything that is constant after loading.

pub mod body_state;
mod build;
pub(crate) mod capacity;
pub mod decompose;
pub mod description;
pub mod envelope;
pub(crate) mod grid;
pub mod mass;
pub mod polygon;
pub mod seams;
mod validate;
pub mod walls;

pub use build::MAX_BODIES;

use crate::math::rotate;
use crate::scene::description::{Bounds, ImpactState, RestitutionLaw};
use crate::scene::grid::Grid;
use crate::shape::piece::{Piece, PlacedPiece};
use nalgebra::Vector2;
use std::fmt;
use std::ops::Range;

/// A validated scene. It never changes.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Gravity, world, m/s².
    pub gravity_m_per_s2: Vector2<f64>,
    /// Restitution law.
    pub restitution_law: RestitutionLaw,
    /// Impact state: the position and velocity at which impacts are resolved.
    pub impact_state: ImpactState,
    /// Rolling friction: largest torque against the rotation per newton of normal force, m.
    pub rolling_friction_m: f64,
    /// Air drag: torque against the rotation per rad/s, N·m·s/rad.
    pub air_drag_n_m_s_per_rad: f64,
    /// Bodies in file order.
    pub bodies: Vec<Body>,
    /// Convex pieces of all bodies, body by body.
    pub pieces: Vec<Piece>,
    /// Overrides for individual pairs of bodies, sorted by the indices of the bodies.
    pub pairs: Vec<PairOverride>,
    /// The tool, if any.
    pub tool: Option<Tool>,
    /// The bounds of the world, if any, with the lower left and the upper right corner.
    pub bounds: Option<Bounds>,
    /// Maximum number of near pairs, and thus of manifolds, in one tick.
    pub pair_capacity: usize,
    /// Number of corners of the piece that has the most.
    pub(crate) max_corners: usize,
    /// Largest permitted work of a look-up among the fixed pieces, in rows and entries of the grid.
    pub(crate) look_up_work: usize,
    /// Indices of the dynamic bodies, in file order.
    pub(crate) dynamic_bodies: Vec<usize>,
    /// Indices of the pieces of dynamic bodies, in ascending order.
    pub(crate) dynamic_pieces: Vec<u32>,
    /// Grid over the fixed pieces.
    pub(crate) grid: Grid,
}

/// Override for one pair of bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairOverride {
    /// Indices of the two bodies, the lower one first.
    pub bodies: [usize; 2],
    /// Coulomb coefficient of this pair, if given.
    pub friction: Option<f64>,
    /// Restitution of this pair, if given.
    pub restitution: Option<f64>,
}

/// One rigid body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Unique name.
    pub name: String,
    /// Whether the body is fixed, so that it never moves.
    pub fixed: bool,
    /// Range of the body's convex pieces in [`Scene::pieces`].
    pub pieces: Range<usize>,
    /// Range of the pieces of each shape in [`Scene::pieces`].
    pub shapes: Vec<Range<usize>>,
    /// Mass, kg; infinite if fixed.
    pub mass_kg: f64,
    /// Moment of inertia about the centre of mass, kg·m²; infinite if fixed.
    pub inertia_kg_m2: f64,
    /// Gravity on this body, world, m/s²: that of the scene, or zero if the body is a weightless tool.
    pub gravity_m_per_s2: Vector2<f64>,
    /// Centre of mass in the body's frame, m.
    pub centre_m: Vector2<f64>,
    /// Largest distance of a point of the body from its centre of mass, m.
    pub reach_m: f64,
    /// Initial position of the origin of the body's frame, world, m.
    pub position_m: Vector2<f64>,
    /// Initial angle, rad, anticlockwise.
    pub angle_rad: f64,
    /// Initial velocity of the centre of mass, world, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Initial angular velocity, rad/s, anticlockwise.
    pub angular_velocity_rad_per_s: f64,
    /// Coulomb coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Layer; bodies in different layers do not touch.
    pub layer: i32,
    /// Colour for pictures, `#rrggbb`.
    pub colour: String,
}

impl Body {
    /// Returns the weight of a dynamic body, world, N.
    pub fn weight_n(&self) -> Vector2<f64> {
        self.gravity_m_per_s2 * self.mass_kg
    }

    /// Returns the initial position of the centre of mass, world, m, and (cos, sin) of the initial angle.
    pub fn start_pose(&self) -> (Vector2<f64>, Vector2<f64>) {
        let (sine, cosine) = libm::sincos(self.angle_rad);
        let rotation = Vector2::new(cosine, sine);
        (self.position_m + rotate(rotation, self.centre_m), rotation)
    }
}

/// The tool: the body that is coupled to the hand.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Index of the tool in [`Scene::bodies`].
    pub body: usize,
    /// Position of the handle relative to the centre of mass, body frame, m.
    pub handle_m: Vector2<f64>,
}

/// A problem in a scene description, with its location and a remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneError {
    /// Location in the description.
    pub place: Place,
    /// Message that describes the problem.
    pub problem: String,
    /// Message that describes a valid input.
    pub remedy: String,
    /// The name of a body that does not exist, if the description refers to one.
    pub unknown_name: Option<Box<UnknownName>>,
}

/// A name that no body has, with the names that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name as written.
    pub name: String,
    /// Names of all bodies, in alphabetical order.
    pub candidates: Vec<String>,
}

/// A location in a scene description, given by the keys of the scene file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A key of `[world]`.
    World(&'static str),
    /// A key of the `[[body]]` with this index, counted from 0.
    Body(usize, &'static str),
    /// A key of one of the shapes, counted from 0, of the `[[body]]` with this index; `shape` for its outline.
    Shape(usize, usize, &'static str),
    /// A key of the `[[pair]]` with this index, counted from 0.
    Pair(usize, &'static str),
    /// A key of `[tool]`.
    Tool(&'static str),
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}

impl std::error::Error for SceneError {}

impl Scene {
    /// Returns the pieces of all bodies in world coordinates, in their initial poses.
    pub(crate) fn placed_at_start(&self) -> Vec<PlacedPiece> {
        let placed = |piece: &Piece| {
            let (centre, rotation) = self.bodies[piece.body as usize].start_pose();
            PlacedPiece::new(piece, centre, rotation)
        };
        self.pieces.iter().map(placed).collect()
    }

    /// Whether the body of a piece is fixed.
    pub(crate) fn is_fixed_piece(&self, piece: usize) -> bool {
        self.bodies[self.pieces[piece].body as usize].fixed
    }

    /// Returns the Coulomb coefficient of a pair of bodies: its override, or the geometric mean of the coefficients of
    /// the two bodies. Real-time: one binary search in the overrides.
    pub fn friction_of(&self, a: usize, b: usize) -> f64 {
        let given = self.pair_override(a, b).and_then(|pair| pair.friction);
        given.unwrap_or_else(|| (self.bodies[a].friction * self.bodies[b].friction).sqrt())
    }

    /// Returns the restitution of a pair of bodies: its override, or the larger of the values of the two bodies.
    /// Real-time: one binary search in the overrides.
    pub fn restitution_of(&self, a: usize, b: usize) -> f64 {
        let given = self.pair_override(a, b).and_then(|pair| pair.restitution);
        given.unwrap_or_else(|| self.bodies[a].restitution.max(self.bodies[b].restitution))
    }

    fn pair_override(&self, a: usize, b: usize) -> Option<&PairOverride> {
        let bodies = [a.min(b), a.max(b)];
        self.pairs.binary_search_by_key(&bodies, |pair| pair.bodies).ok().map(|at| &self.pairs[at])
    }
}
