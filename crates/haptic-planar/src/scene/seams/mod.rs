//! Seams: edges and corners where pieces that cannot move relative to each other touch. A tool that slides over them
//! must not catch.
//!
//! A floor of tiles has corners and internal edges at every joint; a concave body has them along its cuts. A tool that
//! slides over a joint must not collide with them. When a scene is loaded, each corner is therefore assigned the
//! directions in which it can still be touched, and each edge a flag for whether neighbours cover it.
//!
//! Neighbours are fixed pieces of one layer, compared in the world frame, and pieces of one dynamic body, compared in
//! its frame. Rounded pieces are compared by their cores if their radii are equal. Discs, capsules and pieces with
//! different radii are skipped; the rules for level pairs keep a tool from catching where they are flush.

mod cut;
#[cfg(test)]
mod tests;

use crate::math::distance_to_segment_m;
use crate::math::rotate;
use crate::scene::Body;
use crate::shape::aabb::Aabb;
use crate::shape::piece::{Cone, MAX_CORNERS, Piece, PlacedPiece, Seams};
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// Largest gap or step that counts as flush, m. Real tiles are not placed more accurately than this, and a step that
/// can be felt is larger.
pub const FLUSH_M: f64 = 20e-6;

/// Difference below which two radii count as equal, m.
const ALIKE_M: f64 = 1e-9;

/// Largest fraction of its length over which an internal edge may be uncovered at each end.
const BARE_END: f64 = 0.02;

/// Largest cosine between the normals of two faces that count as opposite (within about 2.5°).
const LOOKING_BACK_COSINE: f64 = -0.999;

/// Cosine above which the normals of two faces count as pointing in the same direction (within 60°).
const SAME_WAY_COSINE: f64 = 0.5;

/// Finds the seams of all pieces and stores them in the pieces. The cost grows with the number of neighbours, not with
/// the square of the number of pieces.
pub fn fill_seams(bodies: &[Body], pieces: &mut [Piece]) {
    for group in groups(bodies, pieces) {
        let found = find(&group);
        for (member, seams) in group.iter().zip(found) {
            pieces[member.index].seams = seams.map(|seams| Box::new(in_body_frame(seams, member.rotation)));
        }
    }
}

/// A polygonal piece placed in the frame in which it is compared with its neighbours.
struct Member {
    index: usize,
    placed: PlacedPiece,
    /// Rotation (cos, sin) from the body frame to the frame of the comparison.
    rotation: Vector2<f64>,
    radius_m: f64,
    /// Box of the core, grown by [`FLUSH_M`].
    around: Aabb,
}

impl Member {
    fn new(index: usize, piece: &Piece, centre: Vector2<f64>, rotation: Vector2<f64>) -> Self {
        let placed = PlacedPiece::new(piece, centre, rotation);
        Self { index, rotation, radius_m: piece.radius_m, around: Aabb::around(&placed, FLUSH_M), placed }
    }

    fn next(&self, corner: usize) -> usize {
        (corner + 1) % self.placed.count
    }

    fn before(&self, corner: usize) -> usize {
        (corner + self.placed.count - 1) % self.placed.count
    }

    fn edge(&self, edge: usize) -> (Vector2<f64>, Vector2<f64>) {
        (self.placed.corners[edge], self.placed.corners[self.next(edge)])
    }

    fn direction(&self, edge: usize) -> Vector2<f64> {
        let normal = self.placed.normals[edge];
        Vector2::new(-normal.y, normal.x)
    }

    /// Returns the uncut cone of a corner: the normals of the edges before and after it.
    fn own_cone(&self, corner: usize) -> (Vector2<f64>, Vector2<f64>) {
        (self.placed.normals[self.before(corner)], self.placed.normals[corner])
    }

    fn may_touch(&self, other: &Self) -> bool {
        self.around.meets(&other.around) && (self.radius_m - other.radius_m).abs() < ALIKE_M
    }
}

