//! Next meeting of two pieces that move at constant velocities, by separating axes.
//!
//! While two pieces are apart along one axis, they do not meet. The search samples the separation along the axis
//! between their closest points. It ends where the separation falls to the gap at which pieces count as touching; the
//! next search starts there with the next axis. Unlike a conservative advancement, the search leaves a pair that has
//! just met and parts again in a few samples.

use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide};
use crate::collide::toi::{
    TARGET_GAP_M, approach_speed, at, boxes_stay_apart, closing_s, passing_speed, rotation_speed,
};
use crate::math::{integrate_rotation, rotate};
use crate::shape::closest::track;
use crate::shape::features::FeatureCache;
use nalgebra::Vector2;

/// Largest rotation between two samples of the separation, rad. Between them, a corner at the distance r from the
/// centre of mass comes closer by at most 1/128 r.
const MAX_SAMPLE_RAD: f64 = 0.25;
/// Maximum number of samples along one axis. The search for a pair that rotates farther ends at the last one.
const MAX_SAMPLES: usize = 40;
/// Maximum number of times that an interval of time is split.
const MAX_SPLITS: usize = 8;
/// Separation above the least one at which the search along an axis ends, m.
const MAX_EXCESS_M: f64 = 0.5 * TARGET_GAP_M;
/// Cosine between two directions above which they count as the same.
const SAME_DIRECTION: f64 = 1.0 - 1e-9;
/// Closing speed below which a pair that touches does not meet, m/s.
const MIN_CLOSING_M_PER_S: f64 = 1e-4;
/// Decrease of the separation of a pair that touches that is ignored, m.
const GRAZE_M: f64 = 1e-6;
/// Relative motion of a pair from one axis to the next, at least, m.
const MIN_STEP_M: f64 = 1e-4;
/// Maximum number of steps of Newton's method from where a pair meets to where it touches.
const MAX_TOUCH_STEPS: usize = 4;
/// Relative motion within which a pair that meets must touch, m. One that moves farther hardly closes.
const MAX_TOUCH_M: f64 = 1e-3;
/// Turn of a contact until the pair touches that is ignored, rad.
const MAX_TURN_RAD: f64 = 1e-3;
/// Fraction of the approach speed at a meeting that must be left when the pair touches.
const MIN_SPEED_FRACTION: f64 = 0.7;

/// Work that is left in a tick, in units of one relaxation of a manifold in a forced step, about 350 instructions. The
/// other fields are the work of the parts of a search in this unit.
#[derive(Clone, Copy, Debug)]
pub struct MeetingBudget {
    left: usize,
    axis: usize,
    separation: usize,
    placing: usize,
}

impl MeetingBudget {
    /// Creates a budget for pieces with at most this many corners.
    pub fn new(left: usize, max_corners: usize) -> Self {
        Self {
            left,
            axis: 6 + max_corners * max_corners / 4,
            separation: 2 + max_corners / 8,
            placing: 6 + max_corners / 4,
        }
    }

    /// Returns the work that is left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Takes work from the budget; returns false, without taking any, if too little is left.
    pub fn take(&mut self, work: usize) -> bool {
        let has_enough = self.left >= work;
        self.left -= if has_enough { work } else { 0 };
        has_enough
    }

    /// Takes the work of an axis: a distance query and a collision query.
    pub fn take_axis(&mut self) -> bool {
        self.take(self.axis)
    }

    /// Takes the work of placing a pair and comparing its boxes, which starts every search.
    pub fn take_search(&mut self) -> bool {
        self.take(self.placing)
    }

    /// Takes the work of placing a pair and building its manifold.
    pub fn take_manifold(&mut self) -> bool {
        self.take(self.placing + self.axis)
    }

    /// Takes the work of comparing this many pieces with their boxes, each about that of two separations.
    pub fn take_boxes(&mut self, pieces: usize) -> bool {
        self.take(2 * pieces * self.separation)
    }

    fn take_separation(&mut self) -> bool {
        self.take(self.separation)
    }
}

