//! Time of impact of fast pairs, whose pieces move farther within the tick than their contact margin covers.
//!
//! The method is conservative advancement: the pieces can move for a time equal to the gap divided by the highest
//! possible approach speed without touching. A bounded number of such advances either reaches the end of the tick or
//! stops close to the contact.

use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide, velocity_at};
use crate::math::integrate_rotation;
use crate::shape::aabb::Aabb;
use crate::shape::closest::{Seed, track};
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use crate::work::Work;
use nalgebra::Vector2;

/// Relative motion in one tick above which the time of impact of a pair is computed, m; the contact margin covers
/// smaller motions.
pub const FAST_M: f64 = 5e-3;
/// Maximum number of advances of one pair. The time reached by the last advance counts as the time of impact.
pub const MAX_ADVANCES: usize = 16;
/// Number of equal substeps from the time of impact to the end of the tick.
pub const SUBSTEPS: usize = 32;
/// Number of advances in a [`ToiBudget`], shared by all pairs. When it is used up, a pair is not followed beyond the
/// time it has reached. A body of a dozen pieces takes an advance for each near pair, and a spinning pair up to
/// [`MAX_ADVANCES`].
pub const ADVANCES_PER_TICK: usize = 64;
/// Number of substeps in the [`ToiBudget`] after the impacts, shared by all pairs.
pub const SUBSTEPS_PER_TICK: usize = 128;
/// Number of poses of rotating pairs in the [`ToiBudget`] before the impacts, shared by all pairs. When it is used up,
/// contacts are those of the start of the tick.
pub const POSES_PER_TICK: usize = 96;
/// Gap at which the advancement ends, m.
pub const TARGET_GAP_M: f64 = 5e-5;

/// Rotation before an impact below which the poses at the start of the tick are accurate enough for it, rad.
const MIN_ROTATION_RAD: f64 = 1e-3;

/// Fraction of the approach speed at the start of the tick that must be left when a rotating pair meets. A point that a
/// rotation slows down more only grazes: it would fall below the speed of an impact and lose its energy in the contact
/// solve.
const MIN_SPEED_FRACTION: f64 = 0.1;
/// Maximum number of poses in which the contact of one rotating pair is searched for.
pub const MAX_POSES: usize = 12;
/// Largest rotation between two of these poses, rad. It is less than half the exterior angle of a regular polygon with
/// the most corners, so that no corner is skipped.
const MAX_POSE_STEP_RAD: f64 = 0.1;
/// Rotation in the tick above which a pair that has no contact at its start may have one later, rad: a corner may come
/// round to a face that it is beside.
const MIN_UNSEEN_ROTATION_RAD: f64 = 0.02;
/// Error of the time of impact of a rotating pair that is accepted, as a rotation, rad.
const MAX_TIME_ERROR_RAD: f64 = 2e-4;
/// Maximum number of steps of Newton's method that refine the time of impact of a fast pair.
const MAX_REFINEMENTS: usize = 6;
/// Gap up to which a pair may still be under the contact load of the last tick, m.
const MAX_LOADED_GAP_M: f64 = 2e-5;
/// Gap that remains when a pair comes as close as possible without meeting, m: more than rounding errors.
const ROUNDING_M: f64 = 1e-12;
/// Overlap of a rotating pair that counts as none, m.
const MAX_MISSED_M: f64 = 1e-6;

/// Increase of the depth after the time of impact above which a pair counts as penetrating, m. With a smaller increase,
/// it only grazes.
pub const PENETRATION_M: f64 = 2e-4;

/// Increase of the depth of a pair that is deep already above which it counts as penetrating, m.
const DEEPER_M: f64 = 1e-5;

/// Numbers of advances and substeps that are left. A tick uses up to two budgets: one before the impacts and one after
/// them.
#[derive(Clone, Copy, Debug)]
pub struct ToiBudget {
    advances: usize,
    substeps: usize,
    /// Number of substeps in the full budget.
    all_substeps: usize,
}

impl ToiBudget {
    /// Creates the full budget of the search for contacts, before the impacts. Its substeps are the poses of rotating
    /// pairs.
    pub fn before_impacts() -> Self {
        Self::with_substeps(POSES_PER_TICK)
    }

