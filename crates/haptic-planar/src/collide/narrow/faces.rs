//! Contact on the plane of a face, for sharp pieces and for pieces whose cores overlap.

use super::clip::{FACE_HYSTERESIS_M, Face, LEVEL_M, clip, clip_with_overlap, edge, incident_edge, touches};
use super::{ContactGeometry, Near, PairSide, corner_open, velocity_at};
use crate::math::{larger, smaller};
use crate::shape::features::{FeatureCache, FeatureId};
use crate::shape::piece::{CERTAIN_SLOPE, PlacedPiece};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Amount by which the overlap along the best permitted face may exceed the overlap along a covered face, m. If it is
/// exceeded, the pair has no contact.
const FAR_SIDE_M: f64 = 1e-3;
/// Cosine of the angle between the normal of one face and the reversed normal of another, above which the two faces
/// count as the same plane seen from opposite sides.
const SAME_PLANE: f64 = 0.999;
/// Part of the overlap of an incident edge with a face that does not count as a proof that the face is the best one, m.
/// Within it, the pieces are as good as beside each other.
const OVERLAP_TOLERANCE_M: f64 = 1e-5;
/// Separation up to which two such pieces count as level, m: the error of the contact solve.
pub(super) const LEVEL_ABOVE_M: f64 = 1e-7;
/// Difference between the heights of the ends of an edge over a face below which the edge lies flat on it, m: more than
/// rounding errors, and less than what the contact solve leaves.
const FLAT_M: f64 = 1e-9;
/// Speed above which a piece moves towards a side, m/s.
pub(super) const MIN_SIDEWAYS_M_PER_S: f64 = 1e-4;
/// Cosine of the angle between the normals of two faces of one piece, below which the face of the last tick is kept for
/// a small advantage in separation: that of a slope of [`CERTAIN_SLOPE`].
const SAME_SIDE: f64 = 0.957_826;

/// Returns the face that separated the pair or carried its contact in the last tick, with its present separation. It
/// usually still separates the pair or carries its contact.
#[inline]
pub(super) fn last_face(a: &PairSide, b: &PairSide, last: FeatureId, radii: f64) -> Option<Face> {
    let (of, other) = match last.face_of {
        1 => (a, b),
        2 => (b, a),
        _ => return None,
    };
    let index = usize::from(last.face).min(of.placed.count - 1);
    let (separation, support) = face_separation(of.placed, index, other.placed, f64::NEG_INFINITY)?;
    Some(Face { of_first: last.face_of == 1, index, support, separation_m: separation - radii })
}

/// Returns the contact on the last face if it is certain that no other face can be better.
///
/// Let s be the separation of the face. If the support corner is over the face, at least δ > 0 from its ends, the face
/// extends by δ to either side of the corner. Along any axis at an angle φ from the normal of the face, the separation
/// is then at most s cos φ − δ |sin φ|. With s ≤ 0.3 δ this is negative for every face that is not nearly parallel. A
/// nearly parallel face cannot be better either, because the corner is over this one.
///
/// The bound also holds if the incident edge and the face overlap by the length δ and s is the larger of the gaps of the
/// two points. But the edge may extend past a corner of the piece that is almost flat, and touch the next face first,
/// at the end that clipping cuts off. The slope s/δ is therefore limited to the smallest turn of a corner of the piece.
/// The distance by which clipping widens a face is not part of the overlap, because a box beside a jaw can pass the jaw.
#[inline]
pub(super) fn collide_on_last_face(a: &PairSide, b: &PairSide, face: &Face, near: &Near) -> Option<ContactGeometry> {
    let (of, other) = if face.of_first { (a, b) } else { (b, a) };
    if !permitted(of, other, face.index, face.support) {
        return None;
    }
    let (geometry, overlap_m) = clip_with_overlap::<false>(a, b, face, near)?;
    let certain = geometry.count == 2
        && is_certain(
            larger(geometry.gap_m[0], geometry.gap_m[1]),
            overlap_m - OVERLAP_TOLERANCE_M,
            of.piece.certain_slope,
        );
    let certain = certain || is_certain(face.separation_m, clearance_beside(of, other, face), CERTAIN_SLOPE);
    if certain { Some(geometry) } else { None }
}

