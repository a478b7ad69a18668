//! Data of the islands that move from event to event in a tick: their ends, their events and the times at which their
//! pairs meet.

use crate::collide::pair_table::Pair;
use crate::solve::impact_group::{ImpactGroup, MAX_MEMBERS};
use crate::solve::impact_queue::{AT_ONCE_S, ImpactTotals};
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;
use crate::tick::TICK_S;

/// Maximum number of events in one tick.
pub const MAX_EVENTS: usize = 64;

/// Scratch memory for the motion from event to event.
#[derive(Clone, Debug)]
pub struct Events {
    /// Whether any body moves from event to event in this tick.
    pub is_active: bool,
    /// All bodies in file order.
    pub bodies: Vec<EventBody>,
    /// Islands, each at the index of its representative.
    pub islands: Vec<EventIsland>,
    /// Next meeting of each near pair, as far as it is known.
    pub due: Vec<Due>,
    /// Manifolds of the impacts that happen at once.
    pub struck: Vec<Manifold>,
    /// Impacts that happen at once.
    pub group: ImpactGroup,
}

/// What is known about the next meeting of a near pair.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// Time after the start of the tick before which the pair does not meet, s; infinite if it does not meet before its
    /// island ends.
    pub at_s: f64,
    /// Whether the pair meets at this time.
    pub is_meeting: bool,
}

impl Due {
    /// The pair does not meet before its island ends.
    pub const NEVER: Self = Self { at_s: f64::INFINITY, is_meeting: false };

    /// The pair does not meet before `at_s`; it has not been searched farther.
    pub fn not_before(at_s: f64) -> Self {
        Self { at_s, is_meeting: false }
    }
}

/// A body in a tick with events.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventBody {
    /// Representative of the body's island.
    pub root: usize,
    /// Whether the body moves from event to event. Always false for fixed bodies.
    pub is_moving: bool,
    /// Whether the impacts that happen at once strike the body.
    pub is_struck: bool,
    /// Time after the start of the tick up to which the body has moved, s.
    pub time_s: f64,
}

/// An island in a tick with events.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventIsland {
    /// Whether the island moves from event to event.
    pub is_moving: bool,
    /// Time after the start of the tick at which the tick of the island ends, s.
    pub end_s: f64,
    /// Whether the ordinary step takes over if little of the tick is made: a meeting may end in a contact under load,
    /// or is with a body of another island.
    pub needs_contacts: bool,
    /// Number of events so far.
    pub events: u32,
    /// Totals over its impacts.
    pub impacts: ImpactTotals,
}

impl Events {
    /// Preallocates memory for a scene with these numbers of bodies and near pairs.
    pub fn with_capacity(bodies: usize, pairs: usize) -> Self {
        Self {
            is_active: false,
            bodies: vec![EventBody::default(); bodies],
            islands: vec![EventIsland::default(); bodies],
            due: Vec::with_capacity(pairs),
            struck: Vec::with_capacity(MAX_MEMBERS),
            group: ImpactGroup::with_capacity(pairs, bodies),
        }
    }

    /// Puts a body at the start of the tick, in the island of the body `root`, whose tick is that long. `is_moving`
    /// holds for the island of which this body is the representative.
    pub fn start(&mut self, body: usize, root: usize, is_moving: bool) {
        self.bodies[body] = EventBody { root, ..EventBody::default() };
        self.islands[body] = EventIsland { is_moving, end_s: TICK_S, ..EventIsland::default() };
    }

    /// Whether a body moved from event to event in this tick.
    pub fn moved(&self, body: usize) -> bool {
        self.is_active && self.bodies[body].is_moving
    }

    /// Whether all bodies of a pair that are not fixed move from event to event in the island of the body `root`.
    pub fn is_in_island(&self, pair: &Pair, root: usize, solver_bodies: &[SolverBody]) -> bool {
        pair.bodies.iter().all(|&body| {
            let other = &self.bodies[body as usize];
            solver_bodies[body as usize].inverse_mass == 0.0 || (other.is_moving && other.root == root)
        })
    }

    /// Returns the first body of a pair that moves from event to event, or else the second body.
    pub fn moving_body(&self, pair: &Pair) -> usize {
        let [a, b] = pair.bodies.map(|body| body as usize);
        if self.bodies[a].is_moving { a } else { b }
    }

    /// Returns the island of the first body of a pair that moves from event to event.
    pub fn island_of(&mut self, pair: &Pair) -> &mut EventIsland {
        let root = self.bodies[self.moving_body(pair)].root;
        &mut self.islands[root]
    }

    /// Returns the next pair before the end of its island: one that meets or, if others have not been searched up to
    /// the impacts that happen at once with it, the first of these.
    pub fn next(&self, pairs: &[Pair]) -> Option<(usize, Due)> {
        let (mut search, mut meeting) = ((None, Due::NEVER), (None, Due::NEVER));
        for (index, (&due, pair)) in self.due.iter().zip(pairs).enumerate() {
            let first = if due.is_meeting { &mut meeting } else { &mut search };
            if due.at_s < first.1.at_s && due.at_s < self.islands[self.bodies[self.moving_body(pair)].root].end_s {
                *first = (Some(index), due);
            }
        }
        let (index, due) = if search.1.at_s <= meeting.1.at_s + AT_ONCE_S { search } else { meeting };
        index.map(|index| (index, due))
    }

    /// Ends the tick of the island of a moving body at `now_s` or earlier.
    pub fn end_island_of(&mut self, body: usize, now_s: f64) {
        if self.bodies[body].is_moving {
            let island = &mut self.islands[self.bodies[body].root];
            island.end_s = island.end_s.min(now_s);
        }
    }

    /// Ends the tick of each island at the first time up to which a pair is not searched or at which it meets.
    pub fn end_all(&mut self, pairs: &[Pair]) {
        for (index, pair) in pairs.iter().enumerate() {
            self.end_island_of(self.moving_body(pair), self.due[index].at_s);
        }
    }
}
