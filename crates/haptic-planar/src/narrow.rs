//! From a near pair of convex pieces to a manifold: one normal and up to two points.
//!
//! Rounded pieces meet along the direction between their closest features. Sharp pieces meet on the plane of one of
//! their faces: of all permitted faces that separate them the one that is crossed last in this tick, and on overlap the
//! least deep. A corner–corner direction is never used for sharp pieces: it makes ghosts at corners.

use crate::closest::{Closest, Feature, Seed, track};
use crate::pairs::Pair;
use crate::piece::{Cone, Piece, PlacedPiece, rotate};
use crate::scene::{Scene, TICK_S};
use crate::state::BodyState;
use crate::vector::{cross, spin_cross, tangent_of};
use nalgebra::Vector2;

/// A face keeps being the reference unless another is better by this much, m. Less, and resting boxes swap faces.
const FACE_HYSTERESIS_M: f64 = 1e-4;
/// An overlap that is so much deeper than along a covered face is no contact, m.
const FAR_SIDE_M: f64 = 1e-3;
/// Room beside a face in which a corner that meets a corner still finds it, m.
const CORNER_WIDENING_M: f64 = 3e-4;
/// Points of a manifold closer than this are one, m. Less, and the manifold's mass matrix is singular.
const MERGE_M: f64 = 1e-5;
/// Directions this far outside a corner's cone still count as inside, rad (as a sine).
const CONE_SLACK: f64 = 1e-3;
/// Faces whose normals agree better than this cosine are the same plane seen from either side.
const SAME_PLANE: f64 = 0.999;

/// A side faces a direction when their cosine is above this (4.5 mrad).
const FLAT_FACING: f64 = 0.99999;
/// Slope of a gap over its length below which a face is certainly the right one.
const CERTAIN_SLOPE: f64 = 0.3;

/// One piece of a pair, where it is and how it moves.
#[derive(Clone, Copy)]
pub struct PairSide<'a> {
    /// Its const description.
    pub piece: &'a Piece,
    /// Its corners in the world.
    pub placed: &'a PlacedPiece,
    /// Its body's centre of mass, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of its body's angle.
    pub rotation: Vector2<f64>,
    /// Its body's velocity, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Its body's spin, rad/s.
    pub angular_velocity_rad_per_s: f64,
}

impl<'a> PairSide<'a> {
    /// One side of a near pair, with a velocity and spin for this tick.
    #[inline]
    pub fn of(
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
}

/// How near counts as touching in this tick.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// Gap below which a point belongs to the manifold, m.
    pub margin_m: f64,
    /// How far a corner may be beside a face and still come over it, once something strikes it, m.
    pub aside_m: f64,
}

impl Near {
    /// Within a margin, with nothing around that could strike.
    pub fn within(margin_m: f64) -> Self {
        Self { margin_m, aside_m: 0.0 }
    }
}

/// Names the features that a manifold was made from, so that impulses find their way to the next tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureId {
    /// 1: the face belongs to the first piece, 2: to the second, 0: no face (corner to corner).
    pub face_of: u8,
    /// Index of the face, or of the first piece's corner.
    pub face: u8,
    /// Index of the other piece's edge, or corner.
    pub other: u8,
}

/// What a pair remembers from tick to tick to find its features again.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureCache {
    /// Where the walk over closest features starts.
    pub seed: Seed,
    /// The last face that separated the pair or carried its contact.
    pub face: FeatureId,
}

/// The geometry of a contact: a normal from the first body to the second and up to two points.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContactGeometry {
    /// Unit normal from the first to the second.
    pub normal: Vector2<f64>,
    /// One or two.
    pub count: usize,
    /// Gap of each point, m; negative is penetration.
    pub gap_m: [f64; 2],
    /// World position of each point, on the face (ordered along the tangent), m.
    pub at_m: [Vector2<f64>; 2],
    /// Gap of the nearest point in the pose that the touch was made in, m: how far the two surfaces are apart there.
    pub apart_m: f64,
    /// Which end of the clipped edge a single point is: 0 or 1 along the tangent.
    pub end: usize,
    /// The features it was made from.
    pub id: FeatureId,
}