/// Returns the groups of polygonal pieces that cannot move relative to each other: one for each layer of fixed bodies
/// and one for each dynamic body. Groups of a single piece are left out.
fn groups(bodies: &[Body], pieces: &[Piece]) -> Vec<Vec<Member>> {
    let mut fixed: BTreeMap<i32, Vec<Member>> = BTreeMap::new();
    let mut dynamic = Vec::new();
    for body in bodies {
        let polygons = body.pieces.clone().filter(|&index| pieces[index].count > 2);
        if body.fixed {
            let (centre, rotation) = body.start_pose();
            let members = polygons.map(|index| Member::new(index, &pieces[index], centre, rotation));
            fixed.entry(body.layer).or_default().extend(members);
        } else {
            let place = |index| Member::new(index, &pieces[index], Vector2::zeros(), Vector2::x());
            dynamic.push(polygons.map(place).collect());
        }
    }
    fixed.into_values().chain(dynamic).filter(|group: &Vec<Member>| group.len() > 1).collect()
}

/// Intermediate result for one piece while its neighbours are visited.
struct Trace {
    cones: [Cone; MAX_CORNERS],
    /// Covered ranges: index of the edge, and start and end as fractions of its length.
    covers: Vec<(usize, f64, f64)>,
}

fn find(group: &[Member]) -> Vec<Option<Seams>> {
    let bare = || Trace { cones: [Cone::Full; MAX_CORNERS], covers: Vec::new() };
    let mut traces: Vec<Trace> = group.iter().map(|_| bare()).collect();
    for (one, other) in near_pairs(group) {
        meet(&group[one], &group[other], &mut traces[one]);
        meet(&group[other], &group[one], &mut traces[other]);
    }
    group.iter().zip(traces).map(|(member, trace)| conclude(member, trace)).collect()
}

/// Returns the pairs of members that may touch, found by sort and sweep along the axis on which the group is longer.
fn near_pairs(group: &[Member]) -> Vec<(usize, usize)> {
    let spread = |axis: usize| {
        let low = group.iter().map(|member| member.around.low[axis]).fold(f64::INFINITY, f64::min);
        group.iter().map(|member| member.around.low[axis]).fold(f64::NEG_INFINITY, f64::max) - low
    };
    let axis = usize::from(spread(1) > spread(0));
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by(|&a, &b| group[a].around.low[axis].total_cmp(&group[b].around.low[axis]).then(a.cmp(&b)));
    let mut pairs = Vec::new();
    for (rank, &one) in order.iter().enumerate() {
        let after = order[rank + 1..]
            .iter()
            .take_while(|&&other| group[other].around.low[axis] <= group[one].around.high[axis]);
        pairs.extend(after.filter(|&&other| group[one].may_touch(&group[other])).map(|&other| (one, other)));
    }
    pairs
}

/// Records the parts of `member` that `other` covers.
fn meet(member: &Member, other: &Member, trace: &mut Trace) {
    for corner in 0..member.placed.count {
        let touch = touch(member.placed.corners[corner], other);
        let own = member.own_cone(corner);
        trace.cones[corner] = close_off(trace.cones[corner], own, touch, other);
    }
    for edge in 0..member.placed.count {
        let faces = (0..other.placed.count).filter_map(|face| cover_by_face(member, edge, other, face));
        let covers = faces.chain(cover_by_depth(member, edge, other));
        trace.covers.extend(covers.map(|(from, to)| (edge, from, to)));
    }
}

/// Location of a point relative to a piece.
enum Touch {
    Apart,
    Inside,
    Corner(usize),
    Edge(usize),
}

fn touch(point: Vector2<f64>, piece: &Member) -> Touch {
    let to_corner = |i: usize| (point - piece.placed.corners[i]).norm();
    let to_edge = |i: usize| distance_to_segment_m(point, piece.edge(i).0, piece.edge(i).1);
    let (corner, corner_m) = least(piece.placed.count, to_corner);
    let (edge, edge_m) = least(piece.placed.count, to_edge);
    if corner_m <= FLUSH_M {
        Touch::Corner(corner)
    } else if edge_m <= FLUSH_M {
        Touch::Edge(edge)
    } else if (0..piece.placed.count).all(|i| piece.placed.normals[i].dot(&(point - piece.placed.corners[i])) < 0.0) {
        Touch::Inside
    } else {
        Touch::Apart
    }
}

fn least(count: usize, measure: impl Fn(usize) -> f64) -> (usize, f64) {
    let measured = (0..count).map(|i| (i, measure(i)));
    measured.fold((0, f64::INFINITY), |least, next| if next.1 < least.1 { next } else { least })
}

