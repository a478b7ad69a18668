//! Closest features of two convex cores, tracked from tick to tick.
//!
//! The search is a planar Lin–Canny walk. Its position is a corner of one core (the *near* core) and an edge or a
//! corner of the other (the *far* core). From there it either proves that the pair is closest or moves to a closer
//! pair: round the far core to the feature whose Voronoi region contains the near corner, or along an edge of the near
//! core if that edge leads closer to the far core.
//!
//! The proof is local. If each of two points is the point of its core that is nearest to the other point, the strip
//! between them contains no point of either core, so no other pair can be closer. A walk that ends with this proof is
//! therefore correct for any seed. A walk over overlapping cores cannot end with this proof. It ends with a proof of
//! overlap, or it exhausts the step budget and [`brute_force`] takes over.
//!
//! All tests use the unit normals. Edge `i` runs along normal `i` rotated by 90°, so each test of a slab or cone and
//! each distance to an edge is a single product without a division. The only square root is in the distance between two
//! corners. The normals of a point are zero vectors, which pass every cone test.

mod brute;
#[cfg(test)]
mod tests;

pub use brute::brute_force;

use crate::math::cross;
use crate::shape::piece::{MAX_CORNERS, PlacedPiece};
use nalgebra::Vector2;

/// Maximum number of pairs of features that one walk visits before [`brute_force`] takes over. A walk usually visits
/// one pair, or about 5 if its seed is stale. The longest walk observed between 16-corner cores visited 17; a budget
/// below that would abandon walks that are about to end.
pub const STEP_BUDGET: u32 = 32;

/// Distance below which cores count as touching, m. At smaller distances, rounding errors dominate the direction
/// between the closest points.
pub const TOUCHING_M: f64 = 1e-9;

/// Sine of the angle below which two edges count as parallel. It keeps rounding errors from changing which corner of
/// two parallel edges is stored. The resulting error of the distance is at most this fraction of the edge's length.
const PARALLEL_SINE: f64 = 1e-13;

/// Bit that marks a feature of a seed as an edge. The other bits are the index of the corner at which the edge starts.
const EDGE_MARK: u8 = 0x80;

/// Mask that limits an index to the length of a placed core's arrays, so that the compiler omits bounds checks.
const INDEX_MASK: usize = MAX_CORNERS - 1;

/// Feature of each core from which the walk starts: the index of a corner or, if the highest bit is set, of the edge
/// that starts at this corner. Every value is allowed: a stale or invalid seed costs steps but does not make the result
/// wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed {
    /// Feature of the first core.
    pub a: u8,
    /// Feature of the second core.
    pub b: u8,
}

/// A feature of a core's outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The corner with this index.
    Corner(u8),
    /// The interior of the edge that starts at the corner with this index.
    Edge(u8),
}

/// The closest points of two separate cores: corner to edge or corner to corner, never edge to edge.
#[derive(Clone, Copy, Debug)]
pub struct Closest {
    /// Distance between the cores, m, at least [`TOUCHING_M`].
    pub distance_m: f64,
    /// Closest point of the first core, world, m.
    pub on_a: Vector2<f64>,
    /// Closest point of the second core, world, m.
    pub on_b: Vector2<f64>,
    /// Feature of the first core that contains its closest point.
    pub feature_a: Feature,
    /// Feature of the second core that contains its closest point.
    pub feature_b: Feature,
    /// Number of pairs of features that the walk visited; 0 if there was no walk.
    pub steps: u32,
    /// Whether the result comes from [`brute_force`].
    pub fell_back: bool,
}

/// Finds the closest points of two cores. The walk starts from the features in `seed`; the features of the closest
/// points are then stored there. Returns `None` if the cores overlap or are nearer than [`TOUCHING_M`].
///
/// Real-time: at most [`STEP_BUDGET`] steps, each of which tests up to 4 edges, or all edges of a core (at most 16) if
/// a corner is behind an edge; then at most one call of [`brute_force`].
pub fn track(a: &PlacedPiece, b: &PlacedPiece, seed: &mut Seed) -> Option<Closest> {
    let walk = Walk::from_seed(a, b, *seed);
    match walk.look() {
        Finding::Closest(distance_m) => walk.finish(distance_m, 1, seed),
        finding => search(walk, finding, seed),
    }
}

