//! Clips the edge of one piece to a face of the other: the points of a contact on the plane of a face.

use super::{ContactGeometry, Near, PairSide, velocity_at};
use crate::math::{larger, smaller, tangent_of};
use crate::shape::features::FeatureId;
use crate::shape::piece::{Cone, PlacedPiece};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Advantage in separation that another face needs to replace the reference face, m. With a smaller value, resting
/// boxes would switch between faces.
pub(super) const FACE_HYSTERESIS_M: f64 = 1e-4;
/// Distance beside a face within which a corner still counts as in front of the face, m, so that a corner that meets
/// the end of a face has a contact.
const CORNER_WIDENING_M: f64 = 3e-4;
/// Distance below which the two points of a manifold are merged, m. With a smaller value, the mass matrix of the
/// manifold could be singular.
const MERGE_M: f64 = 1e-5;
/// Depth up to which two pieces count as level, m, if one of them carried contact load in the last tick: twice the slop
/// of the position correction. With a smaller value, a box that slides over tiles with gaps between them would catch on
/// the side of the next tile.
pub(super) const LEVEL_M: f64 = 1e-5;

/// A reference face, or a candidate for one.
#[derive(Clone, Copy)]
pub(super) struct Face {
    pub(super) of_first: bool,
    pub(super) index: usize,
    pub(super) support: usize,
    pub(super) separation_m: f64,
}

/// Clips the incident edge of the other piece to the face and returns a contact with up to two points; `None` if no
/// point lies within the margin.
#[inline(never)]
pub(super) fn clip(a: &PairSide, b: &PairSide, face: &Face, near: &Near) -> Option<ContactGeometry> {
    clip_with_overlap::<true>(a, b, face, near).map(|(geometry, _)| geometry)
}

/// Does the same as [`clip`] and also returns the length by which the incident edge overlaps the face, m; negative if
/// they lie beside each other. `MAY_BE_IN_NOTCH` is false where the face is only used if it overlaps by less than
/// [`FACE_HYSTERESIS_M`], which needs no look at its neighbours.
#[inline(always)]
pub(super) fn clip_with_overlap<const MAY_BE_IN_NOTCH: bool>(
    a: &PairSide,
    b: &PairSide,
    face: &Face,
    near: &Near,
) -> Option<(ContactGeometry, f64)> {
    let (of, other) = if face.of_first { (a, b) } else { (b, a) };
    let normal = of.placed.normals[face.index];
    let along = Vector2::new(-normal.y, normal.x);
    let (start, end) = edge(of.placed, face.index);
    let (from, to) = (along.dot(&start), along.dot(&end));
    let base = normal.dot(&start) + of.piece.radius_m;
    let radii = other.piece.radius_m + of.piece.radius_m;
    let (incident, p, q) = incident_edge(other.placed, face.support, normal);
    // The incident edge runs against the direction of the face, so its second corner comes first along the face.
    let low = (along.dot(&q), normal.dot(&q) - base + of.piece.radius_m - radii);
    let high = (along.dot(&p), normal.dot(&p) - base + of.piece.radius_m - radii);
    let overlap_m = smaller(high.0, to) - larger(low.0, from);
    let span = if overlap_m < 0.0 {
        let widening_m = widening(of, other, face, along, near.aside_m);
        (from - widening_m, to + widening_m)
    } else if face.separation_m > LEVEL_M && (low.0 < from || high.0 > to) {
        span_at_closing(of, other, face, along, (from, to))
    } else if MAY_BE_IN_NOTCH && face.separation_m < -LEVEL_M && of.piece.seams.is_some() {
        span_in_notch(of, other, face, along, (from, to))
    } else {
        (from, to)
    };
    let (low, high) = clip_span(low, high, span)?;
    let id = FeatureId { face_of: if face.of_first { 1 } else { 2 }, face: face.index as u8, other: incident as u8 };
    let on_face = |x: f64| along * x + normal * base;
    let (first, second) = ((low.1, on_face(low.0)), (high.1, on_face(high.0)));
    let outward = if face.of_first { normal } else { -normal };
    gather(outward, id, first, second, high.0 - low.0 > MERGE_M, near.margin_m).map(|geometry| (geometry, overlap_m))
}

/// Whether the edge of `other` in front of a face of `of` touches the face itself, not only its plane. The margin of
/// `near` does not count: with a margin of zero, an edge that lies flat on the face would touch it or not by rounding.
#[inline(never)]
pub(super) fn touches(of: &PairSide, other: &PairSide, face: &Face, near: &Near) -> bool {
    let near = Near { margin_m: FACE_HYSTERESIS_M, ..*near };
    clip(of, other, &Face { of_first: true, ..*face }, &near).is_some()
}