/// Result of a search for the next meeting of a pair, along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meeting {
    /// The pair does not meet before the end of the search.
    Never,
    /// The pair touches and closes.
    Now,
    /// The pair does not meet before this time after the start of the search, s. What follows is unknown.
    NotBefore(f64),
}

/// Searches for the next meeting of a pair within `horizon_s` along one axis. Unless the budget is used up, the search
/// gets on by [`MIN_STEP_M`] of relative motion or more. Real-time: one call of [`track`] and of [`collide`], and at
/// most [`MAX_SAMPLES`] + [`MAX_SPLITS`] + 1 separations.
pub fn next_meeting(a: &PairSide, b: &PairSide, horizon_s: f64, budget: &mut MeetingBudget) -> Meeting {
    let rotation_speed = rotation_speed(a, b);
    if circles_stay_apart(a, b, horizon_s) || boxes_stay_apart(a, b, horizon_s, rotation_speed) {
        return Meeting::Never;
    }
    if !budget.take_axis() {
        return Meeting::NotBefore(0.0);
    }
    let relative_velocity = b.velocity_m_per_s - a.velocity_m_per_s;
    let search = match relation(a, b) {
        Relation::Apart(normal, gap_m) => {
            let closing = rotation_speed - normal.dot(&relative_velocity);
            if gap_m - closing * horizon_s > TARGET_GAP_M {
                return Meeting::Never;
            }
            Search { a, b, axis: Axis::new(a, b, normal), least_m: 0.5 * TARGET_GAP_M }
        }
        Relation::Touching(normal) => {
            let axis = Axis::new(a, b, normal);
            let least_m = axis.separation_m(a, b, 0.0).min(0.5 * TARGET_GAP_M) - GRAZE_M;
            Search { a, b, axis, least_m }
        }
        Relation::Meeting => return Meeting::Now,
        Relation::Covered => return Meeting::Never,
    };
    let least_s = MIN_STEP_M / (relative_velocity.norm() + rotation_speed);
    match search.run(horizon_s, budget) {
        Some(Some(after_s)) if after_s.max(least_s) < horizon_s => Meeting::NotBefore(after_s.max(least_s)),
        Some(_) => Meeting::Never,
        None => Meeting::NotBefore(0.0),
    }
}

/// Returns the contact in its present poses of a pair that meets within `soon_s`.
pub fn contact_at_meeting(a: &PairSide, b: &PairSide, soon_s: f64) -> Option<ContactGeometry> {
    collide(a, b, &Near::within(2.0 * TARGET_GAP_M + soon_s * relative_speed(a, b)), &mut FeatureCache::default())
}

/// Returns the contact of a pair that is about to meet as it is when the pair touches, and the centres of mass of its
/// bodies at that time. The pair starts up to [`TARGET_GAP_M`] apart. On the way, the normal of small corners that meet
/// off centre turns by tenths of a radian, and one slides along a face by several times the gap. Sharp pieces are left
/// out: among crowds of bars, more islands would lose energy. The contact of a
/// pair that slows down on the way, because it grazes or rotates quickly, stays that of the pose before: the pair would
/// still close in its present pose, and be struck again at once.
///
/// Newton's method on the gap. Real-time: at most [`MAX_TOUCH_STEPS`] calls of [`collide`].
pub fn contact_when_touching(
    geometry: ContactGeometry,
    a: &PairSide,
    b: &PairSide,
    budget: &mut MeetingBudget,
) -> (ContactGeometry, [Vector2<f64>; 2]) {
    let (speed, start_speed) = (relative_speed(a, b), approach_speed(a, b, &geometry, 0));
    let mut found = (geometry, [a.centre_m, b.centre_m]);
    if a.piece.radius_m + b.piece.radius_m == 0.0 {
        return found;
    }
    let mut time_s = 0.0;
    let mut later_s = closing_s(a, b, &geometry);
    for _ in 0..MAX_TOUCH_STEPS {
        let is_accurate = passing_speed(a, b, &found.0) * later_s.abs() < MAX_TURN_RAD;
        let is_soon = (time_s + later_s).abs() * speed < MAX_TOUCH_M;
        if is_accurate || !is_soon || !budget.take_manifold() {
            break;
        }
        time_s += later_s;
        let then = at(a, b, time_s);
        let (then_a, then_b) = then.sides(a, b);
        let Some(geometry) = contact_at_meeting(&then_a, &then_b, 0.0) else { break };
        if approach_speed(&then_a, &then_b, &geometry, 0) > MIN_SPEED_FRACTION * start_speed {
            break;
        }
        later_s = closing_s(&then_a, &then_b, &geometry);
        found = (geometry, then.centres);
    }
    found
}