/// Whether a separation s and a length δ prove that no face at a larger slope is better; see [`collide_on_last_face`].
#[inline]
fn is_certain(separation_m: f64, length_m: f64, slope: f64) -> bool {
    length_m > 0.0 && separation_m <= slope * length_m
}

/// Returns the distance along the face from the support corner to the nearer end of the face, minus
/// [`FACE_HYSTERESIS_M`], m; negative if the corner is beyond the end.
#[inline]
fn clearance_beside(of: &PairSide, other: &PairSide, face: &Face) -> f64 {
    let normal = of.placed.normals[face.index];
    let along = Vector2::new(-normal.y, normal.x);
    let (start, end) = edge(of.placed, face.index);
    let corner = other.placed.corners[face.support];
    smaller(along.dot(&(corner - start)), along.dot(&(end - corner))) - FACE_HYSTERESIS_M
}

/// Returns the height of the lowest corner of `other` over a face of `of`, m, and the index of that corner; `None` if
/// it is below `least_m`.
#[inline(always)]
fn face_separation(of: &PlacedPiece, index: usize, other: &PlacedPiece, least_m: f64) -> Option<(f64, usize)> {
    let normal = of.normals[index];
    let base = normal.dot(&of.corners[index]);
    let (mut lowest, mut support) = (f64::INFINITY, 0);
    for (i, corner) in other.corners[..other.count].iter().enumerate() {
        let height = normal.dot(corner);
        if height < lowest {
            if height - base < least_m {
                return None;
            }
            (lowest, support) = (height, i);
        }
    }
    Some((lowest - base, support))
}

pub(super) fn collide_sharp(
    a: &PairSide,
    b: &PairSide,
    last: Option<Face>,
    near: &Near,
    cache: &mut FeatureCache,
) -> Option<ContactGeometry> {
    let face = reference_face(a, b, last, near, 0.0)?;
    cache.face = FeatureId { face_of: if face.of_first { 1 } else { 2 }, face: face.index as u8, other: 0 };
    if face.separation_m > near.margin_m {
        return None;
    }
    let geometry = clip(a, b, &face, near)?;
    cache.face = geometry.id;
    Some(geometry)
}

/// Returns the best permitted face of the two pieces, or the first face found whose separation exceeds the margin.
/// Returns `None` if no permitted face can carry a contact. `last` is the result of [`last_face`].
pub(super) fn reference_face(a: &PairSide, b: &PairSide, last: Option<Face>, near: &Near, radii: f64) -> Option<Face> {
    let kept = last.filter(|face| {
        let (of, other) = if face.of_first { (a, b) } else { (b, a) };
        permitted(of, other, face.index, face.support) && (face.separation_m > 0.0 || touches(of, other, face, near))
    });
    let mut choice = FaceChoice::new(kept);
    for (of_first, of, other) in [(true, a, b), (false, b, a)] {
        if of.placed.count < 2 {
            continue;
        }
        for index in 0..of.placed.count {
            let least_m = if near.examines_all { f64::NEG_INFINITY } else { choice.least_m() + radii };
            let Some((separation, support)) = face_separation(of.placed, index, other.placed, least_m) else {
                continue;
            };
            let face = Face { of_first, index, support, separation_m: separation - radii };
            if face.separation_m > near.margin_m {
                return Some(face);
            }
            if permitted(of, other, index, support) {
                choice.consider(of, other, face, near);
            } else if face.separation_m > choice.covered_m {
                choice.covered_m = face.separation_m;
            }
        }
    }
    choice.best(a, b, near)
}

