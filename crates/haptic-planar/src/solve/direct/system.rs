//! The linear system of an island and its solution by elimination, one 3×3 block for each pair of coupled manifolds.

use super::matrix::{Matrix, inverse, product, subtract, subtract_multiple, times, transposed};
use crate::collide::warm_start::{BlockImpulse, Loaded, Mode};
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::solve::symmetric::Symmetric3;
use nalgebra::Vector3;

/// Maximum number of loaded manifolds of an island, limited by the bits of a mask.
const MAX_LOADED: usize = 32;
/// Maximum number of other manifolds to which a manifold is linked when it is eliminated. It admits chains and keeps
/// piles away, in which a step would cost more than the sweeps it replaces.
const MAX_DEGREE: u32 = 3;
/// Softness added to each equation, relative to its own compliance, so that the system is never singular.
const SOFTNESS: f64 = 1e-9;
/// The same for an island with more equations than velocities, whose redundant contacts share the load by it. With 1e-9,
/// rounding leaves such an island unsolved more often. The error that it leaves is removed by the next steps.
const SOFTNESS_IF_REDUNDANT: f64 = 1e-7;
/// Maximum number of loaded manifolds of an island with more equations than velocities. In a larger one, such as a pile,
/// the steps fail too often to be worth their cost.
const MAX_REDUNDANT: usize = 8;

/// The linear system of an island: for each loaded manifold, three equations for the changes of its impulses.
#[derive(Clone, Debug)]
pub(super) struct System {
    /// Manifolds that carry load, with their equations.
    pub(super) loaded: Vec<(usize, Equations)>,
    /// For each body, a mask of the loaded manifolds that act on it.
    acting: Vec<u32>,
    /// For each loaded manifold, a mask of the others that act on the same dynamic bodies.
    coupled: [u32; MAX_LOADED],
    /// Loaded manifolds in the order of elimination, each with a mask of those that are linked to it at that time.
    order: Vec<(usize, u32)>,
    /// Blocks of the matrix: the row of block (i, j) is i · `MAX_LOADED` + j.
    blocks: Vec<Matrix>,
    /// Right-hand side, then the solution.
    pub(super) values: [[f64; 3]; MAX_LOADED],
    /// The dynamic body on which all loads act; `None` if there are several.
    pub(super) only_body: Option<usize>,
    /// Softness of the equations of the present island.
    softness: f64,
}

