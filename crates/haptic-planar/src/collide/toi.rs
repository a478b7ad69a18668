//! Fast pairs: when do two pieces that fly farther than their features reach meet within the tick?
//!
//! Conservative advancement: the distance divided by the fastest possible approach is a time in which nothing can
//! happen. A bounded number of such leaps either reaches the end of the tick or stops close before contact.

use crate::collide::narrow::{ContactGeometry, Near, PairSide, touch, velocity_at};
use crate::math::integrate_rotation;
use crate::shape::closest::{Seed, track};
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Relative motion in one tick from which a pair is swept, m; below it the margin of the manifolds covers it.
pub const FAST_M: f64 = 5e-3;
/// Most leaps of one sweep; a pair that has not met or passed by then stops at the last safe time.
pub const MAX_LEAPS: usize = 16;
/// Strides from a meeting to the end of the tick.
pub const STRIDES: usize = 32;
/// Leaps of all sweeps of one tick together; a pair that finds none left stops where it is.
pub const LEAPS_A_TICK: usize = 64;
/// Strides of all sweeps of one tick together.
pub const STRIDES_A_TICK: usize = 128;
/// Distance that counts as met, m.
const MET_M: f64 = 5e-5;

/// Depth from which one piece counts as gone into the other, m; less is a graze.
const ENTERED_M: f64 = 2e-4;

/// What the sweeps of this tick may still cost.
#[derive(Clone, Copy, Debug)]
pub struct SweepBudget {
    leaps: usize,
    strides: usize,
}

impl SweepBudget {
    /// A full budget, for the start of a tick.
    pub fn of_a_tick() -> Self {
        Self { leaps: LEAPS_A_TICK, strides: STRIDES_A_TICK }
    }

    fn take_leap(&mut self) -> bool {
        let left = self.leaps > 0;
        self.leaps -= usize::from(left);
        left
    }

    fn take_stride(&mut self) -> bool {
        let left = self.strides > 0;
        self.strides -= usize::from(left);
        left
    }
}

/// Two pieces at a time within the tick.
pub struct TimeOfImpact {
    /// After the start of the tick, s.
    pub time_s: f64,
    /// Pieces placed then.
    pub placed: [PlacedPiece; 2],
    /// Their bodies' centres then.
    pub centres: [Vector2<f64>; 2],
    /// (cos, sin) of their angles then.
    pub turns: [Vector2<f64>; 2],
    /// The budget ran out before they met: nothing is known about later.
    pub unsure: bool,
}

impl TimeOfImpact {
    /// The two sides at that time.
    fn sides<'m>(&'m self, a: &PairSide<'m>, b: &PairSide<'m>) -> (PairSide<'m>, PairSide<'m>) {
        (
            PairSide { placed: &self.placed[0], centre_m: self.centres[0], rotation: self.turns[0], ..*a },
            PairSide { placed: &self.placed[1], centre_m: self.centres[1], rotation: self.turns[1], ..*b },
        )
    }
}

/// Where and when the pair first comes close within `horizon_s`; nothing if it does not.
/// Real-time: at most [`MAX_LEAPS`] queries.
fn meet(a: &PairSide, b: &PairSide, horizon_s: f64, seed: &mut Seed, budget: &mut SweepBudget) -> Option<TimeOfImpact> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let turning =
        a.angular_velocity_rad_per_s.abs() * a.piece.reach_m + b.angular_velocity_rad_per_s.abs() * b.piece.reach_m;
    let mut meeting = at(a, b, 0.0);
    for _ in 0..MAX_LEAPS {
        if !budget.take_leap() {
            meeting.unsure = true;
            break;
        }
        let Some(closest) = track(&meeting.placed[0], &meeting.placed[1], seed) else { break };
        let gap = closest.distance_m - radii;
        if gap <= MET_M {
            break;
        }
        let normal = (closest.on_b - closest.on_a) / closest.distance_m;
        let approach = (-normal.dot(&(b.velocity_m_per_s - a.velocity_m_per_s))).max(0.0) + turning;
        let leap = (gap - 0.5 * MET_M) / approach;
        if leap.is_nan() || meeting.time_s + leap >= horizon_s {
            return None;
        }
        meeting = at(a, b, meeting.time_s + leap);
    }
    Some(meeting)
}

/// Both pieces moved on by a time.
fn at(a: &PairSide, b: &PairSide, time_s: f64) -> TimeOfImpact {
    let moved = |side: &PairSide| {
        let centre = side.centre_m + side.velocity_m_per_s * time_s;
        let rotation = integrate_rotation(side.rotation, side.angular_velocity_rad_per_s * time_s);
        (PlacedPiece::of(side.piece, centre, rotation), centre, rotation)
    };
    let ((pa, ca, ta), (pb, cb, tb)) = (moved(a), moved(b));
    TimeOfImpact { time_s, placed: [pa, pb], centres: [ca, cb], turns: [ta, tb], unsure: false }
}

/// The share of this tick's motion that a fast pair may make before one goes into the other. The sides' velocities are
/// their whole displacement over the tick. Real-time: at most [`MAX_LEAPS`] and [`STRIDES`] queries.
///
/// From where they meet the pair goes on in equal strides: it may only graze, and a turning body may come back.
pub fn safe_fraction(a: &PairSide, b: &PairSide, budget: &mut SweepBudget) -> f64 {
    let mut memory = FeatureCache::default();
    let Some(meeting) = meet(a, b, TICK_S, &mut memory.seed, budget) else { return 1.0 };
    let met_s = meeting.time_s;
    if meeting.unsure {
        return met_s / TICK_S;
    }
    let start = depth(a, b, &meeting, &mut memory);
    let stride_s = (TICK_S - met_s) / STRIDES as f64;
    for stride in 1..=STRIDES {
        let then = at(a, b, met_s + stride as f64 * stride_s);
        if !budget.take_stride() || depth(a, b, &then, &mut memory) > start + ENTERED_M {
            return (met_s + (stride - 1) as f64 * stride_s) / TICK_S;
        }
    }
    1.0
}

/// How deep the pair is in each other at a time, m.
fn depth(a: &PairSide, b: &PairSide, then: &TimeOfImpact, memory: &mut FeatureCache) -> f64 {
    let (then_a, then_b) = then.sides(a, b);
    touch(&then_a, &then_b, Near::within(2.0 * MET_M), memory)
        .map_or(0.0, |t| -t.gap_m[..t.count].iter().fold(0.0, least))
}

fn least(a: f64, b: &f64) -> f64 {
    a.min(*b)
}

/// The manifold of a pair that meets later in the tick, its gaps carried back to the start along the approach.
pub fn collide_ahead(
    a: &PairSide,
    b: &PairSide,
    margin_m: f64,
    memory: &mut FeatureCache,
    budget: &mut SweepBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let meeting = meet(a, b, TICK_S, &mut memory.seed, budget).filter(|m| m.time_s > 0.0 && !m.unsure)?;
    let (then_a, then_b) = meeting.sides(a, b);
    let mut touch = touch(&then_a, &then_b, Near::within(margin_m), memory)?;
    for i in 0..touch.count {
        let at = touch.at_m[i];
        let speed = touch.normal.dot(&(velocity_at(&then_b, at) - velocity_at(&then_a, at)));
        touch.gap_m[i] -= meeting.time_s * speed;
    }
    Some((touch, meeting.centres))
}