/// A face chosen as reference.
#[derive(Clone, Copy)]
struct Face {
    of_first: bool,
    index: usize,
    support: usize,
    separation_m: f64,
}

/// The manifold of a pair, if any of its points is closer than the margin. Real-time: at most 2 × 16 × 16 dot products
/// plus one walk within its budget.
#[inline]
pub fn touch(a: &PairSide, b: &PairSide, near: Near, memory: &mut FeatureCache) -> Option<ContactGeometry> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    if let Some(face) = last_face(a, b, memory.face, radii) {
        if face.separation_m > near.margin_m {
            return None;
        }
        if radii == 0.0
            && face.separation_m > -FACE_HYSTERESIS_M
            && let Some(touch) = touch_as_before(a, b, &face, near)
        {
            memory.face = touch.id;
            return Some(touch);
        }
    }
    if radii > 0.0 {
        match track(a.placed, b.placed, &mut memory.seed) {
            Some(closest) => touch_rounded(a, b, &closest, near, memory),
            None => touch_overlapping_cores(a, b, near, memory),
        }
    } else {
        touch_sharp(a, b, near, memory)
    }
}

/// The face that separated the pair or carried its contact in the last tick: it usually still does.
#[inline]
fn last_face(a: &PairSide, b: &PairSide, last: FeatureId, radii: f64) -> Option<Face> {
    let (of, other) = match last.face_of {
        1 => (a, b),
        2 => (b, a),
        _ => return None,
    };
    let index = usize::from(last.face).min(of.placed.count - 1);
    let (separation, support) = face_separation(of.placed, index, other.placed);
    Some(Face { of_first: last.face_of == 1, index, support, separation_m: separation - radii })
}

/// The manifold on the last face, where it is proved that no other face can be better.
///
/// If a corner stands over the face at least δ from its ends, both bodies have points δ to either side of it, so along
/// any axis at an angle φ from the face's normal their separation is at most s cos φ − δ |sin φ|. With s ≤ 0.3 δ that is
/// negative for every face that is not nearly parallel. A flat contact over a length δ says the same.
#[inline]
fn touch_as_before(a: &PairSide, b: &PairSide, face: &Face, near: Near) -> Option<ContactGeometry> {
    let (of, other) = if face.of_first { (a, b) } else { (b, a) };
    if !permitted(of, other, face.index, face.support) {
        return None;
    }
    let touch = clip(a, b, face, near)?;
    let certain = if touch.count == 2 {
        let span = (touch.at_m[1] - touch.at_m[0]).dot(&tangent_of(touch.normal));
        touch.gap_m[0].max(touch.gap_m[1]) <= CERTAIN_SLOPE * span
    } else {
        false
    };
    (certain || face.separation_m <= CERTAIN_SLOPE * room_beside(of, other, face)).then_some(touch)
}

/// How far the support corner is from the nearer end of the face, along it, m; negative beyond.
#[inline]
fn room_beside(of: &PairSide, other: &PairSide, face: &Face) -> f64 {
    let normal = of.placed.normals[face.index];
    let along = Vector2::new(-normal.y, normal.x);
    let (start, end) = edge(of.placed, face.index);
    let corner = other.placed.corners[face.support];
    along.dot(&(corner - start)).min(along.dot(&(end - corner))) - FACE_HYSTERESIS_M
}

/// Least height of `other`'s corners over a face of `of`, and the corner.
#[inline]
fn face_separation(of: &PlacedPiece, index: usize, other: &PlacedPiece) -> (f64, usize) {
    let normal = of.normals[index];
    let base = normal.dot(&of.corners[index]);
    let (mut lowest, mut support) = (f64::INFINITY, 0);
    for (i, corner) in other.corners[..other.count].iter().enumerate() {
        let height = normal.dot(corner);
        if height < lowest {
            (lowest, support) = (height, i);
        }
    }
    (lowest - base, support)
}

// ---------------------------------------------------------------------------------------------------- sharp pieces

