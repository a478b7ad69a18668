//! Contact on the plane of a face, for sharp pieces and for pieces whose cores overlap.

use super::{ContactGeometry, Near, PairSide, corner_open, velocity_at};
use crate::math::{larger, smaller, tangent_of};
use crate::shape::features::{FeatureCache, FeatureId};
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Advantage in separation that another face needs to replace the reference face, m. With a smaller value, resting
/// boxes would switch between faces.
pub(super) const FACE_HYSTERESIS_M: f64 = 1e-4;
/// Amount by which the overlap along the best permitted face may exceed the overlap along a covered face, m. If it is
/// exceeded, the pair has no contact.
const FAR_SIDE_M: f64 = 1e-3;
/// Distance beside a face within which a corner still counts as in front of the face, m, so that a corner that meets
/// the end of a face has a contact.
const CORNER_WIDENING_M: f64 = 3e-4;
/// Distance below which the two points of a manifold are merged, m. With a smaller value, the mass matrix of the
/// manifold could be singular.
const MERGE_M: f64 = 1e-5;
/// Cosine of the angle between the normal of one face and the reversed normal of another, above which the two faces
/// count as the same plane seen from opposite sides.
const SAME_PLANE: f64 = 0.999;
/// Part of the overlap of an incident edge with a face that does not count as a proof that the face is the best one, m.
/// Within it, the pieces are as good as beside each other.
const OVERLAP_TOLERANCE_M: f64 = 1e-5;
/// Depth up to which two pieces count as level, m, if one of them carried contact load in the last tick: twice the slop
/// of the position correction. With a smaller value, a box that slides over tiles with gaps between them would catch on
/// the side of the next tile.
pub(super) const LEVEL_M: f64 = 1e-5;
/// Separation up to which two such pieces count as level, m: the error of the contact solve.
pub(super) const LEVEL_ABOVE_M: f64 = 1e-7;
/// Speed above which a piece moves towards a side, m/s.
pub(super) const MIN_SIDEWAYS_M_PER_S: f64 = 1e-4;
/// Ratio of the separation s to the length δ below which a face is certainly the best one; see
/// [`collide_on_last_face`].
const CERTAIN_SLOPE: f64 = 0.3;

/// A reference face, or a candidate for one.
#[derive(Clone, Copy)]
pub(super) struct Face {
    pub(super) of_first: bool,
    pub(super) index: usize,
    pub(super) support: usize,
    pub(super) separation_m: f64,
}

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
/// is then at most s cos φ − δ |sin φ|. With s ≤ 0.3 δ this is negative for every face that is not nearly parallel. The
/// same holds if the incident edge and the face overlap by the length δ and s is the larger of the gaps of the two
/// points. The widening of the face does not count: a box beside a jaw can pass it.
#[inline]
pub(super) fn collide_on_last_face(a: &PairSide, b: &PairSide, face: &Face, near: &Near) -> Option<ContactGeometry> {
    let (of, other) = if face.of_first { (a, b) } else { (b, a) };
    if !permitted(of, other, face.index, face.support) {
        return None;
    }
    let (geometry, overlap_m) = clip_with_overlap(a, b, face, near)?;
    let certain = geometry.count == 2
        && is_certain(larger(geometry.gap_m[0], geometry.gap_m[1]), overlap_m - OVERLAP_TOLERANCE_M);
    let certain = certain || is_certain(face.separation_m, clearance_beside(of, other, face));
    if certain { Some(geometry) } else { None }
}

/// Whether a separation s and a length δ prove that no other face is better; see [`collide_on_last_face`].
#[inline]
fn is_certain(separation_m: f64, length_m: f64) -> bool {
    length_m > 0.0 && separation_m <= CERTAIN_SLOPE * length_m
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
            (Some(face), _, Some(kept)) if same_plane(a, b, &face, &kept) => Some(kept),
            (Some(face), _, _) => Some(face),
            // A covered face separates the pieces better, so neighbours carry the contact; the remaining face is on the
            // far side of a thick piece.
            (None, Some((least, _)), _) if least < self.covered_m - FAR_SIDE_M => None,
            (None, Some((least, _)), Some(kept)) if kept.separation_m >= least - FACE_HYSTERESIS_M => Some(kept),
            (None, Some((_, face)), _) => Some(face),
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

/// Whether `face` and `kept`, the face of the last tick, are the same plane seen from opposite sides, with similar
/// separations. If so, `kept` stays the reference face.
#[inline]
fn same_plane(a: &PairSide, b: &PairSide, face: &Face, kept: &Face) -> bool {
    kept.of_first != face.of_first
        && kept.separation_m >= face.separation_m - FACE_HYSTERESIS_M
        && normal_of(a, b, face).dot(&normal_of(a, b, kept)) < -SAME_PLANE
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
    if let Some(seams) = &of.piece.seams
        && seams.internal_edges >> face & 1 == 1
    {
        return false;
    }
    corner_open(other, corner, -of.placed.normals[face])
}

/// Clips the incident edge of the other piece to the face and returns a contact with up to two points; `None` if no
/// point lies within the margin.
#[inline(never)]
pub(super) fn clip(a: &PairSide, b: &PairSide, face: &Face, near: &Near) -> Option<ContactGeometry> {
    clip_with_overlap(a, b, face, near).map(|(geometry, _)| geometry)
}

/// Does the same as [`clip`] and also returns the length by which the incident edge overlaps the face, m; negative if
/// they lie beside each other.
#[inline(always)]
fn clip_with_overlap(a: &PairSide, b: &PairSide, face: &Face, near: &Near) -> Option<(ContactGeometry, f64)> {
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

/// Whether the edge of `other` in front of a face of `of` touches the face itself, not only its plane.
#[inline(never)]
fn touches(of: &PairSide, other: &PairSide, face: &Face, near: &Near) -> bool {
    let near = Near { margin_m: smaller(near.margin_m, FACE_HYSTERESIS_M), ..*near };
    clip(of, other, &Face { of_first: true, ..*face }, &near).is_some()
}

#[inline]
fn edge(placed: &PlacedPiece, index: usize) -> (Vector2<f64>, Vector2<f64>) {
    let next = if index + 1 == placed.count { 0 } else { index + 1 };
    (placed.corners[index], placed.corners[next])
}

/// Returns the edge that starts or ends at the support corner and faces the reference face more directly, as its index
/// and its two ends. For a point, both ends are that point.
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