    /// Creates the full budget of the motions after the impacts.
    pub fn after_impacts() -> Self {
        Self::with_substeps(SUBSTEPS_PER_TICK)
    }

    fn with_substeps(all_substeps: usize) -> Self {
        Self { advances: ADVANCES_PER_TICK, substeps: all_substeps, all_substeps }
    }

    /// Adds the advances and substeps taken so far to the work of the step.
    pub fn count(&self, work: &mut Work) {
        work.advances += (ADVANCES_PER_TICK - self.advances) as u32;
        work.substeps += (self.all_substeps - self.substeps) as u32;
    }

    pub fn take_advance(&mut self) -> bool {
        let left = self.advances > 0;
        self.advances -= usize::from(left);
        left
    }

    pub fn has_substep(&self) -> bool {
        self.substeps > 0
    }

    pub fn take_substep(&mut self) -> bool {
        let left = self.substeps > 0;
        self.substeps -= usize::from(left);
        left
    }
}

/// A time within the tick, with the poses of two pieces at that time.
pub struct TimeOfImpact {
    /// Time after the start of the tick, s.
    pub time_s: f64,
    /// The pieces at that time.
    pub placed: [PlacedPiece; 2],
    /// Centres of mass of the pieces' bodies at that time, world, m.
    pub centres: [Vector2<f64>; 2],
    /// (cos, sin) of the bodies' angles at that time.
    pub rotations: [Vector2<f64>; 2],
    /// Whether the budget ran out before the pieces met, so that the rest of the tick is unknown.
    pub is_uncertain: bool,
}

impl TimeOfImpact {
    /// Returns the two sides in their poses at the time of impact.
    pub fn sides<'m>(&'m self, a: &PairSide<'m>, b: &PairSide<'m>) -> (PairSide<'m>, PairSide<'m>) {
        (
            PairSide { placed: &self.placed[0], centre_m: self.centres[0], rotation: self.rotations[0], ..*a },
            PairSide { placed: &self.placed[1], centre_m: self.centres[1], rotation: self.rotations[1], ..*b },
        )
    }
}

/// Returns the time and poses at which the gap of the pair first falls to [`TARGET_GAP_M`], or which its last advance
/// reached. Returns `None` if the pieces stay apart until `horizon_s`. Boxes are compared first, so that a pair that
/// passes at a distance takes nothing from the budget. Real-time: at most [`MAX_ADVANCES`] calls of [`track`].
fn time_of_impact(
    a: &PairSide,
    b: &PairSide,
    horizon_s: f64,
    seed: &mut Seed,
    budget: &mut ToiBudget,
) -> Option<TimeOfImpact> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let rotation_speed = rotation_speed(a, b);
    if boxes_stay_apart(a, b, horizon_s, rotation_speed) {
        return None;
    }
    let mut toi = at(a, b, 0.0);
    for _ in 0..MAX_ADVANCES {
        if !budget.take_advance() {
            toi.is_uncertain = true;
            break;
        }
        let Some(closest) = track(&toi.placed[0], &toi.placed[1], seed) else { break };
        let gap = closest.distance_m - radii;
        if gap <= TARGET_GAP_M {
            break;
        }
        let normal = (closest.on_b - closest.on_a) / closest.distance_m;
        let approach = (-normal.dot(&(b.velocity_m_per_s - a.velocity_m_per_s))).max(0.0) + rotation_speed;
        let advance_s = (gap - 0.5 * TARGET_GAP_M) / approach;
        if advance_s.is_nan() || toi.time_s + advance_s >= horizon_s {
            return None;
        }
        toi = at(a, b, toi.time_s + advance_s);
    }
    Some(toi)
}

/// Returns the largest speed of a point by the rotations of both bodies, m/s.
pub fn rotation_speed(a: &PairSide, b: &PairSide) -> f64 {
    a.angular_velocity_rad_per_s.abs() * a.piece.reach_m + b.angular_velocity_rad_per_s.abs() * b.piece.reach_m
}

