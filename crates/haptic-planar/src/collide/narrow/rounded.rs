//! Contact along the direction between closest features, for pairs with at least one rounded piece.

use super::faces::{Face, LEVEL_ABOVE_M, LEVEL_M, MIN_SIDEWAYS_M_PER_S, clip, permitted, reference_face};
use super::{ContactGeometry, Near, PairSide, corner_open, velocity_at};
use crate::math::tangent_of;
use crate::shape::closest::{Closest, Feature};
use crate::shape::features::{FeatureCache, FeatureId};
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Largest distance by which round corners that slide past each other count as moving apart in a tick, m.
const MAX_OPENING_M: f64 = 2e-5;
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
    if near.had_contact_load
        && let Some((level, beside_m)) = level_face(a, b, closest, normal, near)
    {
        let geometry = clip(a, b, &level, &Near { aside_m: near.aside_m + beside_m, ..*near })?;
        cache.face = geometry.id;
        return Some(geometry);
    }
    let id = FeatureId { face_of: 0, face: feature_index(closest.feature_a), other: feature_index(closest.feature_b) };
    let curved_m = if near.had_contact_load { opening_m(a, b, closest, normal, near) } else { 0.0 };
    let at = closest.on_a + normal * a.piece.radius_m;
    Some(ContactGeometry {
        normal,
        count: 1,
        gap_m: [gap + curved_m, 0.0],
        at_m: [at, at],
        apart_m: gap,
        id,
        ..ContactGeometry::default()
    })
}

/// Returns the face along which two pieces are level, and the distance of the closest corner of the other piece beside
/// it, m, if the closest corners touch, or would touch in this tick. A piece that rests or slides on a level face passes
/// over the corner of the other piece. If it lies deeper by δ, within the slop, a corner with the radius r would instead
/// meet the other one as a ramp with a slope of up to √(2δ/r).
///
/// The faces at the two corners must be parallel, and the corners must move along them rather than towards each other.
/// The motion is the one without the forces of this tick: contacts that are not solved yet may balance these.
#[cold]
fn level_face(a: &PairSide, b: &PairSide, closest: &Closest, normal: Vector2<f64>, near: &Near) -> Option<(Face, f64)> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let (a_before, b_before) = (a.before(&near.forced[0]), b.before(&near.forced[1]));
    let velocity = velocity_at(&b_before, closest.on_b) - velocity_at(&a_before, closest.on_a);
    if closest.distance_m - radii + (TICK_S * normal.dot(&velocity)).min(0.0) > 0.0 {
        return None;
    }
    let (i, j) = (feature_index(closest.feature_a), feature_index(closest.feature_b));
    let apart = closest.on_b - closest.on_a;
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

/// Returns the distance by which two round corners that slide past each other under load move apart in this tick, m. If
/// two points at the distance D move across it by d, their distance grows by d²/2D, which a linear gap ignores: a
/// rounded box would hit the edge of the next tile instead of sliding onto it. The motion is the smaller one of those
/// with and without the forces of this tick.
fn opening_m(a: &PairSide, b: &PairSide, closest: &Closest, normal: Vector2<f64>, near: &Near) -> f64 {
    let across = tangent_of(normal);
    let speed = |a: &PairSide, b: &PairSide| across.dot(&(velocity_at(b, closest.on_b) - velocity_at(a, closest.on_a)));
    let (forced, before) = (speed(a, b), speed(&a.before(&near.forced[0]), &b.before(&near.forced[1])));
    let motion_m = TICK_S * if before.abs() < forced.abs() { before } else { forced };
    (0.5 * motion_m * motion_m / closest.distance_m).min(MAX_OPENING_M)
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
