//! Counted work of a step. Unlike time, the counts do not depend on the machine, so that the bound on the cost of a
//! tick can be tested: no step does more work of any kind than the worst-case step of its scene.

/// Numbers of operations in one step, for each kind whose number varies from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Rows and entries of the grid over the fixed pieces that look-ups visited.
    pub grid_visits: u32,
    /// Boxes of dynamic pieces that look-ups compared.
    pub box_tests: u32,
    /// Searches for the farthest pair in the full pair table.
    pub searches: u32,
    /// Near pairs whose closest features were tracked.
    pub near_pairs: u32,
    /// Advances towards times of impact, each a distance query.
    pub advances: u32,
    /// Substeps after times of impact, each a collision query.
    pub substeps: u32,
    /// Times at which impacts were resolved, alone or in groups.
    pub impacts: u32,
    /// Relaxations of groups of impacts.
    pub group_relaxations: u32,
    /// Manifolds solved in the sweeps of the contact solve, and the work of events in the same unit.
    pub relaxations: u32,
    /// Manifolds solved in the sweeps of the position correction.
    pub corrections: u32,
}

impl Work {
    /// Returns the name and the number of each kind of operation.
    pub fn counts(&self) -> [(&'static str, u32); 10] {
        [
            ("grid visits", self.grid_visits),
            ("box tests", self.box_tests),
            ("searches", self.searches),
            ("near pairs", self.near_pairs),
            ("advances", self.advances),
            ("substeps", self.substeps),
            ("impacts", self.impacts),
            ("group relaxations", self.group_relaxations),
            ("relaxations", self.relaxations),
            ("corrections", self.corrections),
        ]
    }

    /// Returns the first kind of operation of which there are more than in `bound`, with both numbers.
    pub fn exceeding(&self, bound: &Self) -> Option<(&'static str, u32, u32)> {
        let pairs = self.counts().into_iter().zip(bound.counts());
        pairs.map(|((name, count), (_, most))| (name, count, most)).find(|(_, count, most)| count > most)
    }

    /// Returns the larger number of each kind of operation.
    pub fn max(&self, other: &Self) -> Self {
        Self {
            grid_visits: self.grid_visits.max(other.grid_visits),
            box_tests: self.box_tests.max(other.box_tests),
            searches: self.searches.max(other.searches),
            near_pairs: self.near_pairs.max(other.near_pairs),
            advances: self.advances.max(other.advances),
            substeps: self.substeps.max(other.substeps),
            impacts: self.impacts.max(other.impacts),
            group_relaxations: self.group_relaxations.max(other.group_relaxations),
            relaxations: self.relaxations.max(other.relaxations),
            corrections: self.corrections.max(other.corrections),
        }
    }
}
