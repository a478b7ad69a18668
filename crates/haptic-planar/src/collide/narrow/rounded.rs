//! Contact along the direction between closest features, for pairs with at least one rounded piece.

use super::clip::{Face, LEVEL_M, clip};
use super::faces::{LEVEL_ABOVE_M, MIN_SIDEWAYS_M_PER_S, permitted, reference_face};
use super::{ContactGeometry, Near, PairSide, corner_open, velocity_at};
use crate::math::{larger, smaller, tangent_of};
use crate::shape::closest::{Closest, Feature};
use crate::shape::features::{FeatureCache, FeatureId};
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Cosine above which an edge normal counts as parallel to a direction (within 4.5 mrad).
const FLAT_FACING: f64 = 0.99999;

pub(super) fn collide_rounded(
    a: &PairSide,
    b: &PairSide,
    closest: &Closest,
    near: &Near,
    cache: &mut FeatureCache,
) -> Option<ContactGeometry> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let gap = closest.distance_m - radii;
    let face = face_of(closest).or_else(|| face_at_corners(a, b, closest));
    cache.face = face.unwrap_or_default().0;
    if gap > near.margin_m {
        return None;
    }
    let normal = match (closest.feature_a, closest.feature_b) {
        (Feature::Edge(i), _) => a.placed.normals[usize::from(i)],
        (_, Feature::Edge(i)) => -b.placed.normals[usize::from(i)],
        _ => (closest.on_b - closest.on_a) / closest.distance_m,
    };
    if !feature_open(a, closest.feature_a, normal) || !feature_open(b, closest.feature_b, -normal) {
        return None;
    }
    if let Some((id, support)) = face {
        let of_first = id.face_of == 1;
        let chosen = Face { of_first, index: usize::from(id.face), support, separation_m: gap };
        let geometry = clip(a, b, &chosen, near)?;
        cache.face = geometry.id;
        return Some(geometry);
    }
    let mut plane = (normal, gap);
    if near.had_contact_load {
        let passage = Passage::new(a, b, closest, near);
        if let Some((level, beside_m)) = level_face(a, b, closest, &passage) {
            let geometry = clip(a, b, &level, &Near { aside_m: near.aside_m + beside_m, ..*near })?;
            cache.face = geometry.id;
            return Some(geometry);
        }
        plane = passage.plane(a, b, closest).unwrap_or(plane);
    }
    let (normal, gap_m) = plane;
    let id = FeatureId { face_of: 0, face: feature_index(closest.feature_a), other: feature_index(closest.feature_b) };
    let at = closest.on_a + normal * a.piece.radius_m;
    Some(ContactGeometry {
        normal,
        count: 1,
        gap_m: [gap_m, 0.0],
        at_m: [at, at],
        apart_m: gap_m,
        id,
        ..ContactGeometry::default()
    })
}

/// The motion of two round corners past each other in a tick, at their velocities before the forces of the tick:
/// contacts that are not solved yet may balance these.
struct Passage {
    /// From the corner of the first core to that of the second, at the start of the tick, world, m.
    apart: Vector2<f64>,
    /// Velocity of the second corner relative to the first, world, m/s.
    velocity: Vector2<f64>,
    /// Time until the corners are as close as they come as the closest features of the pair, s.
    closest_s: f64,
}

impl Passage {
    fn new(a: &PairSide, b: &PairSide, closest: &Closest, near: &Near) -> Self {
        let (a_before, b_before) = (a.before(&near.forced[0]), b.before(&near.forced[1]));
        let velocity = velocity_at(&b_before, closest.on_b) - velocity_at(&a_before, closest.on_a);
        let apart = closest.on_b - closest.on_a;
        let approach = -apart.dot(&velocity);
        let mut closest_s = if approach > 0.0 { smaller(approach / velocity.norm_squared(), TICK_S) } else { 0.0 };
        for (of, feature, sign) in [(a, closest.feature_a, 1.0), (b, closest.feature_b, -1.0)] {
            for edge in edges_at(of.placed, usize::from(feature_index(feature))) {
                // The other corner comes to lie over this edge.
                let (over_m, speed) = (sign * edge.dot(&apart), sign * edge.dot(&velocity));
                if over_m + speed * closest_s > 0.0 {
                    // A corner that is over the edge by a rounding error may leave it after any time.
                    closest_s = smaller(larger(-over_m / speed, 0.0), closest_s);
                }
            }
        }
        Self { apart, velocity, closest_s }
    }

