//! Convex pieces of bodies, in the body frame and in the world frame.

use crate::math::{cross, rotate};
use nalgebra::Vector2;

/// Maximum number of corners of a convex piece; all corner arrays have this size.
pub const MAX_CORNERS: usize = 16;

/// Largest [`Piece::certain_slope`]. With a larger value, contacts that tilt strongly would be kept on their last face
/// without a search; with a smaller one, more contacts are searched for.
pub const CERTAIN_SLOPE: f64 = 0.3;

/// A convex core (point, segment or polygon) grown by a radius, in the body frame, whose origin is the body's centre of
/// mass.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Index of the body that the piece belongs to.
    pub body: u32,
    /// Number of corners in use: 1 for a disc, 2 for a capsule, 3 or more for a polygon.
    pub count: u8,
    /// Radius by which the core is grown, m.
    pub radius_m: f64,
    /// Corners of the core, anticlockwise, body frame, m.
    pub corners: [Vector2<f64>; MAX_CORNERS],
    /// Unit outward normals of the edges, body frame; edge `i` runs from corner `i` to the next one. A segment has two
    /// normals, a point none.
    pub normals: [Vector2<f64>; MAX_CORNERS],
    /// Largest distance of a point of the piece from the body's centre of mass, radius included, m.
    pub reach_m: f64,
    /// Radius of gyration of the body that the piece belongs to, m: the scale for the arm of an impact. Infinite for
    /// fixed bodies, which have no arm, and for the tool, whose motion within a tick is not uniform.
    pub gyration_m: f64,
    /// Ratio of a gap to a length of the outline below which the gap is certainly the best one: the tangent of the
    /// smallest angle by which a corner turns, at most [`CERTAIN_SLOPE`].
    pub certain_slope: f64,
    /// Parts of the outline that neighbours cover; `None` if there are none. A neighbour is a piece that cannot move
    /// relative to this one.
    pub seams: Option<Box<Seams>>,
}

/// Parts of a piece's outline that neighbours cover. Bodies that slide over a seam must not catch on it.
#[derive(Clone, Debug)]
pub struct Seams {
    /// Edges that neighbours cover: if bit `i` is set, edge `i` carries no contact.
    pub internal_edges: u16,
    /// For each corner, the outward directions in which it can be touched, body frame.
    pub cones: [Cone; MAX_CORNERS],
}

/// Outward directions in which a corner can be touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cone {
    /// Every direction of the corner's own normal cone.
    Full,
    /// Directions from the first unit vector anticlockwise to the second, which is less than half a turn away.
    Between(Vector2<f64>, Vector2<f64>),
    /// No direction: neighbours cover the corner from all sides.
    Empty,
}

impl Piece {
    /// Creates a piece of a fixed body, without seams, from the corners of its core in anticlockwise order.
    ///
    /// # Panics
    /// If there are no corners or more than [`MAX_CORNERS`].
    pub fn new(body: u32, outline: &[Vector2<f64>], radius_m: f64) -> Self {
        assert!((1..=MAX_CORNERS).contains(&outline.len()), "a piece has 1 to 16 corners");
        let mut corners = [Vector2::zeros(); MAX_CORNERS];
        let mut normals = [Vector2::zeros(); MAX_CORNERS];
        let count = outline.len();
        corners[..count].copy_from_slice(outline);
        if count > 1 {
            for i in 0..count {
                let along = (outline[(i + 1) % count] - outline[i]).normalize();
                normals[i] = Vector2::new(along.y, -along.x);
            }
        }
        let reach_m = outline.iter().map(|c| c.norm()).fold(0.0, f64::max) + radius_m;
        let certain_slope = flattest_turn(&normals[..count]).min(CERTAIN_SLOPE);
        let gyration_m = f64::INFINITY;
        Self { body, count: count as u8, radius_m, corners, normals, reach_m, gyration_m, certain_slope, seams: None }
    }

    /// Returns the corners in use.
    pub fn outline(&self) -> &[Vector2<f64>] {
        &self.corners[..self.count as usize]
    }
}

/// Returns the tangent of the smallest angle between the normals of two consecutive edges; infinite if no such angle is
/// less than a right angle.
fn flattest_turn(normals: &[Vector2<f64>]) -> f64 {
    let turn = |(i, normal): (usize, &Vector2<f64>)| {
        let next = normals[(i + 1) % normals.len()];
        if normal.dot(&next) > 0.0 { cross(*normal, next).abs() / normal.dot(&next) } else { f64::INFINITY }
    };
    normals.iter().enumerate().map(turn).fold(f64::INFINITY, f64::min)
}

/// A piece's core in world coordinates, updated in every tick for dynamic bodies.
#[derive(Clone, Copy, Debug)]
pub struct PlacedPiece {
    /// Number of corners in use.
    pub count: usize,
    /// Corners, anticlockwise, world, m.
    pub corners: [Vector2<f64>; MAX_CORNERS],
    /// Unit outward normals of the edges, world.
    pub normals: [Vector2<f64>; MAX_CORNERS],
}

impl PlacedPiece {
    /// Places a piece at `centre` (the body's centre of mass), rotated by `rotation` = (cos, sin). Real-time: at most
    /// 16 corners.
    pub fn new(piece: &Piece, centre: Vector2<f64>, rotation: Vector2<f64>) -> Self {
        let mut placed = Self {
            count: piece.count as usize,
            corners: [Vector2::zeros(); MAX_CORNERS],
            normals: [Vector2::zeros(); MAX_CORNERS],
        };
        placed.place(piece, centre, rotation);
        placed
    }

    /// Moves the placed piece to another pose of `piece`, given as in [`Self::new`]. Real-time: at most 16 corners.
    pub fn place(&mut self, piece: &Piece, centre: Vector2<f64>, rotation: Vector2<f64>) {
        for i in 0..(piece.count as usize).min(MAX_CORNERS) {
            self.corners[i] = centre + rotate(rotation, piece.corners[i]);
            self.normals[i] = rotate(rotation, piece.normals[i]);
        }
    }
}