/// Continues the walk from a pair that is not closest. Not inlined, because a walk from a good seed ends after its
/// first test.
#[cold]
#[inline(never)]
fn search(mut walk: Walk, mut finding: Finding, seed: &mut Seed) -> Option<Closest> {
    for steps in 2..=STEP_BUDGET {
        if walk.follow(finding) == Relation::Overlapping {
            return None;
        }
        finding = walk.look();
        if let Finding::Closest(distance_m) = finding {
            return walk.finish(distance_m, steps, seed);
        }
    }
    let (a, b) = if walk.swapped { (walk.far, walk.near) } else { (walk.near, walk.far) };
    fall_back(a, b, seed)
}

/// Returns the result of [`brute_force`] and stores its features in the seed of the next walk.
fn fall_back(a: &PlacedPiece, b: &PlacedPiece, seed: &mut Seed) -> Option<Closest> {
    let closest = brute_force(a, b)?;
    *seed = Seed { a: closest.feature_a.seed(), b: closest.feature_b.seed() };
    Some(Closest { steps: STEP_BUDGET, ..closest })
}

/// Returns the penetration of two overlapping cores, m: the shortest displacement along an edge normal that separates
/// them. Zero for two points, which have no edges.
pub fn penetration_m(a: &PlacedPiece, b: &PlacedPiece) -> f64 {
    let mut depth_m = f64::INFINITY;
    for (core, other) in [(a, b), (b, a)] {
        let edges = if core.count > 1 { core.count } else { 0 };
        for (normal, start) in core.normals[..edges].iter().zip(&core.corners) {
            let heights = other.corners[..other.count].iter().map(|corner| normal.dot(&(corner - start)));
            depth_m = depth_m.min(-heights.fold(f64::INFINITY, f64::min));
        }
    }
    if depth_m < f64::INFINITY { depth_m.max(0.0) } else { 0.0 }
}

impl Feature {
    #[inline]
    fn seed(self) -> u8 {
        match self {
            Feature::Corner(index) => index,
            Feature::Edge(index) => index | EDGE_MARK,
        }
    }
}

/// Result of testing a pair of features. Every variant except `Closest` leads to another pair.
#[derive(Clone, Copy)]
enum Finding {
    /// The pair is closest, at this distance in metres.
    Closest(f64),
    /// The near corner is behind the far edge.
    Behind,
    /// The near corner is outside the far edge's slab, before its start.
    BeforeStart,
    /// The near corner is outside the far edge's slab, past its end.
    PastEnd,
    /// The near edge that starts at the near corner leads closer to the far edge.
    LeansAfter,
    /// The near edge that ends at the near corner leads closer to the far edge.
    LeansBefore,
    /// The far edge that starts at the far corner is closer than that corner.
    FarEdgeAfter,
    /// The far edge that ends at the far corner is closer than that corner.
    FarEdgeBefore,
    /// The near edge that starts at the near corner is closer than that corner.
    NearEdgeAfter,
    /// The near edge that ends at the near corner is closer than that corner.
    NearEdgeBefore,
}

/// Relation between the cores that a step of the walk has proved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Nothing is proved yet.
    Open,
    /// An edge of one core crosses an edge of the other, or a corner of one lies inside the other.
    Overlapping,
}

impl Relation {
    fn overlapping_if(proven: bool) -> Self {
        if proven { Relation::Overlapping } else { Relation::Open }
    }
}

/// Position of the walk: a corner of the near core and a feature of the far core.
struct Walk<'cores> {
    /// The core whose feature is a corner.
    near: &'cores PlacedPiece,
    /// The core whose feature is an edge or a corner.
    far: &'cores PlacedPiece,
    /// Index of the corner of the near core.
    corner: usize,
    /// Index of the edge or corner of the far core.
    target: usize,
    /// Whether `target` is an edge.
    at_edge: bool,
    /// Whether the near core is the caller's second core.
    swapped: bool,
}

impl<'cores> Walk<'cores> {
    #[inline]
    fn from_seed(a: &'cores PlacedPiece, b: &'cores PlacedPiece, seed: Seed) -> Self {
        let swapped = seed.a & EDGE_MARK != 0;
        let (near, far, corner, target) = if swapped { (b, a, seed.b, seed.a) } else { (a, b, seed.a, seed.b) };
        let at_edge = target & EDGE_MARK != 0 && far.count > 1;
        Self { near, far, corner: clamped(near, corner), target: clamped(far, target), at_edge, swapped }
    }

