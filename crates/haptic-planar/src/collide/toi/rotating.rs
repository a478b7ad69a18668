//! Contact of a pair whose normal turns far within the tick, because one side rotates or because round sides pass each
//! other: the poses in which it meets are searched for.

use super::{
    MAX_TIME_ERROR_RAD, ToiBudget, angular_speed, approach_speed, at, boxes_stay_apart, closing_s, extrapolate_back,
    least, rotation_speed,
};
use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide, velocity_at};
use crate::math::{smaller, tangent_of};
use crate::shape::features::FeatureCache;
use crate::tick::TICK_S;
use nalgebra::Vector2;
use std::ops::ControlFlow;

/// Rotation of a body or of the normal before an impact below which the poses at the start of the tick are accurate
/// enough for it, rad.
const MIN_ROTATION_RAD: f64 = 1e-3;
/// Fraction of the approach speed at the start of the tick that must be left when a rotating pair meets. A point that a
/// rotation slows down more only grazes: it would fall below the speed of an impact and lose its energy in the contact
/// solve.
const MIN_SPEED_FRACTION: f64 = 0.1;
/// Maximum number of poses in which the contact of one rotating pair is searched for.
const MAX_POSES: usize = 12;
/// Largest rotation between two of these poses, rad. It is less than half the exterior angle of a regular polygon with
/// the most corners, so that no corner is skipped.
const MAX_POSE_STEP_RAD: f64 = 0.1;
/// Rotation in the tick above which a pair that has no contact at its start may have one later, rad: a corner may come
/// round to a face that it is beside.
const MIN_UNSEEN_ROTATION_RAD: f64 = 0.02;
/// Gap up to which a pair may still be under the contact load of the last tick, m.
const MAX_LOADED_GAP_M: f64 = 2e-5;
/// Gap that remains when a pair comes as close as possible without meeting, m: more than rounding errors.
const ROUNDING_M: f64 = 1e-12;
/// Overlap of a rotating pair that counts as none, m.
const MAX_MISSED_M: f64 = 1e-6;