/// Returns the largest speed at which points of the two pieces approach each other, m/s.
fn relative_speed(a: &PairSide, b: &PairSide) -> f64 {
    (b.velocity_m_per_s - a.velocity_m_per_s).norm() + rotation_speed(a, b)
}

/// Whether the circles around the centres of mass of both bodies stay apart.
fn circles_stay_apart(a: &PairSide, b: &PairSide, horizon_s: f64) -> bool {
    let motion = (b.velocity_m_per_s - a.velocity_m_per_s) * horizon_s;
    let between = b.centre_m - a.centre_m;
    let fraction = (-between.dot(&motion) / motion.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let reach_m = a.piece.reach_m + b.piece.reach_m + TARGET_GAP_M;
    (between + motion * fraction).norm_squared() > reach_m * reach_m
}

/// Relation of two pieces, with the unit vector from the first to the second between their closest points.
enum Relation {
    /// The pieces are apart by this gap, m.
    Apart(Vector2<f64>, f64),
    /// The pieces touch and do not close.
    Touching(Vector2<f64>),
    /// The pieces touch and close.
    Meeting,
    /// The pieces overlap where neighbours carry the contact.
    Covered,
}

/// Returns the relation of a pair in its present poses.
fn relation(a: &PairSide, b: &PairSide) -> Relation {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let closest = track(a.placed, b.placed, &mut FeatureCache::default().seed);
    let direction = closest.map(|closest| (closest.on_b - closest.on_a) / closest.distance_m);
    if let (Some(closest), Some(normal)) = (closest, direction)
        && closest.distance_m - radii > TARGET_GAP_M
    {
        return Relation::Apart(normal, closest.distance_m - radii);
    }
    let contact = contact_at_meeting(a, b, 0.0);
    let closes = |contact: &ContactGeometry| {
        (0..contact.count).any(|point| {
            contact.gap_m[point] <= TARGET_GAP_M && approach_speed(a, b, contact, point) < -MIN_CLOSING_M_PER_S
        })
    };
    match (contact, direction) {
        (Some(contact), _) if closes(&contact) => Relation::Meeting,
        (_, Some(normal)) => Relation::Touching(normal),
        (Some(contact), None) => Relation::Touching(contact.normal),
        (None, None) => Relation::Covered,
    }
}

/// An axis along which the separation of a pair is followed. If it is the normal of a face, it rotates with the face.
struct Axis {
    /// Unit vector from the first piece to the second at the start of the search.
    normal: Vector2<f64>,
    angular_velocity_rad_per_s: f64,
}

impl Axis {
    fn new(a: &PairSide, b: &PairSide, normal: Vector2<f64>) -> Self {
        let angular_velocity_rad_per_s = if has_face(a, normal) {
            a.angular_velocity_rad_per_s
        } else if has_face(b, -normal) {
            b.angular_velocity_rad_per_s
        } else {
            0.0
        };
        Self { normal, angular_velocity_rad_per_s }
    }

    /// Returns the separation of a pair at `time_s`, m; negative if the pieces overlap along the axis. Real-time: at
    /// most 2 × 16 dot products.
    fn separation_m(&self, a: &PairSide, b: &PairSide, time_s: f64) -> f64 {
        let normal = integrate_rotation(self.normal, self.angular_velocity_rad_per_s * time_s);
        -(extent_m(a, normal, time_s) + extent_m(b, -normal, time_s))
    }
}

/// Whether a piece has a face with this normal.
fn has_face(side: &PairSide, normal: Vector2<f64>) -> bool {
    let in_body = to_body(side, normal, 0.0);
    side.piece.normals[..usize::from(side.piece.count)].iter().any(|face| face.dot(&in_body) > SAME_DIRECTION)
}

/// Returns a direction in the frame of a side's body at `time_s`.
fn to_body(side: &PairSide, direction: Vector2<f64>, time_s: f64) -> Vector2<f64> {
    let rotation = integrate_rotation(side.rotation, side.angular_velocity_rad_per_s * time_s);
    rotate(Vector2::new(rotation.x, -rotation.y), direction)
}

/// Returns how far a piece reaches along a direction after `time_s`, world, m.
pub fn extent_m(side: &PairSide, direction: Vector2<f64>, time_s: f64) -> f64 {
    let in_body = to_body(side, direction, time_s);
    let mut farthest_m = f64::NEG_INFINITY;
    for corner in side.piece.outline() {
        let along_m = in_body.dot(corner);
        if along_m > farthest_m {
            farthest_m = along_m;
        }
    }
    direction.dot(&(side.centre_m + side.velocity_m_per_s * time_s)) + farthest_m + side.piece.radius_m
}

/// Search along one axis for the time at which the separation falls below `least_m`.
struct Search<'s> {
    a: &'s PairSide<'s>,
    b: &'s PairSide<'s>,
    axis: Axis,
    least_m: f64,
}