/// The equations of a manifold in its present mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equations {
    /// Whether each point carries load: then its gap must not change beyond its bias; otherwise its impulse is zero.
    pub(super) loaded: [bool; 2],
    /// For a sliding contact, the friction coefficient with the sign of the slip; `None` if it sticks.
    pub(super) slides: Option<f64>,
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
        if !self.loaded[0] {
            block[0] = [0.0; 3];
        }
        if !self.loaded[1] {
            block[1] = [0.0; 3];
        }
        if self.slides.is_some() {
            block[2] = [0.0; 3];
        }
        block
    }

    /// Returns the block of the manifold with itself.
    fn own_block(&self, manifold: &Manifold, softness: f64) -> Matrix {
        let m = &manifold.mass;
        let mut block = self.velocity_rows([[m.n11, m.n12, m.n1t], [m.n12, m.n22, m.n2t], [m.n1t, m.n2t, m.tt]]);
        if let Some(signed_friction) = self.slides {
            block[2] = [signed_friction, signed_friction, 1.0];
        }
        for (row, entries) in block.iter_mut().enumerate() {
            if self.loaded.get(row) == Some(&false) {
                entries[row] = 1.0;
            }
            entries[row] *= 1.0 + softness;
        }
        block
    }

    /// Returns the right-hand side of the manifold's equations.
    pub(super) fn values(&self, manifold: &Manifold, solver_bodies: &SolverBodies) -> [f64; 3] {
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
    pub(super) fn with_capacity(bodies: usize) -> Self {
        Self {
            loaded: Vec::with_capacity(MAX_LOADED),
            acting: vec![0; bodies],
            coupled: [0; MAX_LOADED],
            order: Vec::with_capacity(MAX_LOADED),
            blocks: vec![[[0.0; 3]; 3]; MAX_LOADED * MAX_LOADED],
            values: [[0.0; 3]; MAX_LOADED],
            only_body: None,
            softness: SOFTNESS,
        }
    }

    /// Solves the equations of the loaded manifolds in their present modes and applies the changes of the impulses,
    /// even if they leave the contact law. Returns whether the island is suitable and has a solution; if not, nothing is
    /// changed.
    pub(super) fn step(
        &mut self,
        members: &[u32],
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
    ) -> bool {
        if !self.collect(members, manifolds, solver_bodies) {
            return false;
        }
        if let Some(body) = self.only_body {
            if !self.solve_one_body(body, manifolds, solver_bodies) {
                return false;
            }
        } else {
            if !self.find_order() {
                return false;
            }
            self.assemble(manifolds, solver_bodies);
            self.eliminate();
            self.substitute();
            // With friction, the system can be singular.
            if !self.values[..self.loaded.len()].iter().flatten().all(|value| value.is_finite()) {
                return false;
            }
        }
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

    /// Collects the loaded manifolds, finds which of them are coupled and chooses the softness. Returns false if there
    /// are more than `MAX_LOADED`, or [`MAX_REDUNDANT`] with more equations than velocities.
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
        let (mut velocities, mut dynamic) = (0, 0);
        for (position, &(index, _)) in self.loaded.iter().enumerate() {
            for body in manifolds[index].bodies {
                if solver_bodies.all[body].inverse_mass > 0.0 {
                    velocities += if self.acting[body] == 0 { 3 } else { 0 };
                    self.acting[body] |= 1 << position;
                    dynamic = body;
                }
            }
        }
        self.only_body = (velocities == 3).then_some(dynamic);
        if self.only_body.is_some() {
            return true;
        }
        for (position, &(index, _)) in self.loaded.iter().enumerate() {
            let [a, b] = manifolds[index].bodies;
            self.coupled[position] = (self.acting[a] | self.acting[b]) & !(1 << position);
        }
        let is_redundant = equations > velocities;
        self.softness = if is_redundant { SOFTNESS_IF_REDUNDANT } else { SOFTNESS };
        !is_redundant || self.loaded.len() <= MAX_REDUNDANT
    }

    /// Finds an order of elimination by minimum degree. Returns false if a degree exceeds `MAX_DEGREE`.
    fn find_order(&mut self) -> bool {
        let count = self.loaded.len();
        let mut coupled = self.coupled;
        let mut left = (0..count).fold(0, |mask, position| mask | 1u32 << position);
        self.order.clear();
        for _ in 0..count {
            let Some(position) = least_coupled(&coupled, left) else { return false };
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
            self.blocks[at(i, i)] = own.own_block(manifold, self.softness);
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
                    subtract_multiple(block, 1.0, &change);
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

/// Returns the manifold of a mask with the fewest couplings; `None` if all have more than `MAX_DEGREE`. The search ends
/// at one with a single coupling, the end of a chain.
fn least_coupled(coupled: &[u32; MAX_LOADED], mask: u32) -> Option<usize> {
    let mut best = (None, MAX_DEGREE + 1);
    for position in bits(mask) {
        let degree = coupled[position].count_ones();
        if degree < best.1 {
            best = (Some(position), degree);
            if degree <= 1 {
                break;
            }
        }
    }
    best.0
}

/// Returns the block of K between two manifolds: the change of the velocities of the first by the impulses of the
/// second.
fn coupling(one: &Manifold, other: &Manifold, solver_bodies: &SolverBodies) -> Matrix {
    let mut block = [[0.0; 3]; 3];
    for (side, &body) in one.bodies.iter().enumerate() {
        for (other_side, &other_body) in other.bodies.iter().enumerate() {
            if body == other_body && solver_bodies.all[body].inverse_mass > 0.0 {
                let through_body = match solver_bodies.coupled_inverse(body) {
                    Some(inverse) => coupling_through_tool(inverse, (one, side), (other, other_side)),
                    None => coupling_through(&solver_bodies.all[body], (one, side), (other, other_side)),
                };
                // An impulse on one body acts with the opposite sign on the other.
                subtract_multiple(&mut block, if side == other_side { -1.0 } else { 1.0 }, &through_body);
            }
        }
    }
    block
}

/// Returns the contribution of one shared body to the block that links two manifolds; `side` and `other_side` say which
/// body of each manifold it is.
#[inline]
fn coupling_through(
    body: &SolverBody,
    (one, side): (&Manifold, usize),
    (other, other_side): (&Manifold, usize),
) -> Matrix {
    let (arms, other_arms) = (arms(one, side), arms(other, other_side));
    let (linear, about) = (body.augmented_inverse_mass, body.augmented_inverse_inertia);
    let (nn, nt) = (linear * one.normal.dot(&other.normal), linear * one.normal.dot(&other.tangent));
    let tn = linear * one.tangent.dot(&other.normal);
    // Both frames have the same handedness, so t·t′ = n·n′.
    let row = |arm: f64, normal: f64, tangent: f64| {
        let arm = about * arm;
        [normal + arm * other_arms[0], normal + arm * other_arms[1], tangent + arm * other_arms[2]]
    };
    [row(arms[0], nn, nt), row(arms[1], nn, nt), row(arms[2], tn, nn)]
}

/// Does the same as [`coupling_through`] for a tool whose inverse mass matrix is not diagonal.
fn coupling_through_tool(
    inverse: &Symmetric3,
    (one, side): (&Manifold, usize),
    (other, other_side): (&Manifold, usize),
) -> Matrix {
    let direction = |manifold: &Manifold, arm: f64, row: usize| {
        let axis = if row == 2 { manifold.tangent } else { manifold.normal };
        Vector3::new(axis.x, axis.y, arm)
    };
    let (arms, other_arms) = (arms(one, side), arms(other, other_side));
    let columns: [Vector3<f64>; 3] =
        std::array::from_fn(|column| inverse.times(direction(other, other_arms[column], column)));
    std::array::from_fn(|row| {
        let along = direction(one, arms[row], row);
        columns.map(|column| along.dot(&column))
    })
}

/// Returns the arms of a manifold's three impulses about one of its bodies, m.
#[inline]
fn arms(manifold: &Manifold, side: usize) -> [f64; 3] {
    let [first, second] = manifold.arm[side];
    [first, second, manifold.slip_arm[side]]
}

/// Returns the positions of the ones in a mask, lowest first.
#[inline]
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (position < MAX_LOADED).then_some(position)
    })
}

/// Returns the index of a block.
#[inline]
fn at(row: usize, column: usize) -> usize {
    row * MAX_LOADED + column
}