    #[inline]
    fn look(&self) -> Finding {
        if self.at_edge { self.look_at_edge() } else { self.look_at_corner() }
    }

    /// Tests the near corner against the far edge. The pair is closest if the corner is in front of the edge and within
    /// its slab, and neither of the near edges at the corner leads closer to the far edge.
    #[inline]
    fn look_at_edge(&self) -> Finding {
        let (position, outward) = (corner(self.near, self.corner), normal(self.far, self.target));
        let from_start = position - corner(self.far, self.target);
        let from_end = position - corner(self.far, after(self.far, self.target));
        let height = dot(outward, from_start);
        if height <= 0.0 {
            Finding::Behind
        } else if cross(outward, from_start) <= 0.0 {
            Finding::BeforeStart
        } else if cross(outward, from_end) >= 0.0 {
            Finding::PastEnd
        } else if cross(normal(self.near, self.corner), outward) < -PARALLEL_SINE {
            Finding::LeansAfter
        } else if cross(normal(self.near, before(self.near, self.corner)), outward) > PARALLEL_SINE {
            Finding::LeansBefore
        } else {
            Finding::Closest(height)
        }
    }

    /// Tests the near corner against the far corner. The pair is closest if the line between the corners lies in the
    /// normal cones of both.
    #[inline]
    fn look_at_corner(&self) -> Finding {
        let between = corner(self.far, self.target) - corner(self.near, self.corner);
        if cross(normal(self.far, self.target), between) < 0.0 {
            Finding::FarEdgeAfter
        } else if cross(normal(self.far, before(self.far, self.target)), between) > 0.0 {
            Finding::FarEdgeBefore
        } else if cross(normal(self.near, self.corner), between) > 0.0 {
            Finding::NearEdgeAfter
        } else if cross(normal(self.near, before(self.near, self.corner)), between) < 0.0 {
            Finding::NearEdgeBefore
        } else {
            Finding::Closest(between.norm_squared().sqrt())
        }
    }

    /// Moves to the pair that the finding leads to. Returns what the move proves about the cores.
    fn follow(&mut self, finding: Finding) -> Relation {
        let (near_before, far_before) = (before(self.near, self.corner), before(self.far, self.target));
        match finding {
            Finding::Closest(_) => {}
            Finding::Behind => return self.come_round(),
            Finding::BeforeStart => self.leave_edge(self.target, far_before),
            Finding::PastEnd => self.leave_edge(after(self.far, self.target), after(self.far, self.target)),
            Finding::LeansAfter => return self.descend(self.corner, after(self.near, self.corner)),
            Finding::LeansBefore => return self.descend(near_before, near_before),
            Finding::FarEdgeAfter => self.at_edge = true,
            Finding::FarEdgeBefore => (self.target, self.at_edge) = (far_before, true),
            Finding::NearEdgeAfter => self.change_sides(self.target, self.corner),
            Finding::NearEdgeBefore => self.change_sides(self.target, near_before),
        }
        Relation::Open
    }

    /// Leaves the far edge past its corner `passed`, because the near corner is outside the slab of that edge. Moves to
    /// the edge `beyond` if the near corner is within the slab of that edge, otherwise to the corner `passed`. The edge
    /// `beyond` starts at `passed` if the walk proceeds anticlockwise and ends there otherwise.
    fn leave_edge(&mut self, passed: usize, beyond: usize) {
        let from_passed = corner(self.near, self.corner) - corner(self.far, passed);
        let along = cross(normal(self.far, beyond), from_passed);
        self.at_edge = if beyond == passed { along > 0.0 } else { along < 0.0 };
        self.target = if self.at_edge { beyond } else { passed };
    }

    /// Follows the near core's `edge`, which leads closer to the far edge, to its corner `end`. If the edge leaves the
    /// slab of the far edge before `end`, the far corner at which it leaves is nearer, and the cores swap roles.
    fn descend(&mut self, edge: usize, end: usize) -> Relation {
        let (position, outward) = (corner(self.near, end), normal(self.far, self.target));
        let from_start = position - corner(self.far, self.target);
        if cross(outward, from_start) <= 0.0 {
            return self.pass_slab(edge, self.target);
        }
        let far_end = after(self.far, self.target);
        if cross(outward, position - corner(self.far, far_end)) >= 0.0 {
            return self.pass_slab(edge, far_end);
        }
        self.corner = end;
        Relation::overlapping_if(dot(outward, from_start) <= 0.0)
    }

