//! Scratch memory of one step. No later step depends on its contents. The contacts can be read until the next step.

use crate::collide::broad_phase::LookUps;
use crate::impact_states::Scratch;
use crate::output::Contact;
use crate::scene::Scene;
use crate::scene::description::ImpactState;
use crate::solve::contact_solver::Solver;
use crate::solve::events::Events;
use crate::solve::impact_queue::{ImpactQueue, ImpactTotals};
use crate::solve::islands::Islands;
use crate::solve::manifold::Manifold;
use crate::solve::position_correction::Correction;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::state::State;
use crate::work::Work;

/// Preallocated scratch memory of a step. A step gives the same bits with any workspace that was created for its scene.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) solver_bodies: SolverBodies,
    pub(crate) look_ups: LookUps,
    /// Work of the last step without that of its look-ups.
    pub(crate) work: Work,
    /// Number of linear solves for the free motions of the tool that are left in the present tick.
    pub(crate) solves_left: usize,
    /// Whether any body of the present tick may have moved so far or rotated so much that gaps cannot be extrapolated.
    pub(crate) may_have_curved_motions: bool,
    /// Totals over the impacts of the present tick.
    pub(crate) impacts: ImpactTotals,
    /// Whether the impacts of this tick reached their limit, or those of an island were recomputed without restitution.
    pub(crate) has_unfinished_impacts: bool,
    /// Manifolds of the last step, kept until the next one for [`Self::contacts`].
    pub(crate) manifolds: Vec<Manifold>,
    /// Solver bodies of the dynamic bodies before the impacts, restored if the tick is recomputed.
    pub(crate) saved_bodies: Vec<SolverBody>,
    pub(crate) islands: Islands,
    pub(crate) impact_queue: ImpactQueue,
    pub(crate) events: Events,
    pub(crate) contact_solver: Solver,
    pub(crate) correction: Correction,
    /// Scratch memory of the impact states other than the default one; `None` if the scene uses the default.
    pub(crate) impact_states: Option<Box<Scratch>>,
    /// Piece indices of the near pairs of a forced step; empty for ordinary steps.
    pub(crate) forced_pairs: Vec<[u32; 2]>,
}

impl Workspace {
    /// Preallocates memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        let (bodies, pairs) = (scene.bodies.len(), scene.pair_capacity);
        let solver_bodies = SolverBodies::new(scene);
        let has_scratch = scene.impact_state != ImpactState::InterState;
        Self {
            look_ups: LookUps::new(scene),
            work: Work::default(),
            solves_left: 0,
            may_have_curved_motions: false,
            impacts: ImpactTotals::default(),
            has_unfinished_impacts: false,
            manifolds: Vec::with_capacity(pairs),
            saved_bodies: scene.dynamic_bodies.iter().map(|&body| solver_bodies.all[body]).collect(),
            islands: Islands::with_capacity(bodies),
            impact_queue: ImpactQueue::with_capacity(pairs, bodies),
            events: Events::with_capacity(bodies, pairs),
            contact_solver: Solver::with_capacity(pairs, bodies),
            correction: Correction::with_capacity(pairs, bodies),
            impact_states: has_scratch.then(|| Box::new(Scratch::new(scene))),
            forced_pairs: Vec::new(),
            solver_bodies,
        }
    }

    /// Returns the counted work of the last step. Zero for the impact states other than the default one.
    pub fn work(&self) -> Work {
        let look_ups = &self.look_ups.work;
        Work {
            grid_visits: look_ups.grid_visits,
            box_tests: look_ups.box_tests,
            searches: look_ups.searches,
            ..self.work
        }
    }

    /// Returns the contacts that carried load in the last step of `state`. The impulse of an impact does not count as
    /// load. Real-time: one pass over the manifolds.
    pub fn contacts<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Contact> + 'a {
        self.manifolds.iter().flat_map(move |manifold| {
            (0..manifold.count)
                .filter(|&point| manifold.impulse.normal[point] > 0.0)
                .map(move |point| Contact::new(manifold, point, &state.bodies[manifold.bodies[0]]))
        })
    }
}