    /// Returns the position of the second corner relative to the first after `time_s`, m.
    fn after(&self, time_s: f64) -> Vector2<f64> {
        self.apart + self.velocity * time_s
    }

    /// Returns the direction between the corners when they are closest; `None` if they are at the same point.
    fn closest_normal(&self) -> Option<Vector2<f64>> {
        self.after(self.closest_s).try_normalize(0.0)
    }

    /// Returns the plane that separates the corners when they meet, or when they are closest if they do not meet: its
    /// normal and its gap at the start of the tick, m. `None` if they do not come closer, or if a neighbour covers them
    /// there.
    ///
    /// The distance of two convex pieces is a convex function of their relative position. It is thus nowhere less than
    /// the gap to this plane: the plane holds however the contact solve changes the motion, and leaves the motion that
    /// passes as it is. The plane of the start of the tick would stop a corner that passes the other one at a distance.
    fn plane(&self, a: &PairSide, b: &PairSide, closest: &Closest) -> Option<(Vector2<f64>, f64)> {
        let radii = a.piece.radius_m + b.piece.radius_m;
        let mut time_s = self.closest_s;
        if self.after(time_s).norm_squared() < radii * radii {
            // Corners that overlap now and hardly move have no meeting; rounding can put it at infinity.
            time_s = smaller(self.meeting_s(radii), time_s);
        }
        if time_s <= 0.0 {
            return None;
        }
        let normal = self.after(time_s).normalize();
        let is_open = feature_open(a, closest.feature_a, normal) && feature_open(b, closest.feature_b, -normal);
        is_open.then(|| (normal, normal.dot(&self.apart) - radii))
    }

    /// Returns the time at which corners that overlap when they are closest meet, s; not positive if they overlap now.
    fn meeting_s(&self, radii: f64) -> f64 {
        let approach = -self.apart.dot(&self.velocity);
        let gap = self.apart.norm_squared() - radii * radii;
        let root = larger(approach * approach - self.velocity.norm_squared() * gap, 0.0).sqrt();
        gap / (approach + root)
    }
}

/// Returns the two edges at a corner, as vectors away from it; zero for a point.
fn edges_at(placed: &PlacedPiece, corner: usize) -> [Vector2<f64>; 2] {
    let (corners, at) = (&placed.corners[..placed.count], placed.corners[corner]);
    let next = if corner + 1 == corners.len() { 0 } else { corner + 1 };
    let before = if corner == 0 { corners.len() - 1 } else { corner - 1 };
    [corners[next] - at, corners[before] - at]
}

/// Returns the face along which two pieces are level, and the distance of the closest corner of the other piece beside
/// it, m, if the closest corners touch, or would touch in this tick. A piece that rests or slides on a level face
/// passes over the corner of the other piece. If it lies deeper by δ, within the slop, a corner with the radius r would
/// instead meet the other one as a ramp with a slope of up to √(2δ/r).
///
/// The faces at the two corners must be parallel, and the corners must move along them rather than towards each other.
#[cold]
fn level_face(a: &PairSide, b: &PairSide, closest: &Closest, passage: &Passage) -> Option<(Face, f64)> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let Passage { apart, velocity, .. } = *passage;
    if closest.distance_m * (closest.distance_m - radii) + (TICK_S * apart.dot(&velocity)).min(0.0) > 0.0 {
        return None;
    }
    let normal = passage.closest_normal()?;
    let (i, j) = (feature_index(closest.feature_a), feature_index(closest.feature_b));
    let mut best: Option<(Face, f64)> = None;
    for (of_first, of, other, corner, support, sign) in [(true, a, b, i, j, 1.0), (false, b, a, j, i, -1.0)] {
        let outward = normal * sign;
        let Some(index) = side_towards(of.placed, corner, outward) else { continue };
        let (face_normal, support) = (of.placed.normals[index], usize::from(support));
        let separation_m = sign * face_normal.dot(&apart) - radii;
        let along = tangent_of(face_normal);
        let sideways_m_per_s = along.dot(&velocity).abs().max(MIN_SIDEWAYS_M_PER_S);
        if separation_m > -LEVEL_M
            && separation_m < LEVEL_ABOVE_M
            && best.is_none_or(|(best, _)| separation_m > best.separation_m)
            && sign * face_normal.dot(&velocity) > -sideways_m_per_s
            && side_facing(other.placed, support as u8, -face_normal).is_some()
            && permitted(of, other, index, support)
        {
            best = Some((Face { of_first, index, support, separation_m }, along.dot(&apart).abs()));
        }
    }
    best
}