    /// Swaps the roles of the cores where the near core's `edge` leaves the slab of the far edge past the corner
    /// `passed`. Proves overlap if the edge passes through the far edge instead of in front of it.
    fn pass_slab(&mut self, edge: usize, passed: usize) -> Relation {
        let edge_normal = normal(self.near, edge);
        let height = dot(edge_normal, corner(self.far, passed) - corner(self.near, edge));
        let facing = dot(edge_normal, normal(self.far, self.target));
        self.change_sides(passed, edge);
        Relation::overlapping_if(height * facing >= 0.0)
    }

    /// Moves from a far edge that the near corner is behind to the far edge that the corner is farthest in front of. If
    /// there is no such edge, the corner is inside the far core or on the line of a segment. Only a stale seed or a
    /// corner on the opposite side of the core leads here: once in front of an edge, a walk stays in front of edges.
    fn come_round(&mut self) -> Relation {
        let (position, mut farthest) = (corner(self.near, self.corner), 0.0);
        for edge in 0..self.far.count.min(MAX_CORNERS) {
            let height = dot(normal(self.far, edge), position - corner(self.far, edge));
            if height > farthest {
                (farthest, self.target) = (height, edge);
            }
        }
        if farthest > 0.0 { Relation::Open } else { self.settle_on_line(position) }
    }

    /// Handles a near corner that is in front of no far edge. Inside a polygon, this proves overlap; on the line of a
    /// segment, the ends of the segment decide.
    fn settle_on_line(&mut self, position: Vector2<f64>) -> Relation {
        let along = |index| cross(normal(self.far, 0), position - corner(self.far, index));
        let past_end = along(1) >= 0.0;
        let inside = self.far.count > 2 || (along(0) > 0.0 && !past_end);
        (self.target, self.at_edge) = (usize::from(past_end), false);
        Relation::overlapping_if(inside)
    }

    /// Swaps the roles of the cores: `corner` of the far core becomes the near corner, and `edge` of the near core
    /// becomes the target.
    #[inline]
    fn change_sides(&mut self, corner: usize, edge: usize) {
        std::mem::swap(&mut self.near, &mut self.far);
        (self.corner, self.target, self.at_edge, self.swapped) = (corner, edge, true, !self.swapped);
    }

    /// Returns the result in the order of the caller's cores and stores its features in the seed. Returns `None` if the
    /// cores touch.
    #[inline]
    fn finish(&self, distance_m: f64, steps: u32, seed: &mut Seed) -> Option<Closest> {
        if distance_m < TOUCHING_M {
            return None;
        }
        let near = corner(self.near, self.corner);
        let near_feature = Feature::Corner(self.corner as u8);
        let (far, far_feature) = if self.at_edge {
            (near - normal(self.far, self.target) * distance_m, Feature::Edge(self.target as u8))
        } else {
            (corner(self.far, self.target), Feature::Corner(self.target as u8))
        };
        let (on_a, on_b, feature_a, feature_b) =
            if self.swapped { (far, near, far_feature, near_feature) } else { (near, far, near_feature, far_feature) };
        *seed = Seed { a: feature_a.seed(), b: feature_b.seed() };
        Some(Closest { distance_m, on_a, on_b, feature_a, feature_b, steps, fell_back: false })
    }
}

#[inline]
fn clamped(core: &PlacedPiece, seed: u8) -> usize {
    (seed as usize & INDEX_MASK).min(core.count.saturating_sub(1))
}

#[inline]
fn corner(core: &PlacedPiece, index: usize) -> Vector2<f64> {
    core.corners[index & INDEX_MASK]
}

#[inline]
fn normal(core: &PlacedPiece, index: usize) -> Vector2<f64> {
    core.normals[index & INDEX_MASK]
}

#[inline]
fn after(core: &PlacedPiece, index: usize) -> usize {
    if index + 1 < core.count { index + 1 } else { 0 }
}

#[inline]
fn before(core: &PlacedPiece, index: usize) -> usize {
    if index == 0 { core.count.saturating_sub(1) } else { index - 1 }
}

#[inline]
fn dot(a: Vector2<f64>, b: Vector2<f64>) -> f64 {
    a.x * b.x + a.y * b.y
}