impl Search<'_> {
    /// Returns a time just before the separation falls below the least one, if it does within `horizon_s`, or that of
    /// the last sample if it is earlier. Returns `None` if the budget is used up.
    fn run(&self, horizon_s: f64, budget: &mut MeetingBudget) -> Option<Option<f64>> {
        let fastest = self.a.angular_velocity_rad_per_s.abs().max(self.b.angular_velocity_rad_per_s.abs());
        let samples = (fastest * horizon_s / MAX_SAMPLE_RAD).ceil().max(1.0);
        let made = samples.min(MAX_SAMPLES as f64);
        let mut before = self.sample(0.0, budget)?;
        for sample in 1..=made as usize {
            let after = self.sample(horizon_s * (sample as f64 / samples), budget)?;
            if after.excess_m <= 0.0 {
                return self.narrow(before, after, budget).map(Some);
            }
            before = after;
        }
        Some((made < samples).then_some(before.time_s))
    }

    /// Returns a time between two samples just before the separation falls below the least one. If none is found, it is
    /// the time of the sample `before`.
    fn narrow(&self, mut before: Sample, mut after: Sample, budget: &mut MeetingBudget) -> Option<f64> {
        for split in 0..MAX_SPLITS {
            // False position and bisection in turn: the separation may rise before it falls.
            let linear = (before.excess_m / (before.excess_m - after.excess_m)).clamp(0.1, 0.9);
            let part = if split % 2 == 0 { linear } else { 0.5 };
            let middle = self.sample(before.time_s + part * (after.time_s - before.time_s), budget)?;
            if middle.excess_m <= 0.0 {
                after = middle;
            } else if middle.excess_m < MAX_EXCESS_M {
                return Some(middle.time_s);
            } else {
                before = middle;
            }
        }
        Some(before.time_s)
    }

    /// Returns the separation above the least one, unless the budget is used up.
    fn sample(&self, time_s: f64, budget: &mut MeetingBudget) -> Option<Sample> {
        let excess_m = budget.take_separation().then(|| self.axis.separation_m(self.a, self.b, time_s))? - self.least_m;
        Some(Sample { time_s, excess_m })
    }
}

/// Separation above the least one at a time.
#[derive(Clone, Copy)]
struct Sample {
    time_s: f64,
    excess_m: f64,
}