/// Returns the edge among the closest features, if there is one, and the index of the corner opposite it.
fn face_of(closest: &Closest) -> Option<(FeatureId, usize)> {
    match (closest.feature_a, closest.feature_b) {
        (Feature::Edge(face), other) => {
            let corner = feature_index(other);
            Some((FeatureId { face_of: 1, face, other: corner }, usize::from(corner)))
        }
        (other, Feature::Edge(face)) => {
            let corner = feature_index(other);
            Some((FeatureId { face_of: 2, face, other: corner }, usize::from(corner)))
        }
        _ => None,
    }
}

/// Returns an edge at one of two closest corners that faces the other corner, if there is one, and the index of that
/// other corner. Two flat sides that meet end to end have two corners as their closest features.
fn face_at_corners(a: &PairSide, b: &PairSide, closest: &Closest) -> Option<(FeatureId, usize)> {
    let (i, j) = (feature_index(closest.feature_a), feature_index(closest.feature_b));
    let normal = (closest.on_b - closest.on_a) / closest.distance_m;
    if let Some(face) = side_facing(a.placed, i, normal) {
        return Some((FeatureId { face_of: 1, face, other: j }, usize::from(j)));
    }
    side_facing(b.placed, j, -normal).map(|face| (FeatureId { face_of: 2, face, other: i }, usize::from(i)))
}

/// Returns the edge that starts or ends at `corner` and has a normal parallel to `direction`, if there is one.
fn side_facing(placed: &PlacedPiece, corner: u8, direction: Vector2<f64>) -> Option<u8> {
    if placed.count < 2 {
        return None;
    }
    let before = if corner == 0 { placed.count as u8 - 1 } else { corner - 1 };
    [corner, before].into_iter().find(|&e| placed.normals[usize::from(e)].dot(&direction) > FLAT_FACING)
}

/// Returns the edge that starts or ends at `corner` and faces `direction` more directly; `None` for a point.
fn side_towards(placed: &PlacedPiece, corner: u8, direction: Vector2<f64>) -> Option<usize> {
    if placed.count < 2 {
        return None;
    }
    let corner = usize::from(corner);
    let before = if corner == 0 { placed.count - 1 } else { corner - 1 };
    let facing = |edge: usize| placed.normals[edge].dot(&direction);
    Some(if facing(corner) > facing(before) { corner } else { before })
}

#[inline]
fn feature_index(feature: Feature) -> u8 {
    match feature {
        Feature::Corner(i) | Feature::Edge(i) => i,
    }
}

#[inline]
fn feature_open(side: &PairSide, feature: Feature, direction: Vector2<f64>) -> bool {
    match feature {
        Feature::Corner(i) => corner_open(side, usize::from(i), direction),
        Feature::Edge(i) => side.piece.seams.as_ref().is_none_or(|seams| seams.internal_edges >> i & 1 == 0),
    }
}

/// Returns the contact of two pieces whose cores overlap, found by separating axes. If both cores are points, the
/// normal is +y.
pub(super) fn collide_overlapping_cores(
    a: &PairSide,
    b: &PairSide,
    last: Option<Face>,
    near: &Near,
    cache: &mut FeatureCache,
) -> Option<ContactGeometry> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    if a.placed.count < 2 && b.placed.count < 2 {
        let at = a.placed.corners[0];
        let id = FeatureId::default();
        let gap_m = [-radii, 0.0];
        return Some(ContactGeometry {
            normal: Vector2::y(),
            count: 1,
            gap_m,
            at_m: [at, at],
            apart_m: -radii,
            id,
            ..ContactGeometry::default()
        });
    }
    let face = reference_face(a, b, last, near, radii)?;
    let geometry = clip(a, b, &face, near)?;
    cache.face = geometry.id;
    Some(geometry)
}