fn close_off(cone: Cone, own: (Vector2<f64>, Vector2<f64>), touch: Touch, other: &Member) -> Cone {
    let cut_by = |cone: Cone, tangents: &[Vector2<f64>]| tangents.iter().fold(cone, |cone, t| cut::cut(cone, own, *t));
    match touch {
        Touch::Apart => cone,
        Touch::Inside => Cone::Empty,
        Touch::Corner(at) => {
            let (before, after) = other.own_cone(at);
            // The middle direction matters if the neighbour's corner is almost flat: within the slack of a cut, its two
            // edges alone would leave the direction straight into it open.
            let into = -(before + after).normalize();
            cut_by(cone, &[other.direction(at), -other.direction(other.before(at)), into])
        }
        Touch::Edge(edge) => {
            let along = other.direction(edge);
            cut_by(cone, &[along, -along, -other.placed.normals[edge]])
        }
    }
}

/// Returns the range over which an edge lies flush against an opposite face, in fractions of the edge's length. Nothing
/// else fits between the edge and the face, however thin the piece behind the face is.
fn cover_by_face(member: &Member, edge: usize, other: &Member, face: usize) -> Option<(f64, f64)> {
    let back = other.placed.normals[face];
    if back.dot(&member.placed.normals[edge]) > LOOKING_BACK_COSINE {
        return None;
    }
    let ((start, end), (far, near)) = (member.edge(edge), other.edge(face));
    let fraction = |point: Vector2<f64>| (point - start).dot(&(end - start)) / (end - start).norm_squared();
    let (from, to) = (fraction(near).max(0.0), fraction(far).min(1.0));
    let is_flush = |fraction: f64| back.dot(&(start + (end - start) * fraction - far)).abs() <= FLUSH_M;
    (from < to && is_flush(from) && is_flush(to)).then_some((from, to))
}

/// Returns the range over which an edge is buried in another piece, in fractions of the edge's length: the other piece
/// comes within [`FLUSH_M`] of the edge and extends at least [`FLUSH_M`] beyond it. A piece on the inner side of the
/// edge that ends flush with it covers nothing.
fn cover_by_depth(member: &Member, edge: usize, other: &Member) -> Option<(f64, f64)> {
    let (start, end) = member.edge(edge);
    let normal = member.placed.normals[edge];
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for i in 0..other.placed.count {
        let face = other.placed.normals[i];
        let limit_m = if face.dot(&normal) > SAME_WAY_COSINE { -FLUSH_M * face.dot(&normal) } else { FLUSH_M };
        let room_m = limit_m - face.dot(&(start - other.placed.corners[i]));
        let slope_m = face.dot(&(end - start));
        match slope_m {
            _ if slope_m > 0.0 => to = to.min(room_m / slope_m),
            _ if slope_m < 0.0 => from = from.max(room_m / slope_m),
            _ if room_m < 0.0 => return None,
            _ => {}
        }
    }
    (from < to).then_some((from, to))
}

fn conclude(member: &Member, mut trace: Trace) -> Option<Seams> {
    trace.covers.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let internal = (0..member.placed.count).filter(|&edge| is_covered(member, edge, &trace.covers));
    let internal_edges = internal.fold(0u16, |bits, edge| bits | 1 << edge);
    let is_uncovered = internal_edges == 0 && trace.cones.iter().all(|cone| *cone == Cone::Full);
    (!is_uncovered).then_some(Seams { internal_edges, cones: trace.cones })
}

/// Whether the covered ranges of an edge, sorted by their start, leave no gap wider than [`FLUSH_M`], apart from its
/// ends ([`BARE_END`]). The whole length is checked instead of samples, because a floor with a few blocks on it must
/// not count as covered.
fn is_covered(member: &Member, edge: usize, covers: &[(usize, f64, f64)]) -> bool {
    let (start, end) = member.edge(edge);
    let gap = FLUSH_M / (end - start).norm();
    let mut reached = BARE_END;
    for (_, from, to) in covers.iter().filter(|cover| cover.0 == edge) {
        if *from > reached + gap {
            break;
        }
        reached = reached.max(*to);
    }
    reached >= 1.0 - BARE_END
}

fn in_body_frame(mut seams: Seams, rotation: Vector2<f64>) -> Seams {
    let back = Vector2::new(rotation.x, -rotation.y);
    for cone in &mut seams.cones {
        if let Cone::Between(low, high) = cone {
            *cone = Cone::Between(rotate(back, *low), rotate(back, *high));
        }
    }
    seams
}