/// Whether the box of the second piece, swept by the relative motion until `horizon_s`, stays clear of the box of the
/// first. `rotation_speed` is the largest speed of a point by the rotations of both bodies, m/s.
pub fn boxes_stay_apart(a: &PairSide, b: &PairSide, horizon_s: f64, rotation_speed: f64) -> bool {
    let motion = (b.velocity_m_per_s - a.velocity_m_per_s) * horizon_s;
    let box_a = Aabb::around(a.placed, a.piece.radius_m + rotation_speed * horizon_s + TARGET_GAP_M);
    let box_b = Aabb::around(b.placed, b.piece.radius_m).swept(motion);
    !box_a.meets(&box_b)
}

/// Returns the poses of both pieces after `time_s` at constant velocities.
pub fn at(a: &PairSide, b: &PairSide, time_s: f64) -> TimeOfImpact {
    let moved =
        |side: &PairSide| moved_piece(side, side.velocity_m_per_s * time_s, side.angular_velocity_rad_per_s * time_s);
    let ((pa, ca, ta), (pb, cb, tb)) = (moved(a), moved(b));
    TimeOfImpact { time_s, placed: [pa, pb], centres: [ca, cb], rotations: [ta, tb], is_uncertain: false }
}

/// Part of its displacement that a fast pair can make.
#[derive(Clone, Copy, Debug)]
pub struct SafeFraction {
    /// Fraction of the displacement, 0 to 1.
    pub fraction: f64,
    /// Whether the fraction ends where the budget ran out rather than at an obstacle.
    pub is_uncertain: bool,
}

/// Returns the fraction of its displacement in `horizon_s` that a fast pair can make before it penetrates. The velocities
/// of the sides are their displacements divided by this duration. Real-time: at most [`MAX_ADVANCES`] calls of [`track`]
/// and [`SUBSTEPS`] + 1 of [`collide`].
///
/// From the time of impact on, the pair is followed in equal substeps, because it may only graze, and a rotating body
/// may come back.
pub fn safe_fraction(a: &PairSide, b: &PairSide, horizon_s: f64, budget: &mut ToiBudget) -> SafeFraction {
    let until = |time_s: f64, is_uncertain: bool| SafeFraction { fraction: time_s / horizon_s, is_uncertain };
    let mut cache = FeatureCache::default();
    let Some(toi) = time_of_impact(a, b, horizon_s, &mut cache.seed, budget) else { return until(horizon_s, false) };
    let impact_s = toi.time_s;
    if toi.is_uncertain {
        return until(impact_s, true);
    }
    let allowed = allowed_depth_m(depth(a, b, &toi, &mut cache));
    let substep_s = (horizon_s - impact_s) / SUBSTEPS as f64;
    for substep in 1..=SUBSTEPS {
        let before_s = impact_s + (substep - 1) as f64 * substep_s;
        if !budget.take_substep() {
            return until(before_s, true);
        }
        let then = at(a, b, impact_s + substep as f64 * substep_s);
        if depth(a, b, &then, &mut cache) > allowed {
            return until(before_s, false);
        }
    }
    until(horizon_s, false)
}

/// Whether a pair penetrates no deeper than [`PENETRATION_M`] in the poses after `time_s`, or the budget is used up. If
/// the boxes stay apart, nothing is taken from the budget. Real-time: one call of [`collide`].
pub fn is_clear_after(a: &PairSide, b: &PairSide, time_s: f64, budget: &mut ToiBudget) -> bool {
    boxes_stay_apart(a, b, time_s, rotation_speed(a, b))
        || !budget.take_substep()
        || depth(a, b, &at(a, b, time_s), &mut FeatureCache::default()) <= PENETRATION_M
}

/// Returns the pose of a piece after its body has moved by `displacement` and `rotation_step_rad`.
pub fn moved_piece(
    side: &PairSide,
    displacement: Vector2<f64>,
    rotation_step_rad: f64,
) -> (PlacedPiece, Vector2<f64>, Vector2<f64>) {
    let (centre, rotation) = (side.centre_m + displacement, integrate_rotation(side.rotation, rotation_step_rad));
    (PlacedPiece::new(side.piece, centre, rotation), centre, rotation)
}

/// Returns the depth above which a pair counts as penetrating, m, if its depth at the time of impact is `start_m`. A pair
/// that is deep already must not become deeper: a graze in every tick would add up to millimetres.
fn allowed_depth_m(start_m: f64) -> f64 {
    (start_m + PENETRATION_M).min((2.0 * PENETRATION_M).max(start_m + DEEPER_M))
}

