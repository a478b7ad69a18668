//! Time of impact of fast pairs, whose pieces move farther within the tick than their contact margin covers.
//!
//! The method is conservative advancement: the pieces can move for a time equal to the gap divided by the highest
//! possible approach speed without touching. A bounded number of such advances either reaches the end of the tick or
//! stops close to the contact.

use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide, velocity_at};
use crate::math::integrate_rotation;
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
/// Number of advances in a [`ToiBudget`], shared by all pairs. When it is used up, a pair is not followed beyond the
/// time it has reached.
pub const ADVANCES_PER_TICK: usize = 64;
/// Number of substeps in a [`ToiBudget`], shared by all pairs.
pub const SUBSTEPS_PER_TICK: usize = 128;
/// Gap at which the advancement ends, m.
const TARGET_GAP_M: f64 = 5e-5;

/// Increase of the depth after the time of impact above which a pair counts as penetrating, m. With a smaller increase,
/// it only grazes.
const PENETRATION_M: f64 = 2e-4;

/// Numbers of advances and substeps that are left. A tick uses up to two budgets: one before the impacts and one after
/// them.
#[derive(Clone, Copy, Debug)]
pub struct ToiBudget {
    advances: usize,
    substeps: usize,
}

impl ToiBudget {
    /// Creates a full budget.
    pub fn new() -> Self {
        Self { advances: ADVANCES_PER_TICK, substeps: SUBSTEPS_PER_TICK }
    }

    pub fn take_advance(&mut self) -> bool {
        let left = self.advances > 0;
        self.advances -= usize::from(left);
        left
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
    fn sides<'m>(&'m self, a: &PairSide<'m>, b: &PairSide<'m>) -> (PairSide<'m>, PairSide<'m>) {
        (
            PairSide { placed: &self.placed[0], centre_m: self.centres[0], rotation: self.rotations[0], ..*a },
            PairSide { placed: &self.placed[1], centre_m: self.centres[1], rotation: self.rotations[1], ..*b },
        )
    }
}

/// Returns the time and poses at which the gap of the pair first falls to [`TARGET_GAP_M`], or which its last advance
/// reached. Returns `None` if the pieces stay apart until `horizon_s`. Real-time: at most [`MAX_ADVANCES`] calls of
/// [`track`].
fn time_of_impact(
    a: &PairSide,
    b: &PairSide,
    horizon_s: f64,
    seed: &mut Seed,
    budget: &mut ToiBudget,
) -> Option<TimeOfImpact> {
    let radii = a.piece.radius_m + b.piece.radius_m;
    let rotation_speed =
        a.angular_velocity_rad_per_s.abs() * a.piece.reach_m + b.angular_velocity_rad_per_s.abs() * b.piece.reach_m;
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

/// Returns the poses of both pieces after `time_s` at constant velocities.
fn at(a: &PairSide, b: &PairSide, time_s: f64) -> TimeOfImpact {
    let moved = |side: &PairSide| {
        let centre = side.centre_m + side.velocity_m_per_s * time_s;
        let rotation = integrate_rotation(side.rotation, side.angular_velocity_rad_per_s * time_s);
        (PlacedPiece::new(side.piece, centre, rotation), centre, rotation)
    };
    let ((pa, ca, ta), (pb, cb, tb)) = (moved(a), moved(b));
    TimeOfImpact { time_s, placed: [pa, pb], centres: [ca, cb], rotations: [ta, tb], is_uncertain: false }
}

/// Returns the fraction of its displacement that a fast pair can make before it penetrates. The velocities of the sides
/// are their displacements divided by the duration of the tick. Real-time: at most [`MAX_ADVANCES`] calls of [`track`]
/// and [`SUBSTEPS`] + 1 of [`collide`].
///
/// From the time of impact on, the pair is followed in equal substeps, because it may only graze, and a rotating body
/// may come back.
pub fn safe_fraction(a: &PairSide, b: &PairSide, budget: &mut ToiBudget) -> f64 {
    let mut cache = FeatureCache::default();
    let Some(toi) = time_of_impact(a, b, TICK_S, &mut cache.seed, budget) else { return 1.0 };
    let impact_s = toi.time_s;
    if toi.is_uncertain {
        return impact_s / TICK_S;
    }
    let start = depth(a, b, &toi, &mut cache);
    let substep_s = (TICK_S - impact_s) / SUBSTEPS as f64;
    for substep in 1..=SUBSTEPS {
        let then = at(a, b, impact_s + substep as f64 * substep_s);
        if !budget.take_substep() || depth(a, b, &then, &mut cache) > start + PENETRATION_M {
            return (impact_s + (substep - 1) as f64 * substep_s) / TICK_S;
        }
    }
    1.0
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
/// gaps are extrapolated back to the start of the tick at the approach speed. Returns `None` if the pair does not meet
/// later in the tick or the budget is used up.
pub fn collide_ahead(
    a: &PairSide,
    b: &PairSide,
    margin_m: f64,
    cache: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    let toi = time_of_impact(a, b, TICK_S, &mut cache.seed, budget).filter(|m| m.time_s > 0.0 && !m.is_uncertain)?;
    let (then_a, then_b) = toi.sides(a, b);
    let mut geometry = collide(&then_a, &then_b, Near::within(margin_m), cache)?;
    for i in 0..geometry.count {
        let at = geometry.at_m[i];
        let speed = geometry.normal.dot(&(velocity_at(&then_b, at) - velocity_at(&then_a, at)));
        geometry.gap_m[i] -= toi.time_s * speed;
    }
    Some((geometry, toi.centres))
}