#[inline]
pub(super) fn edge(placed: &PlacedPiece, index: usize) -> (Vector2<f64>, Vector2<f64>) {
    let next = if index + 1 == placed.count { 0 } else { index + 1 };
    (placed.corners[index], placed.corners[next])
}

/// Returns the edge that starts or ends at the support corner and faces the reference face more directly, as its index
/// and its two ends. For a point, both ends are that point.
#[inline]
pub(super) fn incident_edge(
    placed: &PlacedPiece,
    support: usize,
    normal: Vector2<f64>,
) -> (usize, Vector2<f64>, Vector2<f64>) {
    if placed.count < 2 {
        return (support, placed.corners[support], placed.corners[support]);
    }
    let before = if support == 0 { placed.count - 1 } else { support - 1 };
    let chosen =
        if normal.dot(&placed.normals[support]) <= normal.dot(&placed.normals[before]) { support } else { before };
    let (p, q) = edge(placed, chosen);
    (chosen, p, q)
}

/// Returns the length by which a face beside the incident edge is extended at both ends, m: the support corner may move
/// in front of the face within the tick.
#[inline]
fn widening(of: &PairSide, other: &PairSide, face: &Face, along: Vector2<f64>, aside_m: f64) -> f64 {
    let point = other.placed.corners[face.support];
    let slip = along.dot(&(velocity_at(other, point) - velocity_at(of, point))).abs();
    TICK_S * slip + CORNER_WIDENING_M + aside_m
}

/// Returns the span of a face, extended to the support corner if the corner is beside the face now but in front of it
/// when it closes in this tick. Otherwise the clipped edge would close too late.
#[inline(never)]
fn span_at_closing(
    of: &PairSide,
    other: &PairSide,
    face: &Face,
    along: Vector2<f64>,
    (from, to): (f64, f64),
) -> (f64, f64) {
    let corner = other.placed.corners[face.support];
    let velocity = velocity_at(other, corner) - velocity_at(of, corner);
    let closing_m = -TICK_S * of.placed.normals[face.index].dot(&velocity);
    if closing_m <= face.separation_m {
        return (from, to);
    }
    let now = along.dot(&corner);
    let then = now + TICK_S * along.dot(&velocity) * (face.separation_m / closing_m);
    if then < from || then > to { (from, to) } else { (smaller(from, now), larger(to, now)) }
}

/// Returns the span of a face, extended to the support corner if the corner is behind the plane of the face just beyond
/// an end at which a neighbour covers its corner, in a notch. The plane continues inside the neighbour there, and a tip
/// that overlaps the neighbour leaves it in front of the face.
#[cold]
#[inline(never)]
fn span_in_notch(
    of: &PairSide,
    other: &PairSide,
    face: &Face,
    along: Vector2<f64>,
    (from, to): (f64, f64),
) -> (f64, f64) {
    let now = along.dot(&other.placed.corners[face.support]);
    let beyond_m = larger(from - now, now - to);
    let next = if face.index + 1 == of.placed.count { 0 } else { face.index + 1 };
    let end = if now < from { face.index } else { next };
    let is_covered = of.piece.seams.as_ref().is_some_and(|seams| seams.cones[end] == Cone::Empty);
    if is_covered && beyond_m > 0.0 && beyond_m <= widening(of, other, face, along, 0.0) {
        (smaller(from, now), larger(to, now))
    } else {
        (from, to)
    }
}

/// Clips a segment to a span of positions along the face; `None` if the segment lies outside it. The ends of the
/// segment are given as (position along the face, gap).
#[inline]
fn clip_span(low: (f64, f64), high: (f64, f64), span: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    if high.0 < span.0 || low.0 > span.1 {
        return None;
    }
    let run = high.0 - low.0;
    let at =
        |x: f64| if run > MERGE_M { low.1 + (high.1 - low.1) * ((x - low.0) / run) } else { smaller(low.1, high.1) };
    let from = if low.0 < span.0 { (span.0, at(span.0)) } else { low };
    let to = if high.0 > span.1 { (span.1, at(span.1)) } else { high };
    Some((from, to))
}

/// Returns a contact with the points within the margin, ordered along the tangent; `None` if there are none. Of two
/// points that nearly coincide, only the deeper one is kept.
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
    let mut geometry = ContactGeometry { normal: outward, id, ..ContactGeometry::default() };
    geometry.apart_m = smaller(first.0, second.0);
    let both = distinct && first.0 <= margin_m && second.0 <= margin_m;
    if both {
        geometry.count = 2;
        geometry.gap_m = [first.0, second.0];
        geometry.at_m = [first.1, second.1];
    } else {
        geometry.end = usize::from(second.0 < first.0);
        let nearest = if geometry.end == 0 { first } else { second };
        if nearest.0 > margin_m {
            return None;
        }
        geometry.count = 1;
        geometry.gap_m[0] = nearest.0;
        geometry.at_m[0] = nearest.1;
    }
    Some(geometry)
}