fn touch_sharp(a: &PairSide, b: &PairSide, near: Near, memory: &mut FeatureCache) -> Option<ContactGeometry> {
    let face = reference_face(a, b, memory.face, near.margin_m, 0.0)?;
    memory.face = FeatureId { face_of: if face.of_first { 1 } else { 2 }, face: face.index as u8, other: 0 };
    if face.separation_m > near.margin_m {
        return None;
    }
    let touch = clip(a, b, &face, near)?;
    memory.face = touch.id;
    Some(touch)
}

/// The best permitted face of both pieces; the first one beyond the margin is returned at once.
fn reference_face(a: &PairSide, b: &PairSide, last: FeatureId, margin_m: f64, radii: f64) -> Option<Face> {
    let mut choice = FaceChoice::new();
    for (of_first, of, other) in [(true, a, b), (false, b, a)] {
        if of.placed.count < 2 {
            continue;
        }
        for index in 0..of.placed.count {
            let (separation, support) = face_separation(of.placed, index, other.placed);
            let face = Face { of_first, index, support, separation_m: separation - radii };
            if face.separation_m > margin_m {
                return Some(face);
            }
            if permitted(of, other, index, support) {
                choice.consider(of, other, face, last);
            } else if face.separation_m > choice.covered_m {
                choice.covered_m = face.separation_m;
            }
        }
    }
    choice.best(a, b)
}

/// Keeps the best face so far, by the rule of corners.
struct FaceChoice {
    /// Still separates at the end of the tick: the one that will be farthest then.
    open: Option<(f64, Face)>,
    /// Separates now but not at the end of the tick: the one crossed last.
    crossed: Option<(f64, Face)>,
    /// Overlaps: the least deep.
    deep: Option<(f64, Face)>,
    /// The face of the last tick, if it is a candidate.
    kept: Option<Face>,
    /// The largest separation along a face that neighbours cover, m.
    covered_m: f64,
}

impl FaceChoice {
    #[inline]
    fn new() -> Self {
        Self { open: None, crossed: None, deep: None, kept: None, covered_m: f64::NEG_INFINITY }
    }

    #[inline]
    fn consider(&mut self, of: &PairSide, other: &PairSide, face: Face, last: FeatureId) {
        let normal = of.placed.normals[face.index];
        if last.face_of == (if face.of_first { 1 } else { 2 }) && usize::from(last.face) == face.index {
            self.kept = Some(face);
        }
        let s = face.separation_m;
        if s <= 0.0 {
            keep_larger(&mut self.deep, s, face);
            return;
        }
        let point = other.placed.corners[face.support];
        let speed = normal.dot(&(velocity_at(other, point) - velocity_at(of, point)));
        if s + TICK_S * speed > 0.0 {
            keep_larger(&mut self.open, s + TICK_S * speed, face);
        } else {
            keep_larger(&mut self.crossed, s / -speed, face);
        }
    }

    #[inline]
    fn best(&self, a: &PairSide, b: &PairSide) -> Option<Face> {
        let separated = self.open.or(self.crossed).map(|(_, face)| face);
        match (separated, self.deep, self.kept) {
            (Some(face), _, Some(kept)) if same_plane(a, b, &face, &kept) => Some(kept),
            (Some(face), _, _) => Some(face),
            // The pieces meet, or are apart, where neighbours carry; what is left is the far side of something thick.
            (None, Some((least, _)), _) if least < self.covered_m - FAR_SIDE_M => None,
            (None, Some((least, _)), Some(kept)) if kept.separation_m >= least - FACE_HYSTERESIS_M => Some(kept),
            (None, Some((_, face)), _) => Some(face),
            (None, None, _) => None,
        }
    }
}

/// Two resting faces see one plane from either side; the one of the last tick stays the reference.
#[inline]
fn same_plane(a: &PairSide, b: &PairSide, face: &Face, kept: &Face) -> bool {
    let normal_of = |f: &Face| if f.of_first { a.placed.normals[f.index] } else { b.placed.normals[f.index] };
    kept.of_first != face.of_first
        && kept.separation_m >= face.separation_m - FACE_HYSTERESIS_M
        && normal_of(face).dot(&normal_of(kept)) < -SAME_PLANE
}