/// Returns the contact of a pair whose normal turns in its poses at the time when it first meets, or when it comes
/// closest if it does not meet in this tick. `start` is its contact in the poses at the start of the tick, if any, and `reach_m` the
/// distance that the pair can close in the tick. Time, normal and arms of the impact are then its own. With those of
/// the start of the tick, the impulse is wrong by about twice the angle in between, a point that a rotation slows down
/// strikes too early, and a corner that a rotation brings round is not seen at all. Returns `None` if the contact at
/// the start of the tick is accurate enough: the pair hardly rotates before it meets, or cannot meet. Real-time: at
/// most [`MAX_POSES`] calls of [`collide`].
///
/// The normal turns with the rotation of the bodies, and also if round sides pass each other. The velocities of a pair
/// under load are not known, so only its rotation counts; see [`collide`] for its round corners.
///
/// The time is found by Newton's method on the gap, in steps of at most [`MAX_POSE_STEP_RAD`], so that the points of
/// one pose are those that can close until the next. In the poses of the result, the linear gaps of the points have
/// their true values and slopes.
#[inline]
pub fn collide_after_rotation(
    a: &PairSide,
    b: &PairSide,
    start: Option<&ContactGeometry>,
    (near, reach_m): (&Near, f64),
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<Found> {
    let angular_speed = angular_speed(a, b);
    match start {
        None if angular_speed * TICK_S < MIN_UNSEEN_ROTATION_RAD => return None,
        None => {}
        Some(start) => {
            let is_slow = angular_speed * TICK_S < MIN_ROTATION_RAD;
            // A pair that overlaps has met. The velocity of one under load is not known before the contact solve.
            let least_m = if near.had_contact_load { MAX_LOADED_GAP_M } else { -MAX_MISSED_M };
            if (is_slow && (near.had_contact_load || !passes(a, b, start))) || start.apart_m < least_m {
                return None;
            }
        }
    }
    collide_rotated(a, b, angular_speed, start, (near, reach_m), cache, budget)
}

/// Whether a contact turns or slides by more than [`MIN_ROTATION_RAD`] because its sides pass each other.
#[inline]
fn passes(a: &PairSide, b: &PairSide, start: &ContactGeometry) -> bool {
    // Sharp pieces that slide meet when their linear gaps close, so only those that close in this tick matter.
    let may_pass = is_round(a, b) || (lever_m(a, b, start) < f64::INFINITY && closing_s(a, b, start) < TICK_S);
    may_pass && passing_speed(a, b, start) * TICK_S >= MIN_ROTATION_RAD
}

/// Whether a side of the pair is rounded.
#[inline]
fn is_round(a: &PairSide, b: &PairSide) -> bool {
    a.piece.radius_m + b.piece.radius_m > 0.0
}

/// Returns the speed at which the sides of a contact pass each other, as an angular speed, rad/s. The normal between
/// round sides turns at this speed, unless there is a face between them. A contact that slides along a face changes its
/// arm about the body of that face by this part of the radius of gyration.
#[inline(never)]
pub fn passing_speed(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    let at = geometry.at_m[0];
    let sideways = tangent_of(geometry.normal).dot(&(velocity_at(b, at) - velocity_at(a, at)));
    let lever_m = lever_m(a, b, geometry);
    let is_round = is_round(a, b);
    let round_m = a.piece.radius_m + b.piece.radius_m + geometry.apart_m.max(0.0);
    sideways.abs() / if is_round { smaller(lever_m, round_m) } else { lever_m }
}

/// Returns the radius of gyration of the body whose face a contact is on, m; infinite if it has none.
#[inline]
fn lever_m(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    match geometry.id.face_of {
        1 => a.piece.gyration_m,
        2 => b.piece.gyration_m,
        _ => f64::INFINITY,
    }
}

/// Does what [`collide_after_rotation`] does, for a pair that has not met and of which one side rotates at
/// `angular_speed`, rad/s.
#[inline(never)]
fn collide_rotated(
    a: &PairSide,
    b: &PairSide,
    angular_speed: f64,
    start: Option<&ContactGeometry>,
    (near, reach_m): (&Near, f64),
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<Found> {
    let passing_speed = if near.had_contact_load { 0.0 } else { start.map_or(0.0, |s| passing_speed(a, b, s)) };
    let mut search = Search::start(a, b, (angular_speed, passing_speed), start, reach_m)?;
    for _ in 0..MAX_POSES {
        if !budget.take_substep() {
            break;
        }
        let then = at(a, b, search.time_s);
        let (then_a, then_b) = then.sides(a, b);
        cache.forget_face();
        let next = match collide(&then_a, &then_b, near, cache) {
            Some(geometry) => {
                let contact = PoseContact::new(geometry, &then_a, &then_b, search.time_s, near.had_contact_load);
                search.visit(&contact)
            }
            None => search.visit_apart(),
        };
        if let ControlFlow::Break(found) = next {
            return found;
        }
    }
    search.overlapping
}

/// A contact and the centres of mass of its bodies in the poses of the contact.
type Found = (ContactGeometry, [Vector2<f64>; 2]);

/// A time after the start of the tick at which a rotating pair is apart, with the lowest normal velocity of its points.
#[derive(Clone, Copy)]
struct Pose {
    time_s: f64,
    speed: f64,
}

/// The contact of a rotating pair in a pose of the search.
struct PoseContact<'a> {
    a: &'a PairSide<'a>,
    b: &'a PairSide<'a>,
    /// The contact, with its gaps extrapolated back to the start of the tick.
    geometry: ContactGeometry,
    /// Smallest gap in this pose, m.
    gap_m: f64,
    /// Time from this pose until the first point closes at its present speed, s.
    later_s: f64,
    /// Angular speed at which the normal turns because round sides pass each other, rad/s.
    passing_speed: f64,
}

impl<'a> PoseContact<'a> {
    /// Takes the contact of the two sides in their poses after `time_s`.
    fn new(
        geometry: ContactGeometry,
        a: &'a PairSide<'a>,
        b: &'a PairSide<'a>,
        time_s: f64,
        had_contact_load: bool,
    ) -> Self {
        let passing_speed = if had_contact_load { 0.0 } else { passing_speed(a, b, &geometry) };
        let later_s = closing_s(a, b, &geometry);
        let gap_m = geometry.gap_m[..geometry.count].iter().fold(f64::INFINITY, least);
        let geometry = extrapolate_back(geometry, a, b, time_s);
        let geometry = ContactGeometry { includes_rotation: true, ..geometry };
        Self { a, b, geometry, gap_m, later_s, passing_speed }
    }

    /// Whether the pair meets in this pose.
    fn is_meeting(&self, angular_speed: f64) -> bool {
        self.later_s.abs() * (angular_speed + self.passing_speed) < MAX_TIME_ERROR_RAD
            || (self.later_s <= 0.0 && self.gap_m >= -MAX_MISSED_M)
    }

    fn lowest_speed(&self) -> f64 {
        lowest_speed(self.a, self.b, &self.geometry)
    }

    fn found(&self) -> Found {
        (self.geometry, self.centres())
    }

    fn found_open(&self) -> Found {
        (kept_open(self.geometry, self.a, self.b), self.centres())
    }

    fn centres(&self) -> [Vector2<f64>; 2] {
        [self.a.centre_m, self.b.centre_m]
    }
}

/// The search for the time at which a rotating pair meets.
struct Search {
    /// Angular speed of the pair, rad/s.
    angular_speed: f64,
    /// Longest time between two poses, s.
    longest_s: f64,
    /// Lowest normal velocity at the start of the tick, m/s.
    start_speed: f64,
    /// Time of the next pose, s.
    time_s: f64,
    /// The last pose in which the pair was apart.
    clear: Pose,
    /// The pose from which the search continues after a closest approach.
    beyond: Option<Pose>,
    /// The contact with the smallest gap so far, with this gap, m.
    closest: Option<(f64, Found)>,
    /// The last pose in which the pair overlapped, on the way back to its meeting.
    overlapping: Option<Found>,
}

impl Search {
    /// Starts the search; `None` if the contact at the start of the tick is accurate enough.
    fn start(
        a: &PairSide,
        b: &PairSide,
        (angular_speed, passing_speed): (f64, f64),
        start: Option<&ContactGeometry>,
        reach_m: f64,
    ) -> Option<Self> {
        let start_s = start.map_or(f64::INFINITY, |start| closing_s(a, b, start));
        // Sliding alone does not bend the gaps of sharp pieces.
        let bending_speed = angular_speed + if is_round(a, b) { passing_speed } else { 0.0 };
        let is_accurate = start_s * (angular_speed + passing_speed) < MIN_ROTATION_RAD;
        if is_accurate || !may_meet(a, b, start, bending_speed * TICK_S, reach_m) {
            return None;
        }
        let longest_s = MAX_POSE_STEP_RAD / angular_speed;
        let start_speed = start.map_or(0.0, |start| lowest_speed(a, b, start));
        Some(Self {
            angular_speed,
            longest_s,
            start_speed,
            time_s: start_s.min(longest_s).min(TICK_S),
            clear: Pose { time_s: 0.0, speed: start_speed },
            beyond: None,
            closest: None,
            overlapping: None,
        })
    }

    /// Handles a pose in which the pair has a contact. Breaks with the result at the end of the search.
    fn visit(&mut self, contact: &PoseContact) -> ControlFlow<Option<Found>> {
        if contact.is_meeting(self.angular_speed) {
            let rotates = self.angular_speed * TICK_S >= MIN_ROTATION_RAD;
            let grazes = rotates && contact.lowest_speed() > MIN_SPEED_FRACTION * self.start_speed.min(0.0);
            return ControlFlow::Break((!grazes).then(|| contact.found()));
        }
        if self.closest.is_none_or(|(least_m, _)| contact.gap_m < least_m) {
            self.closest = Some((contact.gap_m, contact.found_open()));
        }
        if contact.gap_m < -MAX_MISSED_M {
            self.go_back(contact);
            return ControlFlow::Continue(());
        }
        let pose = Pose { time_s: self.time_s, speed: contact.lowest_speed() };
        if self.clear.speed < 0.0 && pose.speed > 0.0 && self.beyond.is_none() {
            self.go_to_closest_approach(pose);
            return ControlFlow::Continue(());
        }
        self.advance(pose, contact.later_s.max(0.0).min(self.longest_s))
    }

    /// Handles a pose in which the pair has no contact.
    fn visit_apart(&mut self) -> ControlFlow<Option<Found>> {
        self.advance(Pose { time_s: self.time_s, speed: 0.0 }, self.longest_s)
    }

    /// Goes back from a pose in which the pair overlaps, towards the last one in which it was apart.
    fn go_back(&mut self, contact: &PoseContact) {
        let newton_s = self.time_s + contact.later_s;
        let is_inside = newton_s > self.clear.time_s && newton_s < self.time_s;
        self.time_s = if is_inside { newton_s } else { 0.5 * (self.clear.time_s + self.time_s) };
        self.beyond = None;
        self.overlapping = Some(contact.found());
    }

    /// Goes back from a pose in which the pair recedes to where it comes closest, at a linear change of its speed.
    fn go_to_closest_approach(&mut self, pose: Pose) {
        let Pose { time_s, speed } = self.clear;
        self.time_s = time_s + (self.time_s - time_s) * (speed / (speed - pose.speed));
        self.beyond = Some(pose);
    }

    /// Advances by `later_s` from a pose in which the pair is apart, or from the pose beyond a closest approach. Breaks
    /// at the end of the tick.
    fn advance(&mut self, pose: Pose, later_s: f64) -> ControlFlow<Option<Found>> {
        (self.clear, self.time_s) = match self.beyond.take() {
            Some(beyond) => (beyond, beyond.time_s + self.longest_s),
            None => (pose, pose.time_s + later_s),
        };
        if self.clear.time_s >= TICK_S {
            return ControlFlow::Break(self.overlapping.or(self.closest.map(|(_, found)| found)));
        }
        self.time_s = self.time_s.min(TICK_S);
        ControlFlow::Continue(())
    }
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

/// Returns the lowest normal velocity of the points of a contact, m/s; negative if any is closing.
fn lowest_speed(a: &PairSide, b: &PairSide, geometry: &ContactGeometry) -> f64 {
    (0..geometry.count).map(|point| approach_speed(a, b, geometry, point)).fold(f64::INFINITY, f64::min)
}

/// Whether a pair may meet in this tick. Over a rotation by θ, gaps differ from linear ones by at most θ times the
/// reach. Beyond [`MAX_POSE_STEP_RAD`], other corners than those of the contact may come round.
fn may_meet(a: &PairSide, b: &PairSide, start: Option<&ContactGeometry>, rotation_rad: f64, reach_m: f64) -> bool {
    let Some(start) = start else {
        return rotation_rad > MIN_UNSEEN_ROTATION_RAD && !boxes_stay_apart(a, b, TICK_S, rotation_speed(a, b));
    };
    start.apart_m <= reach_m && rotation_rad > MAX_POSE_STEP_RAD
        || (0..start.count)
            .any(|point| start.gap_m[point] + TICK_S * approach_speed(a, b, start, point) < rotation_rad * reach_m)
}