/// Best faces found so far, by kind, each with the number by which it was chosen.
struct FaceChoice {
    /// Of the faces that still separate the pieces at the end of the tick, the one with the largest separation at that
    /// time, and this separation, m.
    open: Option<(f64, Face)>,
    /// Of the faces that separate the pieces now but not at the end of the tick, the one that is crossed last, and the
    /// time of the crossing, s.
    crossed: Option<(f64, Face)>,
    /// Of the faces that do not separate the pieces, the one with the least depth, and its separation, m.
    deep: Option<(f64, Face)>,
    /// Whether a face stays open by more than [`LEVEL_M`], or the pieces do not approach it. Only found if the pair was
    /// under contact load.
    stays_open: bool,
    /// Of the faces along which the pieces may be level, the one that they approach least before the forces of this
    /// tick, or, among those that they approach alike, the one that the forces press them onto most. Only found if the
    /// pair was under contact load.
    level: Option<LevelFace>,
    /// The face of the last tick, if it is permitted.
    kept: Option<Face>,
    /// Largest separation along a face that is not permitted, m.
    covered_m: f64,
}

impl FaceChoice {
    #[inline]
    fn new(kept: Option<Face>) -> Self {
        Self {
            open: None,
            crossed: None,
            deep: None,
            stays_open: false,
            level: None,
            kept,
            covered_m: f64::NEG_INFINITY,
        }
    }

    /// Returns the separation below which a face cannot be chosen, m: it is not level, and another face separates the
    /// pieces or is less deep.
    #[inline]
    fn least_m(&self) -> f64 {
        if self.open.is_some() || self.crossed.is_some() {
            return -LEVEL_M;
        }
        let deep_m = self.deep.map_or(f64::NEG_INFINITY, |(least, _)| least);
        let kept_m = self.kept.map_or(f64::NEG_INFINITY, |kept| kept.separation_m);
        deep_m.max(kept_m).min(-LEVEL_M)
    }

    #[inline]
    fn consider(&mut self, of: &PairSide, other: &PairSide, face: Face, near: &Near) {
        let normal = of.placed.normals[face.index];
        let s = face.separation_m;
        let may_be_level = near.had_contact_load && s > -LEVEL_M && s < LEVEL_ABOVE_M;
        let is_deep = s <= 0.0;
        // Another piece can be beyond the plane of a face without touching the face: a corner beside a pointed tip is.
        if (may_be_level || is_deep) && !touches(of, other, &face, near) {
            if is_deep {
                return;
            }
        } else if may_be_level {
            self.consider_level(LevelFace::new(of, other, face, near));
        }
        if is_deep {
            keep_larger(&mut self.deep, s, face);
            return;
        }
        let point = other.placed.corners[face.support];
        let speed = normal.dot(&(velocity_at(other, point) - velocity_at(of, point)));
        let end = s + TICK_S * speed;
        if end > 0.0 {
            keep_larger(&mut self.open, end, face);
            self.stays_open |= near.had_contact_load && stays_open_under_load(of, other, &face, near);
        } else {
            keep_larger(&mut self.crossed, s / -speed, face);
        }
    }

    fn consider_level(&mut self, face: LevelFace) {
        let replaces = |best: LevelFace| {
            let faster_m_per_s = face.speed_m_per_s - best.speed_m_per_s;
            faster_m_per_s > MIN_SIDEWAYS_M_PER_S
                || (faster_m_per_s >= -MIN_SIDEWAYS_M_PER_S && face.pressed_m_per_s > best.pressed_m_per_s)
        };
        if self.level.is_none_or(replaces) {
            self.level = Some(face);
        }
    }

    #[inline]
    fn best(&self, a: &PairSide, b: &PairSide, near: &Near) -> Option<Face> {
        if near.had_contact_load
            && let Some(level) = self.level(a, b, near)
        {
            return Some(level);
        }
        let separated = self.open.or(self.crossed).map(|(_, face)| face);
        match (separated, self.deep, self.kept) {
            (Some(face), _, Some(kept)) if same_plane(a, b, &face, &kept) && keeps(a, b, &face, &kept, near) => {
                Some(kept)
            }
            (Some(face), _, _) => Some(face),
            // A covered face separates the pieces better, so neighbours carry the contact; the remaining face is on the
            // far side of a thick piece.
            (None, Some((least, _)), _) if least < self.covered_m - FAR_SIDE_M => None,
            (None, Some((_, face)), Some(kept)) if keeps(a, b, &face, &kept, near) => Some(kept),
            (None, Some((_, face)), _) => Some(face),
            // No face is better than the kept one, which `least_m` left out for a rounding error.
            (None, None, Some(kept)) if kept.separation_m >= self.covered_m - FAR_SIDE_M => Some(kept),
            (None, None, _) => None,
        }
    }

