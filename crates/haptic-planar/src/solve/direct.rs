//! Direct solve of small islands: the impulses of all loaded manifolds of an island at once.
//!
//! The sweeps of the contact solver converge slowly in a stack, and the error they leave has a bias, so the stack would
//! creep. If the modes of all manifolds are known, the contact law is a linear system. A step solves it for the modes
//! that the last sweep left; the sweep after it finds the next modes. A sweep that changes nothing proves that every
//! manifold satisfies its contact law at the same velocities. If no step reaches this, the island gets back the
//! impulses and velocities it had before, because those of a failed attempt can contain any amount of energy.

use crate::collide::warm_start::{BlockImpulse, Loaded, Mode};
use crate::solve::contact_solver::{Change, EXACT_M_PER_S, relax};
use crate::solve::islands::Islands;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Ordinary;
use crate::solve::solver_body::SolverBodies;
use nalgebra::{Vector2, Vector3};

/// Maximum number of manifolds of an island, loaded or not.
const MAX_MANIFOLDS: usize = 64;
/// Maximum number of loaded manifolds of an island, limited by the bits of a mask.
const MAX_LOADED: usize = 32;
/// Maximum number of steps for one island. An island that needs more is hardly ever solved.
const MAX_STEPS: usize = 6;
/// Maximum number of other manifolds with which a manifold is coupled when it is eliminated. It admits chains and keeps
/// piles away, in which a step would cost more than the sweeps it replaces.
const MAX_DEGREE: u32 = 3;
/// Upper bound of the cost of a step, in sweeps of a forced step over the same manifolds.
const STEP_COST_SWEEPS: usize = 2;
/// Velocity change of the last sweep below which the result of all steps is kept although it is not exact, m/s.
const ACCEPTABLE_M_PER_S: f64 = 1e-6;
/// Softness added to each equation, relative to its own compliance, so that the system is never singular.
const SOFTNESS: f64 = 1e-9;
/// End of a list of manifolds.
const END: u32 = u32::MAX;

/// A 3×3 matrix by rows: first normal, second normal, tangent.
type Matrix = [[f64; 3]; 3];

/// Result of the direct solve of a tick.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Whether every island is solved.
    pub is_solved: bool,
    /// Upper bound of the cost, in sweeps of a forced step over all manifolds.
    pub cost_sweeps: usize,
}

/// Scratch memory of the direct solve.
#[derive(Clone, Debug)]
pub struct DirectSolver {
    islands: Islands,
    /// For each body that represents an island, the first manifold of the island, or `END`.
    first: Vec<u32>,
    /// For each manifold, the next manifold of its island, or `END`.
    next: Vec<u32>,
    /// Manifolds of the present island.
    members: Vec<u32>,
    /// What the members were before the first step.
    saved: Vec<Saved>,
    system: System,
}

/// Impulses of a manifold and velocities of its two bodies.
#[derive(Clone, Copy, Debug)]
struct Saved {
    impulse: BlockImpulse,
    mode: Mode,
    velocities: [(Vector2<f64>, f64); 2],
}

