//! The collision of one pair: its depth, the retreat to a free position, and the impulse at the closest point.

use super::{NEAR_M, SEARCH_HALVINGS, Tally, Tick};
use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide};
use crate::math::integrate_rotation;
use crate::scene::description::ImpactState;
use crate::shape::closest::{Seed, TOUCHING_M, penetration_m, track};
use crate::shape::piece::PlacedPiece;
use crate::solve::impact_queue::{apply, energy_change, single};
use crate::solve::manifold::Manifold;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Displacement of a body's centre of mass, m, and change of its angle, rad.
pub(super) type Displacement = (Vector2<f64>, f64);

/// Returns zero displacements for the two bodies of a pair.
pub(super) fn at_start() -> [Displacement; 2] {
    [(Vector2::zeros(), 0.0); 2]
}

/// Pose of a piece and its body.
struct Pose {
    placed: PlacedPiece,
    centre_m: Vector2<f64>,
    rotation: Vector2<f64>,
}

/// A collision at one point of a pair's contact.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub manifold: Manifold,
    pub point: usize,
    /// Normal velocity of the point, m/s; negative when closing.
    pub approach: f64,
    /// Slip velocity, m/s.
    pub slip: f64,
    pub restitution: f64,
}

impl Tick<'_> {
    /// Returns the displacement of a body after `time_s` of free motion.
    pub(super) fn free_motion(&self, body: usize, time_s: f64) -> Displacement {
        let (solver_body, body_state) = (&self.solver_bodies.all[body], &self.state.bodies[body]);
        let half = time_s * time_s / 2.0;
        (
            body_state.velocity_m_per_s * time_s + solver_body.acceleration * half,
            body_state.angular_velocity_rad_per_s * time_s + solver_body.angular_acceleration * half,
        )
    }

    /// Returns the displacement of a body after a fraction of the tick: in free motion or, if the body already had a
    /// collision, as a fraction of its present displacement.
    fn partial_displacement(&self, body: usize, fraction: f64) -> Displacement {
        let solver_body = &self.solver_bodies.all[body];
        if fraction == 1.0 || solver_body.had_impact {
            (solver_body.displacement * fraction, solver_body.rotation_step_rad * fraction)
        } else {
            self.free_motion(body, fraction * TICK_S)
        }
    }

    /// Returns the poses of a pair's pieces and bodies, displaced by `displacements` from their positions in the state.
    fn poses(&self, index: usize, displacements: [Displacement; 2]) -> [Pose; 2] {
        let pair = &self.state.broad_phase.table.pairs()[index];
        [0, 1].map(|which| {
            let body_state = &self.state.bodies[pair.bodies[which] as usize];
            let (centre_m, rotation) = (
                body_state.centre_m + displacements[which].0,
                integrate_rotation(body_state.rotation, displacements[which].1),
            );
            let placed = PlacedPiece::new(&self.scene.pieces[pair.pieces[which] as usize], centre_m, rotation);
            Pose { placed, centre_m, rotation }
        })
    }

    /// Returns the contact of a pair displaced by `displacements`, with the displaced centres of mass of its bodies.
    fn geometry_at(
        &self,
        index: usize,
        displacements: [Displacement; 2],
        margin_m: f64,
    ) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
        let pair = &self.state.broad_phase.table.pairs()[index];
        let poses = self.poses(index, displacements);
        let side = |which: usize| PairSide {
            piece: &self.scene.pieces[pair.pieces[which] as usize],
            placed: &poses[which].placed,
            centre_m: poses[which].centre_m,
            rotation: poses[which].rotation,
            velocity_m_per_s: self.solver_bodies.all[pair.bodies[which] as usize].velocity,
            angular_velocity_rad_per_s: self.solver_bodies.all[pair.bodies[which] as usize].angular_velocity,
        };
        let mut track = pair.features;
        collide(&side(0), &side(1), &Near::within(margin_m), &mut track)
            .map(|geometry| (geometry, [poses[0].centre_m, poses[1].centre_m]))
    }

    /// Returns the depth of a pair with its bodies displaced by `displacements`, m; zero if the pair is free. Depends
    /// on geometry alone: if it depended on earlier ticks, the same position could be free in one tick and occupied in
    /// the next.
    pub(super) fn depth_at(&self, index: usize, displacements: [Displacement; 2], seed: &mut Seed) -> f64 {
        let [a, b] = self.poses(index, displacements).map(|pose| pose.placed);
        let [first, second] = self.state.broad_phase.table.pairs()[index].pieces;
        let radii = self.scene.pieces[first as usize].radius_m + self.scene.pieces[second as usize].radius_m;
        match track(&a, &b, seed) {
            Some(closest) => (radii - closest.distance_m).max(0.0),
            None => radii + penetration_m(&a, &b),
        }
    }

    /// Returns the depth of a pair at its present displacements, m, and stores its features for the next search.
    pub(super) fn depth_now(&mut self, index: usize) -> f64 {
        let pair = &self.state.broad_phase.table.pairs()[index];
        let mut seed = pair.features.seed;
        let displacements = pair.bodies.map(|body| self.partial_displacement(body as usize, 1.0));
        let depth_m = self.depth_at(index, displacements, &mut seed);
        self.state.broad_phase.table.pairs_mut()[index].features.seed = seed;
        depth_m
    }

    /// Whether a depth counts as a collision: it must exceed [`TOUCHING_M`] and the depth at the start of the tick.
    pub(super) fn is_overlap(&self, index: usize, depth_m: f64) -> bool {
        if depth_m <= TOUCHING_M {
            return false;
        }
        let mut seed = self.state.broad_phase.table.pairs()[index].features.seed;
        depth_m > TOUCHING_M + self.depth_at(index, at_start(), &mut seed)
    }

    /// Moves a colliding pair to its impact state and applies one impulse in that state.
    pub(super) fn retreat_and_resolve(&mut self, index: usize, choice: ImpactState, tally: &mut Tally) {
        let bodies = self.state.broad_phase.table.pairs()[index].bodies.map(|body| body as usize);
        let fraction = match choice {
            ImpactState::LimitedSearch | ImpactState::InterStateAsPrinted => self.last_free_fraction(index),
            _ => 0.0,
        };
        let before = bodies.map(|body| self.partial_displacement(body, 1.0));
        for body in bodies {
            self.retreat(body, fraction, choice);
        }
        let after = bodies.map(|body| self.partial_displacement(body, 1.0));
        let lost = [0, 1].map(|i| (before[i].0 - after[i].0, before[i].1 - after[i].1));
        if let Some(hit) = self.closest_point(index, after, lost) {
            self.resolve_at(&hit, tally);
        }
    }

    /// Returns the latest fraction of the tick at which a pair is free, found by [`SEARCH_HALVINGS`] bisections.
    fn last_free_fraction(&self, index: usize) -> f64 {
        let pair = &self.state.broad_phase.table.pairs()[index];
        let (mut free, mut taken) = (0.0, 1.0);
        for _ in 0..SEARCH_HALVINGS {
            let middle = (free + taken) / 2.0;
            let mut seed = pair.features.seed;
            let displacements = pair.bodies.map(|body| self.partial_displacement(body as usize, middle));
            let depth_m = self.depth_at(index, displacements, &mut seed);
            *(if self.is_overlap(index, depth_m) { &mut taken } else { &mut free }) = middle;
        }
        free
    }

    /// Moves a body back to a fraction of its displacement. In the body's first collision of a tick, also sets its
    /// velocity to that of the impact state.
    fn retreat(&mut self, body: usize, fraction: f64, choice: ImpactState) {
        let displacement = self.partial_displacement(body, fraction);
        let (solver_body, body_state) = (&mut self.solver_bodies.all[body], &self.state.bodies[body]);
        (solver_body.displacement, solver_body.rotation_step_rad) = displacement;
        if solver_body.had_impact || solver_body.inverse_mass == 0.0 {
            return;
        }
        solver_body.had_impact = true;
        let time_s = match choice {
            ImpactState::Previous => 0.0,
            ImpactState::LimitedSearch => fraction * TICK_S,
            _ => return,
        };
        solver_body.velocity = body_state.velocity_m_per_s + solver_body.acceleration * time_s;
        solver_body.angular_velocity =
            body_state.angular_velocity_rad_per_s + solver_body.angular_acceleration * time_s;
    }

    /// Returns the collision of a pair displaced by `displacements`, with the present velocities. Its point is the one
    /// that becomes deepest if the bodies move further by `ahead`.
    pub(super) fn closest_point(
        &self,
        index: usize,
        displacements: [Displacement; 2],
        ahead: [Displacement; 2],
    ) -> Option<Hit> {
        let pair = &self.state.broad_phase.table.pairs()[index];
        let reach_m = |which: usize| self.scene.pieces[pair.pieces[which] as usize].reach_m;
        let travel_m = |which: usize| ahead[which].0.norm() + ahead[which].1.abs() * reach_m(which);
        let margin_m = NEAR_M + 2.0 * (travel_m(0) + travel_m(1));
        let (geometry, centres) = self.geometry_at(index, displacements, margin_m)?;
        let mut manifold = Manifold::new(index, pair, &geometry, centres, [0.0; 2]);
        manifold.set_mass(self.solver_bodies);
        let turning = |point: usize| ahead[1].1 * manifold.arm[1][point] - ahead[0].1 * manifold.arm[0][point];
        let gap = |point: usize| manifold.gap_m[point] + turning(point);
        let point = usize::from(manifold.count == 2 && gap(1) < gap(0));
        let solver_bodies = &self.solver_bodies.all;
        let (approach, slip) = (manifold.normal_speed(solver_bodies, point), manifold.slip_speed(solver_bodies));
        Some(Hit { manifold, point, approach, slip, restitution: manifold.restitution })
    }

    /// Applies the impulse of a hit to both bodies and adds it to the tally. Does nothing if the point does not close.
    pub(super) fn resolve_at(&mut self, hit: &Hit, tally: &mut Tally) {
        if hit.approach >= 0.0 {
            return;
        }
        let manifold = &hit.manifold;
        let mass = manifold.uncoupled_mass(&self.solver_bodies.all);
        let (approach, slip, law) = (hit.approach, hit.slip, self.scene.restitution_law);
        let impulse = single(&mass, hit.point, approach, slip, manifold.friction, hit.restitution, law);
        let mut normal = [0.0; 2];
        normal[hit.point] = approach;
        tally.impacts.lost_j -= energy_change(&mass, normal, slip, &impulse);
        tally.impacts.count += 1;
        if self.scene.tool.is_some_and(|tool| manifold.involves(tool.body)) {
            tally.tool_hits += 1;
            tally.tool_normal += impulse.normal[hit.point];
            tally.tool_tangent += impulse.tangent;
        }
        apply(manifold, &impulse, 0.0, self.solver_bodies, None);
    }
}