    /// Returns the face along which the pieces are level, if they would otherwise hit each other sideways in this tick.
    /// A piece that rests or slides on a level face passes over the other piece.
    ///
    /// If a corner reaches a side just when a tick starts or ends, the separations do not tell which face is which:
    /// both may be crossed, or neither. The level face is then the one that the pieces did not approach. If they are at
    /// rest, it is the one that the forces press them onto: a body that friction holds is pressed on its floor more
    /// than it is pulled along it.
    #[inline]
    fn level(&self, a: &PairSide, b: &PairSide, near: &Near) -> Option<Face> {
        if self.stays_open {
            return None;
        }
        let (level, (_, sideways)) = (self.level?, self.open.or(self.crossed).or(self.deep)?);
        let is_along = |face: &Face| normal_of(a, b, face).dot(&normal_of(a, b, &level.face)).abs() >= SAME_PLANE;
        if is_along(&sideways) {
            // The face is level itself, and the pieces have passed the side. The side is not kept for its small depth.
            return self.kept.filter(|kept| !is_along(kept)).map(|_| sideways);
        }
        let (of, other) = if sideways.of_first { (a, b) } else { (b, a) };
        let sideways = LevelFace::new(of, other, sideways, near);
        let is_over =
            sideways.speed_m_per_s < -MIN_SIDEWAYS_M_PER_S || level.pressed_m_per_s >= sideways.pressed_m_per_s;
        is_over.then_some(level.face)
    }
}

/// A face along which two pieces may be level.
#[derive(Clone, Copy)]
struct LevelFace {
    face: Face,
    /// Speed at which the support corner leaves the face before the forces of this tick, m/s.
    speed_m_per_s: f64,
    /// Speed at which the forces of this tick, without their torques, would press the pieces together along the normal
    /// of the face, m/s.
    pressed_m_per_s: f64,
}

impl LevelFace {
    /// Takes a face of `of`.
    fn new(of: &PairSide, other: &PairSide, face: Face, near: &Near) -> Self {
        let corner = other.placed.corners[face.support];
        let speed_m_per_s = speed_before_forces(of, other, &face, corner, near);
        Self { face, speed_m_per_s, pressed_m_per_s: pressed_m_per_s(of, &face, near) }
    }
}

/// Returns the speed at which the forces of this tick, without their torques, would press the pieces together along the
/// normal of a face of `of`, m/s.
fn pressed_m_per_s(of: &PairSide, face: &Face, near: &Near) -> f64 {
    let [a, b] = near.forced.map(|change| change.linear_m_per_s);
    let apart = if face.of_first { b - a } else { a - b };
    -of.placed.normals[face.index].dot(&apart)
}

/// Whether the edge of `other` in front of a face of `of` stays away from it, or does not approach it, with the forces
/// of this tick, without their torques, and without them: contacts that are not solved yet may hold the bodies back.
fn stays_open_under_load(of: &PairSide, other: &PairSide, face: &Face, near: &Near) -> bool {
    let normal = of.placed.normals[face.index];
    let base = normal.dot(&of.placed.corners[face.index]) + of.piece.radius_m + other.piece.radius_m;
    let (_, p, q) = incident_edge(other.placed, face.support, normal);
    let pressed_m_per_s = pressed_m_per_s(of, face, near);
    let (mut least_m, mut least_m_per_s) = (f64::INFINITY, f64::INFINITY);
    for point in [p, q] {
        let forced = normal.dot(&(velocity_at(other, point) - velocity_at(of, point)));
        let before = speed_before_forces(of, other, face, point, near);
        let speed = forced.min(before).min(before - pressed_m_per_s);
        least_m = least_m.min(normal.dot(&point) - base + TICK_S * speed);
        least_m_per_s = least_m_per_s.min(speed);
    }
    least_m > LEVEL_M || least_m_per_s > -MIN_SIDEWAYS_M_PER_S
}

