//! Narrow phase: turns a near pair of convex pieces into the geometry of its contact, one normal and up to two points.
//!
//! Rounded pieces meet along the direction between their closest features. Sharp pieces meet on the plane of one of
//! their faces that neighbours do not cover. If faces separate the pieces, it is the face that separates them longest
//! in this tick; if the pieces overlap, it is the face with the least depth. A corner–corner direction is never used
//! for sharp pieces, because it causes ghost collisions at corners.

mod clip;
mod faces;
mod rounded;
#[cfg(test)]
mod tests;

use crate::collide::pair_table::Pair;
use crate::math::{cross, rotate, spin_cross};
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::closest::track;
use crate::shape::features::{FeatureCache, FeatureId};
use crate::shape::piece::{Cone, Piece, PlacedPiece};
use clip::FACE_HYSTERESIS_M;
use faces::{collide_on_last_face, collide_sharp, last_face};
use nalgebra::Vector2;
use rounded::{collide_overlapping_cores, collide_rounded};

/// Sine of the largest angle by which a direction can lie outside a corner's cone and still count as inside.
const CONE_SLACK: f64 = 1e-3;

/// One piece of a pair with its pose and velocity.
#[derive(Clone, Copy)]
pub struct PairSide<'a> {
    /// The piece in its body frame.
    pub piece: &'a Piece,
    /// The piece in world coordinates.
    pub placed: &'a PlacedPiece,
    /// Centre of mass of the piece's body, world, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of the angle of the piece's body.
    pub rotation: Vector2<f64>,
    /// Velocity of the body's centre of mass, world, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Angular velocity of the body, rad/s.
    pub angular_velocity_rad_per_s: f64,
}

impl<'a> PairSide<'a> {
    /// Returns side `which` (0 or 1) of a near pair, with the given linear and angular velocity.
    #[inline]
    pub fn new(
        pair: &Pair,
        which: usize,
        scene: &'a Scene,
        placed: &'a [PlacedPiece],
        bodies: &[BodyState],
        (velocity_m_per_s, angular_velocity_rad_per_s): (Vector2<f64>, f64),
    ) -> Self {
        let (piece, body) = (pair.pieces[which] as usize, pair.bodies[which] as usize);
        let BodyState { centre_m, rotation, .. } = bodies[body];
        Self {
            piece: &scene.pieces[piece],
            placed: &placed[piece],
            centre_m,
            rotation,
            velocity_m_per_s,
            angular_velocity_rad_per_s,
        }
    }

    /// Returns the side with its velocities before a change.
    #[inline]
    pub fn before(&self, change: &VelocityChange) -> Self {
        Self {
            velocity_m_per_s: self.velocity_m_per_s - change.linear_m_per_s,
            angular_velocity_rad_per_s: self.angular_velocity_rad_per_s - change.angular_rad_per_s,
            ..*self
        }
    }
}

/// Change of the velocities of a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct VelocityChange {
    /// Change of the velocity of the centre of mass, world, m/s.
    pub linear_m_per_s: Vector2<f64>,
    /// Change of the angular velocity, rad/s.
    pub angular_rad_per_s: f64,
}

/// Conditions under which a pair counts as a contact in this tick.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// Gap below which a point belongs to the manifold, m.
    pub margin_m: f64,
    /// Largest distance beside a face from which an impact can still move a corner in front of the face, m.
    pub aside_m: f64,
    /// Whether a body of the pair was under contact load in the last tick.
    pub had_contact_load: bool,
    /// Changes of the velocities of both bodies by the known forces of this tick. Only needed with contact load:
    /// contacts that are not solved yet balance these forces, so that the bodies may keep their velocities.
    pub forced: [VelocityChange; 2],
    /// Whether every face is examined to its last corner, as in the slowest search. The result is the same.
    pub examines_all: bool,
}

impl Near {
    /// Returns the conditions for a pair without contact load that no impact nearby can move sideways.
    pub fn within(margin_m: f64) -> Self {
        let forced = [VelocityChange::default(); 2];
        Self { margin_m, aside_m: 0.0, had_contact_load: false, forced, examines_all: false }
    }
}

/// Geometry of a contact: a normal from the first body to the second and up to two points.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContactGeometry {
    /// Unit normal from the first to the second body, world.
    pub normal: Vector2<f64>,
    /// Number of points, one or two.
    pub count: usize,
    /// Gap of each point, m; negative if the bodies overlap.
    pub gap_m: [f64; 2],
    /// Position of each point, on the face or, if there is no face, on the first body, world, m; ordered along the
    /// tangent.
    pub at_m: [Vector2<f64>; 2],
    /// Signed distance between the two surfaces at the nearest point, in the poses in which the contact was found, m;
    /// negative if the bodies overlap.
    pub apart_m: f64,
    /// If there is a single point, the end of the clipped edge at which it lies: 0 or 1, in the order of the tangent.
    pub end: usize,
    /// Features of the contact.
    pub id: FeatureId,
    /// Whether the gaps include the rotation of the pieces until they meet.
    pub includes_rotation: bool,
}

/// Returns the contact of a pair if any of its points is closer than the margin. Real-time: at most 2 × 16 × 16 dot
/// products plus one call of [`track`].
#[inline]
pub fn collide(a: &PairSide, b: &PairSide, near: &Near, cache: &mut FeatureCache) -> Option<ContactGeometry> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let last = last_face(a, b, cache.face, radii);
    if let Some(face) = last {
        if face.separation_m > near.margin_m {
            return None;
        }
        if radii == 0.0
            && face.separation_m > -FACE_HYSTERESIS_M
            && let Some(geometry) = collide_on_last_face(a, b, &face, near)
        {
            cache.face = geometry.id;
            return Some(geometry);
        }
    }
    if radii > 0.0 {
        match track(a.placed, b.placed, &mut cache.seed) {
            Some(closest) => collide_rounded(a, b, &closest, near, cache),
            None => collide_overlapping_cores(a, b, last, near, cache),
        }
    } else {
        collide_sharp(a, b, last, near, cache)
    }
}

/// Returns the velocity of a point that moves with the body of a side, world, m/s.
#[inline]
pub fn velocity_at(side: &PairSide, point: Vector2<f64>) -> Vector2<f64> {
    side.velocity_m_per_s + spin_cross(side.angular_velocity_rad_per_s, point - side.centre_m)
}

/// Whether a corner can be touched in `direction`, which points outward from its piece, world.
#[inline]
fn corner_open(side: &PairSide, corner: usize, direction: Vector2<f64>) -> bool {
    let Some(seams) = &side.piece.seams else { return true };
    match seams.cones[corner] {
        Cone::Full => true,
        Cone::Empty => false,
        Cone::Between(low, high) => {
            let local = rotate(Vector2::new(side.rotation.x, -side.rotation.y), direction);
            cross(low, local) >= -CONE_SLACK && cross(local, high) >= -CONE_SLACK && (low + high).dot(&local) > 0.0
        }
    }
}