#[inline]
fn keep_larger(slot: &mut Option<(f64, Face)>, score: f64, face: Face) {
    if slot.is_none_or(|(best, _)| score > best) {
        *slot = Some((score, face));
    }
}

/// Velocity of a point fixed to a side, m/s.
#[inline]
pub fn velocity_at(side: &PairSide, point: Vector2<f64>) -> Vector2<f64> {
    side.velocity_m_per_s + spin_cross(side.angular_velocity_rad_per_s, point - side.centre_m)
}

/// Whether a face may carry a contact with a corner of the other piece: not where neighbours cover either.
#[inline]
fn permitted(of: &PairSide, other: &PairSide, face: usize, corner: usize) -> bool {
    if let Some(seams) = &of.piece.seams
        && seams.internal_edges >> face & 1 == 1
    {
        return false;
    }
    corner_open(other, corner, -of.placed.normals[face])
}

/// Whether a corner can be touched from a world direction.
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

/// The other piece's edge, clipped to the face, as up to two points.
fn clip(a: &PairSide, b: &PairSide, face: &Face, near: Near) -> Option<ContactGeometry> {
    let (of, other) = if face.of_first { (a, b) } else { (b, a) };
    let normal = of.placed.normals[face.index];
    let along = Vector2::new(-normal.y, normal.x);
    let (start, end) = edge(of.placed, face.index);
    let (from, to) = (along.dot(&start), along.dot(&end));
    let base = normal.dot(&start) + of.piece.radius_m;
    let radii = other.piece.radius_m + of.piece.radius_m;
    let (incident, p, q) = incident_edge(other.placed, face.support, normal);
    // Against the face's direction the incident edge runs from its second corner to its first.
    let low = (along.dot(&q), normal.dot(&q) - base + of.piece.radius_m - radii);
    let high = (along.dot(&p), normal.dot(&p) - base + of.piece.radius_m - radii);
    let room = widening(of, other, face, (from, to), along, near.aside_m);
    let (low, high) = clip_span(low, high, (from - room, to + room))?;
    let id = FeatureId { face_of: if face.of_first { 1 } else { 2 }, face: face.index as u8, other: incident as u8 };
    let on_face = |x: f64| along * x + normal * base;
    let (first, second) = ((low.1, on_face(low.0)), (high.1, on_face(high.0)));
    let outward = if face.of_first { normal } else { -normal };
    gather(outward, id, first, second, high.0 - low.0 > MERGE_M, near.margin_m)
}

#[inline]
fn edge(placed: &PlacedPiece, index: usize) -> (Vector2<f64>, Vector2<f64>) {
    let next = if index + 1 == placed.count { 0 } else { index + 1 };
    (placed.corners[index], placed.corners[next])
}

/// Of the two edges at the support corner the one that faces the normal most.
#[inline]
fn incident_edge(placed: &PlacedPiece, support: usize, normal: Vector2<f64>) -> (usize, Vector2<f64>, Vector2<f64>) {
    if placed.count < 2 {
        return (support, placed.corners[support], placed.corners[support]);
    }
    let before = if support == 0 { placed.count - 1 } else { support - 1 };
    let chosen =
        if normal.dot(&placed.normals[support]) <= normal.dot(&placed.normals[before]) { support } else { before };
    let (p, q) = edge(placed, chosen);
    (chosen, p, q)
}

/// A corner that meets a corner may enter the face's span within the tick; elsewhere the face's own length holds.
#[inline]
fn widening(of: &PairSide, other: &PairSide, face: &Face, span: (f64, f64), along: Vector2<f64>, aside_m: f64) -> f64 {
    let point = other.placed.corners[face.support];
    let x = along.dot(&point);
    if x >= span.0 && x <= span.1 {
        return 0.0;
    }
    let slip = along.dot(&(velocity_at(other, point) - velocity_at(of, point))).abs();
    TICK_S * slip + CORNER_WIDENING_M + aside_m
}