/// Returns the penetration of the pair in the poses of `then`, m.
fn depth(a: &PairSide, b: &PairSide, then: &TimeOfImpact, cache: &mut FeatureCache) -> f64 {
    let (then_a, then_b) = then.sides(a, b);
    collide(&then_a, &then_b, Near::within(2.0 * TARGET_GAP_M), cache)
        .map_or(0.0, |t| -t.gap_m[..t.count].iter().fold(0.0, least))
}

fn least(a: f64, b: &f64) -> f64 {
    a.min(*b)
}

/// Returns the contact of a pair that meets later in the tick, and the centres of mass of its bodies at that time. The
/// margin is `margin_m` plus the part of `closing_m`, the distance the pair can close in a whole tick, that remains
/// after the meeting: the point that meets first may recede again, and one behind it may close later in the tick.
///
/// The gaps are extrapolated back to the start of the tick at the speeds of the points. The gap of a receding point does
/// not become negative by this: that would be a penetration that never existed. Returns `None` if the pair does not meet
/// later in the tick or the budget is used up.
#[inline(never)]
pub fn collide_ahead(
    a: &PairSide,
    b: &PairSide,
    (margin_m, closing_m): (f64, f64),
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let toi = time_of_impact(a, b, TICK_S, &mut cache.seed, budget).filter(|m| m.time_s > 0.0 && !m.is_uncertain)?;
    let near_then = |toi: &TimeOfImpact| Near::within(margin_m + closing_m * (1.0 - toi.time_s / TICK_S));
    let toi = refine(a, b, toi, near_then, cache, budget);
    collide_then(a, b, &toi, near_then(&toi), cache)
}

