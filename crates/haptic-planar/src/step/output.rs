//! The output of a step: force on the hand, contacts, penetration and energy balance.

use super::displacement::motion_reach_m;
use super::worst_case;
use crate::collide::narrow::{Near, PairSide, collide};
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::shape::features::{FeatureCache, FeatureId};
use crate::solve::policy::Policy;
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Error of a reported gap above which it is found in the poses at the end of the tick, m. A gap extrapolated from the
/// start of the tick ignores ½ θ² r, and θ s for a slip by s: the face turns while a corner slides along it. With the
/// reach R of the motion, |θ| R is an upper bound of their sum.
pub(super) const MAX_GAP_ERROR_M: f64 = 5e-6;
/// Motion in one tick above which a reported gap is found in the poses at the end of the tick, m. The contact can be on
/// another face than the one with the least depth, because the contact solve turned the motion for which the face was
/// chosen, or because the two are tilted by up to 0.3 rad against each other.
pub(super) const MAX_LINEAR_MOTION_M: f64 = 1e-3;

/// Writes the output of the step: force on the hand, contacts, penetration and energy balance.
#[inline]
pub(super) fn write_output<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    force_on_tool: Vector2<f64>,
    output: &mut StepOutput,
) {
    let (mut all, mut of_tool) = (ContactTotals::default(), ContactTotals::default());
    let (mut tool_normal, mut tool_tangent) = (0.0, 0.0);
    let any_curved = workspace.may_have_curved_motions && find_curved_motions(scene, workspace) || P::FORCED;
    let bodies = &workspace.solver_bodies.all;
    let tool = scene.tool.map(|tool| tool.body);
    for manifold in &workspace.manifolds {
        let is_curved = any_curved && manifold.bodies.iter().any(|&body| bodies[body].has_curved_motion);
        let mut loaded = 0;
        let mut penetration: f64 = 0.0;
        for point in 0..manifold.count {
            loaded += u32::from(manifold.impulse.normal[point] > 0.0);
            if !is_curved {
                // A plain comparison here and below: a maximum that handles NaN costs three times as much.
                let depth = -manifold.penetration_gap_after(bodies, point);
                if depth > penetration {
                    penetration = depth;
                }
            }
        }
        all.add(loaded, penetration);
        if tool.is_some_and(|tool| manifold.involves(tool)) {
            of_tool.add(loaded, penetration);
            tool_normal += manifold.normal_impulse() / TICK_S;
            tool_tangent += manifold.impulse.tangent / TICK_S;
        }
    }
    if any_curved {
        add_true_penetration::<P>(scene, state, workspace, &mut all, &mut of_tool);
    }
    // Written at once and in place, because it is large.
    *output = StepOutput {
        force_on_hand_n: -force_on_tool,
        tool_contacts: of_tool.loaded,
        tool_penetration_m: of_tool.penetration_m,
        tool_normal_n: tool_normal,
        tool_tangent_n: tool_tangent,
        contacts: all.loaded,
        penetration_m: all.penetration_m,
        impacts: workspace.impacts.count,
        pairs_dropped: workspace.look_ups.dropped,
        energy: state.energy,
    };
}

/// Totals over the contacts of the world or of the tool.
#[derive(Clone, Copy, Default)]
struct ContactTotals {
    /// Number of points that carry load.
    loaded: u32,
    /// Deepest penetration, m, zero or more.
    penetration_m: f64,
}

impl ContactTotals {
    #[inline]
    fn add(&mut self, loaded: u32, penetration_m: f64) {
        self.loaded += loaded;
        if penetration_m > self.penetration_m {
            self.penetration_m = penetration_m;
        }
    }
}

/// Finds the bodies for which a gap at the end of the tick cannot be extrapolated from its start, among them all fast
/// ones: an impact can reverse the motion along which their gaps were found. Returns whether there are any.
#[cold]
fn find_curved_motions(scene: &Scene, workspace: &mut Workspace) -> bool {
    let mut any = false;
    for &body in &scene.dynamic_bodies {
        let moved = &mut workspace.solver_bodies.all[body];
        let reach_m = motion_reach_m(scene, body, moved);
        moved.has_curved_motion =
            moved.is_fast || moved.rotation_step_rad.abs() * reach_m > MAX_GAP_ERROR_M || reach_m > MAX_LINEAR_MOTION_M;
        any |= moved.has_curved_motion;
    }
    any
}

/// Adds the penetration of the near pairs whose motion was curved, found in their poses at the end of the tick.
#[cold]
fn add_true_penetration<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &Workspace,
    all: &mut ContactTotals,
    of_tool: &mut ContactTotals,
) {
    let tool = scene.tool.map(|tool| tool.body);
    for pair in state.broad_phase.table.pairs() {
        let bodies = pair.bodies.map(|body| body as usize);
        if !P::FORCED && !bodies.iter().any(|&body| workspace.solver_bodies.all[body].has_curved_motion) {
            continue;
        }
        let side =
            |which: usize| PairSide::new(pair, which, scene, &state.placed, &state.bodies, (Vector2::zeros(), 0.0));
        let penetration = if P::FORCED {
            worst_case::slowest_penetration_m(&side(0), &side(1))
        } else {
            penetration_m(&side(0), &side(1), pair.features)
        };
        all.add(0, penetration);
        if tool.is_some_and(|tool| bodies.contains(&tool)) {
            of_tool.add(0, penetration);
        }
    }
}

/// Returns the penetration of a pair in its present poses, m: the depth along the face where it is least, not along the
/// face of the last tick.
fn penetration_m(a: &PairSide, b: &PairSide, mut features: FeatureCache) -> f64 {
    features.face = FeatureId::default();
    collide(a, b, &Near::within(0.0), &mut features).map_or(0.0, |geometry| -geometry.apart_m)
}