/// Returns the speed at which a point of `other` leaves a face of `of`, before the forces of this tick, m/s.
#[inline]
fn speed_before_forces(of: &PairSide, other: &PairSide, face: &Face, point: Vector2<f64>, near: &Near) -> f64 {
    let [a, b] = &near.forced;
    let (of_change, other_change) = if face.of_first { (a, b) } else { (b, a) };
    let (of, other) = (of.before(of_change), other.before(other_change));
    of.placed.normals[face.index].dot(&(velocity_at(&other, point) - velocity_at(&of, point)))
}

/// Returns the outward normal of a face, world.
#[inline]
fn normal_of(a: &PairSide, b: &PairSide, face: &Face) -> Vector2<f64> {
    if face.of_first { a.placed.normals[face.index] } else { b.placed.normals[face.index] }
}

/// Whether `face` and `kept`, the face of the last tick, are the same plane seen from opposite sides.
#[inline]
fn same_plane(a: &PairSide, b: &PairSide, face: &Face, kept: &Face) -> bool {
    kept.of_first != face.of_first && normal_of(a, b, face).dot(&normal_of(a, b, kept)) < -SAME_PLANE
}

/// Whether `kept`, the face of the last tick, stays the reference face although `face` is better: its separation must be
/// similar, and so must the gap of its contact. An edge that is clipped to the face may come closer beside it: where the
/// outline is almost flat, one plane separates the pieces as well as the next, but only one face carries the contact.
/// On two such faces of one piece, the better one is always right.
#[inline]
fn keeps(a: &PairSide, b: &PairSide, face: &Face, kept: &Face, near: &Near) -> bool {
    if kept.of_first == face.of_first {
        if kept.index == face.index {
            return true;
        }
        if normal_of(a, b, face).dot(&normal_of(a, b, kept)) > SAME_SIDE {
            return false;
        }
    }
    kept.separation_m >= face.separation_m - FACE_HYSTERESIS_M
        && clip(a, b, kept, near).is_some_and(|contact| contact.apart_m <= face.separation_m + FACE_HYSTERESIS_M)
}

#[inline]
fn keep_larger(slot: &mut Option<(f64, Face)>, score: f64, face: Face) {
    if slot.is_none_or(|(best, _)| score > best) {
        *slot = Some((score, face));
    }
}

/// Whether a face can carry a contact with a corner of the other piece: neighbours must cover neither the face nor the
/// corner.
#[inline]
pub(super) fn permitted(of: &PairSide, other: &PairSide, face: usize, corner: usize) -> bool {
    (of.piece.seams.is_none() && other.piece.seams.is_none()) || permitted_by_seams(of, other, face, corner)
}

#[inline(never)]
fn permitted_by_seams(of: &PairSide, other: &PairSide, face: usize, corner: usize) -> bool {
    if let Some(seams) = &of.piece.seams
        && seams.internal_edges >> face & 1 == 1
    {
        return false;
    }
    corner_open(other, corner, -of.placed.normals[face]) || lies_flat(of, other, face, corner)
}

/// Whether the edge of `other` at a covered corner lies flat in front of a face of `of`. Rounding errors then decide
/// which end of the edge is the support corner, and the contact is that of the edge.
#[cold]
#[inline(never)]
fn lies_flat(of: &PairSide, other: &PairSide, face: usize, corner: usize) -> bool {
    let normal = of.placed.normals[face];
    let (edge, start, end) = incident_edge(other.placed, corner, normal);
    let is_outline = other.piece.seams.as_ref().is_none_or(|seams| seams.internal_edges >> edge & 1 == 0);
    is_outline && normal.dot(&(end - start)).abs() < FLAT_M
}