impl DirectSolver {
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            islands: Islands::with_capacity(bodies),
            first: vec![END; bodies],
            next: Vec::with_capacity(manifolds),
            members: Vec::with_capacity(MAX_MANIFOLDS),
            saved: Vec::with_capacity(MAX_MANIFOLDS),
            system: System::with_capacity(bodies),
        }
    }

    /// Solves the islands that are small enough, from impulses that a sweep left. Real-time: one pass over the
    /// manifolds, and for each manifold of a small island at most `MAX_STEPS` steps with a sweep after each.
    pub fn run(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
    ) -> Outcome {
        self.find_islands(manifolds, solver_bodies, dynamic_bodies);
        let mut outcome = Outcome { is_solved: true, cost_sweeps: 0 };
        for &body in dynamic_bodies {
            if self.first[body] == END {
                continue;
            }
            let (is_solved, steps) = if self.gather(body) { self.solve(manifolds, solver_bodies) } else { (false, 0) };
            outcome.is_solved &= is_solved;
            outcome.cost_sweeps = outcome.cost_sweeps.max(1 + steps * (1 + STEP_COST_SWEEPS));
        }
        outcome
    }

    /// Lists the manifolds of each island, in order.
    fn find_islands(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies, dynamic_bodies: &[usize]) {
        self.islands.find(manifolds, &solver_bodies.all, dynamic_bodies);
        for &body in dynamic_bodies {
            self.first[body] = END;
        }
        self.next.clear();
        self.next.resize(manifolds.len(), END);
        for (index, manifold) in manifolds.iter().enumerate().rev() {
            let dynamic = usize::from(solver_bodies.all[manifold.bodies[0]].inverse_mass == 0.0);
            let island = self.islands.root(manifold.bodies[dynamic]);
            self.next[index] = self.first[island];
            self.first[island] = index as u32;
        }
    }

    /// Collects the members of the island that a body represents. Returns whether there are at most `MAX_MANIFOLDS`.
    fn gather(&mut self, body: usize) -> bool {
        self.members.clear();
        let mut index = self.first[body];
        while index != END && self.members.len() < MAX_MANIFOLDS {
            self.members.push(index);
            index = self.next[index as usize];
        }
        index == END
    }

    /// Solves the present island. Returns whether it is solved, and the number of steps made.
    fn solve(&mut self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> (bool, usize) {
        if self.sweep(manifolds, solver_bodies) < EXACT_M_PER_S {
            return (true, 0);
        }
        self.save(manifolds, solver_bodies);
        let mut change = f64::INFINITY;
        for steps in 0..MAX_STEPS {
            if !self.system.step(&self.members, manifolds, solver_bodies) {
                self.restore(manifolds, solver_bodies);
                return (false, steps);
            }
            change = self.sweep(manifolds, solver_bodies);
            if change < EXACT_M_PER_S {
                return (true, steps + 1);
            }
        }
        // Written so that a change that is not a number counts as a failure.
        let is_acceptable = change < ACCEPTABLE_M_PER_S;
        if !is_acceptable {
            self.restore(manifolds, solver_bodies);
        }
        (is_acceptable, MAX_STEPS)
    }

    /// Solves each manifold of the island once; returns the largest change of a velocity, m/s.
    fn sweep(&self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> f64 {
        let mut change = Change::default();
        for &index in &self.members {
            relax::<Ordinary>(&mut manifolds[index as usize], solver_bodies, &mut change);
        }
        change.largest
    }

    fn save(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies) {
        let velocity = |body: usize| (solver_bodies.all[body].velocity, solver_bodies.all[body].angular_velocity);
        self.saved.clear();
        self.saved.extend(self.members.iter().map(|&index| {
            let Manifold { impulse, mode, bodies, .. } = manifolds[index as usize];
            Saved { impulse, mode, velocities: bodies.map(velocity) }
        }));
    }

    fn restore(&self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) {
        for (&index, saved) in self.members.iter().zip(&self.saved) {
            let manifold = &mut manifolds[index as usize];
            (manifold.impulse, manifold.mode) = (saved.impulse, saved.mode);
            for (&body, &(velocity, angular_velocity)) in manifold.bodies.iter().zip(&saved.velocities) {
                let solver_body = &mut solver_bodies.all[body];
                (solver_body.velocity, solver_body.angular_velocity) = (velocity, angular_velocity);
            }
        }
    }
}

/// The linear system of an island: for each loaded manifold, three equations for the changes of its impulses.
#[derive(Clone, Debug)]
struct System {
    /// Manifolds that carry load, with their equations.
    loaded: Vec<(usize, Equations)>,
    /// For each body, a mask of the loaded manifolds that act on it.
    acting: Vec<u32>,
    /// For each loaded manifold, a mask of the others that act on the same dynamic bodies.
    coupled: [u32; MAX_LOADED],
    /// Loaded manifolds in the order of elimination, each with a mask of those that are coupled with it at that time.
    order: Vec<(usize, u32)>,
    /// Blocks of the matrix: the row of block (i, j) is i · `MAX_LOADED` + j.
    blocks: Vec<Matrix>,
    /// Right-hand side, then the solution.
    values: [[f64; 3]; MAX_LOADED],
}

/// The equations of a manifold in its present mode.
#[derive(Clone, Copy, Debug)]
struct Equations {
    /// Whether each point carries load: then its gap must not change beyond its bias; otherwise its impulse is zero.
    loaded: [bool; 2],
    /// For a sliding contact, the friction coefficient with the sign of the slip; `None` if it sticks.
    slides: Option<f64>,
}

impl Equations {
    /// Returns the equations of a manifold; `None` if it carries no load.
    fn new(manifold: &Manifold) -> Option<Self> {
        let (points, slides) = match manifold.mode {
            Mode::Open => return None,
            Mode::Stick(points) => (points, None),
            Mode::SlideForward(points) => (points, Some(manifold.friction)),
            Mode::SlideBack(points) => (points, Some(-manifold.friction)),
        };
        let loaded = [points != Loaded::Second, points != Loaded::First && manifold.count == 2];
        (manifold.impulse != BlockImpulse::default()).then_some(Self { loaded, slides })
    }

    /// Returns the number of equations that prescribe a velocity.
    fn count(&self) -> usize {
        usize::from(self.loaded[0]) + usize::from(self.loaded[1]) + usize::from(self.slides.is_none())
    }

    /// Returns a block of K without the rows of the equations that do not prescribe a velocity.
    fn velocity_rows(&self, mut block: Matrix) -> Matrix {
        for (row, is_velocity) in [self.loaded[0], self.loaded[1], self.slides.is_none()].into_iter().enumerate() {
            if !is_velocity {
                block[row] = [0.0; 3];
            }
        }
        block
    }

    /// Returns the block of the manifold with itself.
    fn own_block(&self, manifold: &Manifold) -> Matrix {
        let m = &manifold.mass;
        let mut block = self.velocity_rows([[m.n11, m.n12, m.n1t], [m.n12, m.n22, m.n2t], [m.n1t, m.n2t, m.tt]]);
        if let Some(signed_friction) = self.slides {
            block[2] = [signed_friction, signed_friction, 1.0];
        }
        for (row, entries) in block.iter_mut().enumerate() {
            if self.loaded.get(row) == Some(&false) {
                entries[row] = 1.0;
            }
            entries[row] *= 1.0 + SOFTNESS;
        }
        block
    }

    /// Returns the right-hand side of the manifold's equations.
    fn values(&self, manifold: &Manifold, solver_bodies: &SolverBodies) -> [f64; 3] {
        let BlockImpulse { normal, tangent } = manifold.impulse;
        let normal_value = |point: usize| {
            if self.loaded[point] {
                -(manifold.normal_speed(&solver_bodies.all, point) + manifold.bias[point])
            } else {
                -normal[point]
            }
        };
        let tangent_value = match self.slides {
            None => -manifold.slip_speed(&solver_bodies.all),
            Some(signed_friction) => -(tangent + signed_friction * (normal[0] + normal[1])),
        };
        [normal_value(0), normal_value(1), tangent_value]
    }
}

impl System {
    fn with_capacity(bodies: usize) -> Self {
        Self {
            loaded: Vec::with_capacity(MAX_LOADED),
            acting: vec![0; bodies],
            coupled: [0; MAX_LOADED],
            order: Vec::with_capacity(MAX_LOADED),
            blocks: vec![[[0.0; 3]; 3]; MAX_LOADED * MAX_LOADED],
            values: [[0.0; 3]; MAX_LOADED],
        }
    }

    /// Solves the equations of the loaded manifolds in their present modes and applies the changes of the impulses,
    /// even if they leave the contact law. Returns whether the island is suitable; if not, nothing is changed.
    fn step(&mut self, members: &[u32], manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> bool {
        if !self.collect(members, manifolds, solver_bodies) || !self.find_order() {
            return false;
        }
        self.assemble(manifolds, solver_bodies);
        self.eliminate();
        self.substitute();
        for (&(index, _), &[first, second, tangent]) in self.loaded.iter().zip(&self.values) {
            let change = BlockImpulse { normal: [first, second], tangent };
            let manifold = &mut manifolds[index];
            manifold.impulse.normal[0] += first;
            manifold.impulse.normal[1] += second;
            manifold.impulse.tangent += tangent;
            manifold.apply_impulse(solver_bodies, &change);
        }
        true
    }

    /// Collects the loaded manifolds and finds which of them are coupled. Returns false if there are more than
    /// `MAX_LOADED`, or more equations than velocities, so that the impulses are not determined.
    fn collect(&mut self, members: &[u32], manifolds: &[Manifold], solver_bodies: &SolverBodies) -> bool {
        self.loaded.clear();
        let mut equations = 0;
        for &index in members {
            let manifold = &manifolds[index as usize];
            let Some(own) = Equations::new(manifold) else { continue };
            if self.loaded.len() == MAX_LOADED {
                return false;
            }
            equations += own.count();
            self.loaded.push((index as usize, own));
            for body in manifold.bodies {
                self.acting[body] = 0;
            }
        }
        let mut velocities = 0;
        for (position, &(index, _)) in self.loaded.iter().enumerate() {
            for body in manifolds[index].bodies {
                if solver_bodies.all[body].inverse_mass > 0.0 {
                    velocities += if self.acting[body] == 0 { 3 } else { 0 };
                    self.acting[body] |= 1 << position;
                }
            }
        }
        for (position, &(index, _)) in self.loaded.iter().enumerate() {
            let [a, b] = manifolds[index].bodies;
            self.coupled[position] = (self.acting[a] | self.acting[b]) & !(1 << position);
        }
        equations <= velocities
    }

    /// Finds an order of elimination by minimum degree. Returns false if a degree exceeds `MAX_DEGREE`.
    fn find_order(&mut self) -> bool {
        let count = self.loaded.len();
        let mut coupled = self.coupled;
        let mut left = (0..count).fold(0, |mask, position| mask | 1u32 << position);
        self.order.clear();
        for _ in 0..count {
            let next = bits(left).min_by_key(|&position| coupled[position].count_ones());
            let Some(position) = next.filter(|&position| coupled[position].count_ones() <= MAX_DEGREE) else {
                return false;
            };
            let others = coupled[position];
            left &= !(1 << position);
            self.order.push((position, others));
            for other in bits(others) {
                coupled[other] = (coupled[other] | others) & left & !(1 << other);
            }
        }
        true
    }

    /// Computes the blocks and the right-hand side.
    fn assemble(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies) {
        for (i, (index, own)) in self.loaded.iter().enumerate() {
            let manifold = &manifolds[*index];
            self.values[i] = own.values(manifold, solver_bodies);
            self.blocks[at(i, i)] = own.own_block(manifold);
            for j in bits(self.coupled[i]).filter(|&j| j > i) {
                let (other_index, other) = &self.loaded[j];
                let coupling = coupling(manifold, &manifolds[*other_index], solver_bodies);
                self.blocks[at(i, j)] = own.velocity_rows(coupling);
                self.blocks[at(j, i)] = other.velocity_rows(transposed(&coupling));
            }
        }
    }

    /// Eliminates the manifolds in order. Leaves the inverse of each pivot in its own block.
    fn eliminate(&mut self) {
        for &(pivot, others) in &self.order {
            let inverse = inverse(&self.blocks[at(pivot, pivot)]);
            self.blocks[at(pivot, pivot)] = inverse;
            let value = self.values[pivot];
            for row in bits(others) {
                let factor = product(&self.blocks[at(row, pivot)], &inverse);
                subtract(&mut self.values[row], &times(&factor, &value));
                for column in bits(others) {
                    let change = product(&factor, &self.blocks[at(pivot, column)]);
                    let block = &mut self.blocks[at(row, column)];
                    if row != column && self.coupled[row] >> column & 1 == 0 {
                        *block = [[0.0; 3]; 3];
                    }
                    for (row, change) in block.iter_mut().zip(&change) {
                        subtract(row, change);
                    }
                }
                self.coupled[row] |= others & !(1 << row);
            }
        }
    }

    /// Computes the solution from the eliminated system, last manifold first.
    fn substitute(&mut self) {
        for &(pivot, others) in self.order.iter().rev() {
            let mut value = self.values[pivot];
            for column in bits(others) {
                subtract(&mut value, &times(&self.blocks[at(pivot, column)], &self.values[column]));
            }
            self.values[pivot] = times(&self.blocks[at(pivot, pivot)], &value);
        }
    }
}

/// Returns the block of K between two manifolds: the change of the velocities of the first by the impulses of the
/// second.
fn coupling(one: &Manifold, other: &Manifold, solver_bodies: &SolverBodies) -> Matrix {
    let mut block = [[0.0; 3]; 3];
    for (side, &body) in one.bodies.iter().enumerate() {
        for (other_side, &other_body) in other.bodies.iter().enumerate() {
            if body != other_body || solver_bodies.all[body].inverse_mass == 0.0 {
                continue;
            }
            let sign = if side == other_side { 1.0 } else { -1.0 };
            let (rows, columns) = (directions(one, side), directions(other, other_side));
            for (entries, &row) in block.iter_mut().zip(&rows) {
                for (entry, &column) in entries.iter_mut().zip(&columns) {
                    *entry += sign * solver_bodies.compliance(body, row, column);
                }
            }
        }
    }
    block
}

/// Returns the generalised directions (x, y, arm) of a manifold's three impulses on one of its bodies.
fn directions(manifold: &Manifold, side: usize) -> [Vector3<f64>; 3] {
    let direction = |axis: Vector2<f64>, arm: f64| Vector3::new(axis.x, axis.y, arm);
    [
        direction(manifold.normal, manifold.arm[side][0]),
        direction(manifold.normal, manifold.arm[side][1]),
        direction(manifold.tangent, manifold.slip_arm[side]),
    ]
}

/// Returns the positions of the ones in a mask, lowest first.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (position < MAX_LOADED).then_some(position)
    })
}

/// Returns the index of a block.
fn at(row: usize, column: usize) -> usize {
    row * MAX_LOADED + column
}

fn subtract(from: &mut [f64; 3], change: &[f64; 3]) {
    for (value, change) in from.iter_mut().zip(change) {
        *value -= change;
    }
}

fn times(a: &Matrix, v: &[f64; 3]) -> [f64; 3] {
    a.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.map(|row| std::array::from_fn(|column| row[0] * b[0][column] + row[1] * b[1][column] + row[2] * b[2][column]))
}

fn transposed(a: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| a[column][row]))
}

/// Returns the inverse by cofactors.
fn inverse(a: &Matrix) -> Matrix {
    let cofactor = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        a[r1][c1] * a[r2][c2] - a[r1][c2] * a[r2][c1]
    };
    let scale = 1.0 / (a[0][0] * cofactor(0, 0) + a[0][1] * cofactor(0, 1) + a[0][2] * cofactor(0, 2));
    std::array::from_fn(|row| std::array::from_fn(|column| scale * cofactor(column, row)))
}
