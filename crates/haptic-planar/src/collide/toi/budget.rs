//! The numbers of advances and substeps that the pairs of a tick share.

use crate::work::Work;

/// Number of advances in a [`ToiBudget`], shared by all pairs. When it is used up, a pair is not followed beyond the
/// time it has reached. A body of a dozen pieces takes an advance for each near pair, and a spinning pair up to
/// [`MAX_ADVANCES`](super::MAX_ADVANCES).
const ADVANCES_PER_TICK: usize = 64;
/// Number of substeps in the [`ToiBudget`] after the impacts, shared by all pairs.
const SUBSTEPS_PER_TICK: usize = 128;
/// Number of poses of pairs that rotate or pass each other in the [`ToiBudget`] before the impacts, shared by all
/// pairs. When it is used up, contacts are those of the start of the tick.
const POSES_PER_TICK: usize = 96;

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