/// Returns the time of impact of a rotating pair, found from the time at which its gap is small. An advancement ends with
/// a gap of up to [`TARGET_GAP_M`], and a pair that closes slowly rotates by hundredths of a radian until it meets.
/// Newton's method on the gap, in which a meeting after the end of the tick counts as none. Real-time: at most
/// [`MAX_REFINEMENTS`] calls of [`collide`].
fn refine(
    a: &PairSide,
    b: &PairSide,
    mut toi: TimeOfImpact,
    near_then: impl Fn(&TimeOfImpact) -> Near,
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> TimeOfImpact {
    let angular_speed = angular_speed(a, b);
    for _ in 0..MAX_REFINEMENTS {
        let (then_a, then_b) = toi.sides(a, b);
        let has_budget = budget.take_substep();
        let found = has_budget.then(|| collide(&then_a, &then_b, near_then(&toi), cache)).flatten();
        let Some(geometry) = found else { break };
        let later_s = closing_s(&then_a, &then_b, &geometry);
        let time_s = toi.time_s + later_s;
        let is_within_tick = time_s > 0.0 && time_s < TICK_S;
        if later_s.abs() * angular_speed < MAX_TIME_ERROR_RAD || !is_within_tick {
            break;
        }
        toi = at(a, b, time_s);
    }
    toi
}

/// Returns the larger angular speed of the two bodies, rad/s.
fn angular_speed(a: &PairSide, b: &PairSide) -> f64 {
    let (speed_a, speed_b) = (a.angular_velocity_rad_per_s.abs(), b.angular_velocity_rad_per_s.abs());
    if speed_a > speed_b { speed_a } else { speed_b }
}

/// Returns the contact of a pair in the poses of `then`, with its gaps extrapolated back to the start of the tick, and
/// the centres of mass of its bodies at that time.
fn collide_then(
    a: &PairSide,
    b: &PairSide,
    then: &TimeOfImpact,
    near: Near,
    cache: &mut FeatureCache,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let (then_a, then_b) = then.sides(a, b);
    let geometry = collide(&then_a, &then_b, near, cache)?;
    Some((extrapolate_back(geometry, &then_a, &then_b, then.time_s), then.centres))
}

/// Returns a contact found in the poses after `time_s` with its gaps extrapolated back to the start of the tick.
fn extrapolate_back(mut geometry: ContactGeometry, a: &PairSide, b: &PairSide, time_s: f64) -> ContactGeometry {
    for i in 0..geometry.count {
        let gap_m = geometry.gap_m[i];
        let before_m = gap_m - time_s * approach_speed(a, b, &geometry, i);
        // A point that recedes may have been closer before, but it has not penetrated.
        geometry.gap_m[i] = before_m.max(gap_m.min(0.0));
    }
    geometry
}

/// Returns the normal velocity of a point of a contact, m/s; negative when closing.
pub fn approach_speed(a: &PairSide, b: &PairSide, geometry: &ContactGeometry, point: usize) -> f64 {
    let at = geometry.at_m[point];
    geometry.normal.dot(&(velocity_at(b, at) - velocity_at(a, at)))
}

/// Returns the contact of a rotating pair in its poses at the time when it first meets, or when it comes closest if it
/// does not meet in this tick. `start` is its contact in the poses at the start of the tick, if any, and `reach_m` the
/// distance that the pair can close in the tick. Time, normal and arms of the impact are then its own. With those of the start of
/// the tick, the impulse is wrong by about twice the angle in between, a point that a rotation slows down strikes too
/// early, and a corner that a rotation brings round is not seen at all. Returns `None` if the contact at the start of
/// the tick is accurate enough: the pair hardly rotates before it meets, or cannot meet. Real-time: at most
/// [`MAX_POSES`] calls of [`collide`].
///
/// The time is found by Newton's method on the gap, in steps of at most [`MAX_POSE_STEP_RAD`], so that the points of one
/// pose are those that can close until the next. In the poses of the result, the linear gaps of the points have their
/// true values and slopes.
#[inline]
pub fn collide_after_rotation(
    a: &PairSide,
    b: &PairSide,
    start: Option<&ContactGeometry>,
    (near, reach_m): (Near, f64),
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let angular_speed = angular_speed(a, b);
    // A pair that overlaps has met. The velocity of one under load is not known before the contact solve.
    let least_m = if near.had_contact_load { MAX_LOADED_GAP_M } else { -MAX_MISSED_M };
    let has_met = start.is_some_and(|start| start.apart_m < least_m);
    let least_rad = if start.is_some() { MIN_ROTATION_RAD } else { MIN_UNSEEN_ROTATION_RAD };
    if angular_speed * TICK_S < least_rad || has_met {
        return None;
    }
    collide_rotated(a, b, angular_speed, start, (near, reach_m), cache, budget)
}

/// Does what [`collide_after_rotation`] does, for a pair that has not met and of which one side rotates at
/// `angular_speed`, rad/s.
#[inline(never)]
fn collide_rotated(
    a: &PairSide,
    b: &PairSide,
    angular_speed: f64,
    start: Option<&ContactGeometry>,
    (near, reach_m): (Near, f64),
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<Found> {
    let rotation_rad = angular_speed * TICK_S;
    let start_s = start.map_or(f64::INFINITY, |start| closing_s(a, b, start));
    let may_meet = match start {
        Some(start) => may_meet(a, b, start, rotation_rad, reach_m),
        None => rotation_rad > MIN_UNSEEN_ROTATION_RAD && !boxes_stay_apart(a, b, TICK_S, rotation_speed(a, b)),
    };
    if start_s * angular_speed < MIN_ROTATION_RAD || !may_meet {
        return None;
    }
    let longest_s = MAX_POSE_STEP_RAD / angular_speed;
    let start_speed = start.map_or(0.0, |start| lowest_speed(a, b, start));
    let mut clear = Pose { time_s: 0.0, speed: start_speed };
    let mut time_s = start_s.min(longest_s).min(TICK_S);
    // The pose where the search goes on after a closest approach.
    let mut beyond: Option<Pose> = None;
    let mut closest: Option<(f64, Found)> = None;
    // The last pose in which the pair overlapped, on the way back to its meeting.
    let mut overlapping: Option<Found> = None;
    for _ in 0..MAX_POSES {
        if !budget.take_substep() {
            break;
        }
        let then = at(a, b, time_s);
        let (then_a, then_b) = then.sides(a, b);
        let mut pose = Pose { time_s, speed: 0.0 };
        if let Some(geometry) = collide(&then_a, &then_b, near, cache) {
            let later_s = closing_s(&then_a, &then_b, &geometry);
            let gap_m = geometry.gap_m[..geometry.count].iter().fold(f64::INFINITY, least);
            let geometry = extrapolate_back(geometry, &then_a, &then_b, time_s);
            let geometry = ContactGeometry { includes_rotation: true, ..geometry };
            let found = (geometry, then.centres);
            if later_s.abs() * angular_speed < MAX_TIME_ERROR_RAD || (later_s <= 0.0 && gap_m >= -MAX_MISSED_M) {
                let grazes = lowest_speed(&then_a, &then_b, &geometry) > MIN_SPEED_FRACTION * start_speed.min(0.0);
                return (!grazes).then_some(found);
            }
            if closest.is_none_or(|(least_m, _)| gap_m < least_m) {
                closest = Some((gap_m, (kept_open(geometry, &then_a, &then_b), then.centres)));
            }
            if gap_m < -MAX_MISSED_M {
                let newton_s = time_s + later_s;
                let is_inside = newton_s > clear.time_s && newton_s < time_s;
                time_s = if is_inside { newton_s } else { 0.5 * (clear.time_s + time_s) };
                beyond = None;
                overlapping = Some(found);
                continue;
            }
            pose.speed = lowest_speed(&then_a, &then_b, &geometry);
            if clear.speed < 0.0 && pose.speed > 0.0 && beyond.is_none() {
                time_s = clear.time_s + (time_s - clear.time_s) * (clear.speed / (clear.speed - pose.speed));
                beyond = Some(pose);
                continue;
            }
            if beyond.is_none() {
                time_s += later_s.max(0.0).min(longest_s);
            }
        } else {
            time_s += longest_s;
        }
        clear = pose;
        if let Some(pose) = beyond.take() {
            clear = pose;
            time_s = pose.time_s + longest_s;
        }
        if clear.time_s >= TICK_S {
            return overlapping.or(closest.map(|(_, found)| found));
        }
        time_s = time_s.min(TICK_S);
    }
    overlapping
}

/// Returns a contact with the gaps of its points raised so far that none closes in this tick, because the pair does not
/// meet. The linear gaps of a pair that grazes may close at a speed too low for an impact.
fn kept_open(mut geometry: ContactGeometry, a: &PairSide, b: &PairSide) -> ContactGeometry {
    for point in 0..geometry.count {
        let closing_m = -TICK_S * approach_speed(a, b, &geometry, point);
        geometry.gap_m[point] = geometry.gap_m[point].max(closing_m + ROUNDING_M);
    }
    geometry
}

/// A contact and the centres of mass of its bodies in the poses of the contact.
type Found = (ContactGeometry, [Vector2<f64>; 2]);

/// A time after the start of the tick at which a rotating pair is apart, with the lowest normal velocity of its points.
#[derive(Clone, Copy)]
struct Pose {
    time_s: f64,
    speed: f64,
}

/// Returns the lowest normal velocity of the points of a contact, m/s; negative if any is closing.
fn lowest_speed(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    (0..geometry.count).map(|point| approach_speed(a, b, geometry, point)).fold(f64::INFINITY, f64::min)
}

/// Returns the time until the first point of a contact closes at its present speed, s; negative if the point overlaps,
/// infinite if no point is closing.
fn closing_s(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    let mut first_s = f64::INFINITY;
    for point in 0..geometry.count {
        let speed = approach_speed(a, b, geometry, point);
        if speed < 0.0 {
            first_s = first_s.min(-geometry.gap_m[point] / speed);
        }
    }
    first_s
}

/// Whether a pair may meet in this tick. Over a rotation by θ, gaps differ from linear ones by at most θ times the
/// reach. Beyond [`MAX_POSE_STEP_RAD`], other corners than those of the contact may come round.
fn may_meet(a: &PairSide, b: &PairSide, start: &ContactGeometry, rotation_rad: f64, reach_m: f64) -> bool {
    start.apart_m <= reach_m && rotation_rad > MAX_POSE_STEP_RAD
        || (0..start.count)
            .any(|point| start.gap_m[point] + TICK_S * approach_speed(a, b, start, point) < rotation_rad * reach_m)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graze_in_every_tick_does_not_add_up() {
        let mut depth_m = 0.0;
        for _ in 0..10 {
            depth_m = allowed_depth_m(depth_m);
        }
        assert!(depth_m < 2.0 * PENETRATION_M + 10.0 * DEEPER_M, "{depth_m} m");
        assert_eq!(allowed_depth_m(0.0), PENETRATION_M);
    }
}