/// Cuts a segment of (place, gap) points to a span of places.
#[inline]
fn clip_span(low: (f64, f64), high: (f64, f64), span: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    if high.0 < span.0 || low.0 > span.1 {
        return None;
    }
    let run = high.0 - low.0;
    let at = |x: f64| if run > MERGE_M { low.1 + (high.1 - low.1) * ((x - low.0) / run) } else { low.1.min(high.1) };
    let from = if low.0 < span.0 { (span.0, at(span.0)) } else { low };
    let to = if high.0 > span.1 { (span.1, at(span.1)) } else { high };
    Some((from, to))
}

/// Points within the margin, ordered along the manifold's tangent; two that nearly coincide become the deeper one.
#[inline]
fn gather(
    outward: Vector2<f64>,
    id: FeatureId,
    first: (f64, Vector2<f64>),
    second: (f64, Vector2<f64>),
    distinct: bool,
    margin_m: f64,
) -> Option<ContactGeometry> {
    let t = tangent_of(outward);
    let (first, second) = if t.dot(&(second.1 - first.1)) >= 0.0 { (first, second) } else { (second, first) };
    let mut touch = ContactGeometry { normal: outward, id, ..ContactGeometry::default() };
    touch.apart_m = first.0.min(second.0);
    let both = distinct && first.0 <= margin_m && second.0 <= margin_m;
    if both {
        touch.count = 2;
        touch.gap_m = [first.0, second.0];
        touch.at_m = [first.1, second.1];
    } else {
        touch.end = usize::from(second.0 < first.0);
        let nearest = if touch.end == 0 { first } else { second };
        if nearest.0 > margin_m {
            return None;
        }
        touch.count = 1;
        touch.gap_m[0] = nearest.0;
        touch.at_m[0] = nearest.1;
    }
    Some(touch)
}

// -------------------------------------------------------------------------------------------------- rounded pieces

fn touch_rounded(
    a: &PairSide,
    b: &PairSide,
    closest: &Closest,
    near: Near,
    memory: &mut FeatureCache,
) -> Option<ContactGeometry> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let gap = closest.distance_m - radii;
    let face = face_of(closest).or_else(|| face_at_corners(a, b, closest));
    memory.face = face.unwrap_or_default().0;
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
        let touch = clip(a, b, &chosen, near)?;
        memory.face = touch.id;
        return Some(touch);
    }
    let id = FeatureId { face_of: 0, face: feature_index(closest.feature_a), other: feature_index(closest.feature_b) };
    let at = closest.on_a + normal * a.piece.radius_m;
    Some(ContactGeometry { normal, count: 1, gap_m: [gap, 0.0], at_m: [at, at], apart_m: gap, end: 0, id })
}

/// The edge among the closest features, if there is one, and the corner that faces it.
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

/// Two flat sides that meet end to end look like two corners: the side of either that faces the other is the face.
fn face_at_corners(a: &PairSide, b: &PairSide, closest: &Closest) -> Option<(FeatureId, usize)> {
    let (i, j) = (feature_index(closest.feature_a), feature_index(closest.feature_b));
    let normal = (closest.on_b - closest.on_a) / closest.distance_m;
    if let Some(face) = side_facing(a.placed, i, normal) {
        return Some((FeatureId { face_of: 1, face, other: j }, usize::from(j)));
    }
    side_facing(b.placed, j, -normal).map(|face| (FeatureId { face_of: 2, face, other: i }, usize::from(i)))
}

/// The edge at a corner whose normal is the direction, if there is one.
fn side_facing(placed: &PlacedPiece, corner: u8, direction: Vector2<f64>) -> Option<u8> {
    if placed.count < 2 {
        return None;
    }
    let before = if corner == 0 { placed.count as u8 - 1 } else { corner - 1 };
    [corner, before].into_iter().find(|&e| placed.normals[usize::from(e)].dot(&direction) > FLAT_FACING)
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

/// Cores that overlap (deeper than their radii): separating axes decide; two coinciding points part upwards.
fn touch_overlapping_cores(
    a: &PairSide,
    b: &PairSide,
    near: Near,
    memory: &mut FeatureCache,
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
            end: 0,
            id,
        });
    }
    let face = reference_face(a, b, memory.face, near.margin_m, radii)?;
    let touch = clip(a, b, &face, near)?;
    memory.face = touch.id;
    Some(touch)
}
