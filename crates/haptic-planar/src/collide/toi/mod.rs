//! Time of impact of fast pairs, whose pieces move farther within the tick than their contact margin covers.
//!
//! The method is conservative advancement: the pieces can move for a time equal to the gap divided by the highest
//! possible approach speed without touching. A bounded number of such advances either reaches the end of the tick or
//! stops close to the contact.

mod budget;
mod rotating;

pub use budget::ToiBudget;
pub use rotating::{collide_after_rotation, passing_speed};

use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide, velocity_at};
use crate::math::integrate_rotation;
use crate::shape::aabb::Aabb;
use crate::shape::closest::{Seed, track};
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Relative motion in one tick above which the time of impact of a pair is computed, m; the contact margin covers
/// smaller motions.
pub const FAST_M: f64 = 5e-3;
/// Maximum number of advances of one pair. The time reached by the last advance counts as the time of impact.
pub const MAX_ADVANCES: usize = 16;
/// Number of equal substeps from the time of impact to the end of the tick.
pub const SUBSTEPS: usize = 32;
/// Gap at which the advancement ends, m.
pub const TARGET_GAP_M: f64 = 5e-5;

/// Error of the time of impact of a rotating pair that is accepted, as a rotation, rad.
const MAX_TIME_ERROR_RAD: f64 = 2e-4;
/// Maximum number of steps of Newton's method that refine the time of impact of a fast pair.
const MAX_REFINEMENTS: usize = 6;

/// Increase of the depth after the time of impact above which a pair counts as penetrating, m. With a smaller increase,
/// it only grazes.
pub const PENETRATION_M: f64 = 2e-4;

/// Increase of the depth of a pair that is deep already above which it counts as penetrating, m.
const DEEPER_M: f64 = 1e-5;

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

/// Returns the fraction of its displacement in `horizon_s` that a fast pair can make before it penetrates. The
/// velocities of the sides are their displacements divided by this duration. Real-time: at most [`MAX_ADVANCES`] calls
/// of [`track`] and [`SUBSTEPS`] + 1 of [`collide`].
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

/// Returns the depth above which a pair counts as penetrating, m, if its depth at the time of impact is `start_m`. A
/// pair that is as deep already must not become deeper: a graze in every tick would add up to millimetres. So would the
/// motion of a tool that spins around the end of a wall under load, up to the depth allowed here.
fn allowed_depth_m(start_m: f64) -> f64 {
    (start_m + PENETRATION_M).min((1.2 * PENETRATION_M).max(start_m + DEEPER_M))
}

/// Returns the penetration of the pair in the poses of `then`, m.
fn depth(a: &PairSide, b: &PairSide, then: &TimeOfImpact, cache: &mut FeatureCache) -> f64 {
    let (then_a, then_b) = then.sides(a, b);
    collide(&then_a, &then_b, &Near::within(2.0 * TARGET_GAP_M), cache)
        .map_or(0.0, |t| -t.gap_m[..t.count].iter().fold(0.0, least))
}

fn least(a: f64, b: &f64) -> f64 {
    a.min(*b)
}

/// Returns the contact of a pair that meets later in the tick, and the centres of mass of its bodies at that time. The
/// margin is `margin_m` plus the part of `closing_m`, the distance the pair can close in a whole tick, that remains
/// after the meeting: the point that meets first may recede again, and one behind it may close later in the tick.
///
/// The gaps are extrapolated back to the start of the tick at the speeds of the points. The gap of a receding point
/// does not become negative by this: that would be a penetration that never existed. Returns `None` if the pair does
/// not meet later in the tick or the budget is used up.
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
    collide_then(a, b, &toi, &near_then(&toi), cache)
}

/// Returns the time of impact of a pair whose normal turns, found from the time at which its gap is small. An
/// advancement ends with a gap of up to [`TARGET_GAP_M`], and a pair that closes slowly rotates by hundredths of a radian until it
/// meets. Newton's method on the gap, in which a meeting after the end of the tick counts as none. Real-time: at most
/// [`MAX_REFINEMENTS`] calls of [`collide`].
fn refine(
    a: &PairSide,
    b: &PairSide,
    mut toi: TimeOfImpact,
    near_then: impl Fn(&TimeOfImpact) -> Near,
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> TimeOfImpact {
    for _ in 0..MAX_REFINEMENTS {
        let (then_a, then_b) = toi.sides(a, b);
        let has_budget = budget.take_substep();
        cache.forget_face();
        let found = has_budget.then(|| collide(&then_a, &then_b, &near_then(&toi), cache)).flatten();
        let Some(geometry) = found else { break };
        let later_s = closing_s(&then_a, &then_b, &geometry);
        let time_s = toi.time_s + later_s;
        let is_within_tick = time_s > 0.0 && time_s < TICK_S;
        if turns_little(&then_a, &then_b, &geometry, later_s) || !is_within_tick {
            break;
        }
        toi = at(a, b, time_s);
    }
    toi
}

/// Whether the contact of a pair turns and slides so little in `later_s` that its geometry is accurate enough.
fn turns_little(a: &PairSide, b: &PairSide, geometry: &ContactGeometry, later_s: f64) -> bool {
    later_s.abs() * (angular_speed(a, b) + passing_speed(a, b, geometry)) < MAX_TIME_ERROR_RAD
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
    near: &Near,
    cache: &mut FeatureCache,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let (then_a, then_b) = then.sides(a, b);
    cache.forget_face();
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

/// Returns the time until the first point of a contact closes at its present speed, s; negative if the point overlaps,
/// infinite if no point is closing.
pub fn closing_s(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    let mut first_s = f64::INFINITY;
    for point in 0..geometry.count {
        let speed = approach_speed(a, b, geometry, point);
        if speed < 0.0 {
            first_s = first_s.min(-geometry.gap_m[point] / speed);
        }
    }
    first_s
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
        assert!(depth_m < 1.2 * PENETRATION_M + 10.0 * DEEPER_M, "{depth_m} m");
        assert_eq!(allowed_depth_m(0.0), PENETRATION_M);
    }
}
