//! Everything that moves, as plain preallocated data.

use crate::collide::broad_phase::BroadPhase;
use crate::math::rotate;
use crate::scene::body_state::BodyState;
use crate::scene::capacity;
use crate::scene::{Body, Scene};
use crate::shape::piece::PlacedPiece;
use crate::solve::contact_solver::Solver;
use crate::solve::energy::EnergyBalance;
use crate::solve::impact_queue::ImpactQueue;
use crate::solve::islands::Islands;
use crate::solve::manifold::Manifold;
use crate::solve::position_correction::Correction;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use nalgebra::Vector2;

/// All that changes from tick to tick, and the working memory of a tick.
#[derive(Clone, Debug)]
pub struct State {
    /// Pose and velocity of each body, in file order.
    pub bodies: Vec<BodyState>,
    /// The energy account.
    pub ledger: EnergyBalance,
    pub(crate) placed: Vec<PlacedPiece>,
    pub(crate) moving: Vec<usize>,
    /// Farthest point of each body from its centre of mass, m.
    pub(crate) radii_m: Vec<f64>,
    /// Share of its displacement that each body may make in this tick.
    pub(crate) shares: Vec<f64>,
    pub(crate) works: SolverBodies,
    pub(crate) broad: BroadPhase,
    pub(crate) manifolds: Vec<Manifold>,
    /// Working state of the moving bodies before the impacts of this tick, to do a tick again.
    pub(crate) saved_bodies: Vec<SolverBody>,
    pub(crate) islands: Islands,
    pub(crate) queue: ImpactQueue,
    pub(crate) solver: Solver,
    pub(crate) correction: Correction,
    pub(crate) capacity: usize,
}

impl State {
    /// The world at its start. Allocates all it will ever need.
    pub fn new(scene: &Scene) -> Self {
        let bodies: Vec<BodyState> = scene.bodies.iter().map(BodyState::at_start).collect();
        let placed: Vec<PlacedPiece> = scene
            .pieces
            .iter()
            .map(|piece| {
                let motion = &bodies[piece.body as usize];
                PlacedPiece::of(piece, motion.centre_m, motion.rotation)
            })
            .collect();
        let capacity = capacity::near_pairs(scene, &placed);
        let count = bodies.len();
        let moving: Vec<usize> = (0..count).filter(|&i| !scene.bodies[i].fixed).collect();
        let works = SolverBodies::new(scene);
        Self {
            ledger: EnergyBalance::default(),
            saved_bodies: moving.iter().map(|&i| works.all[i]).collect(),
            islands: Islands::with_capacity(count),
            shares: vec![1.0; count],
            radii_m: scene.bodies.iter().map(|b| farthest_m(scene, b)).collect(),
            moving,
            works,
            broad: BroadPhase::new(scene, &placed, capacity),
            manifolds: Vec::with_capacity(capacity),
            queue: ImpactQueue::with_capacity(capacity),
            solver: Solver::with_capacity(capacity, count),
            correction: Correction::with_capacity(capacity, count),
            capacity,
            bodies,
            placed,
        }
    }

    /// Most near pairs (and so manifolds) that a tick can have; fixed at load.
    pub fn pair_capacity(&self) -> usize {
        self.capacity
    }

    /// Where the handle is, world, m; zero without a tool.
    pub fn handle_m(&self, scene: &Scene) -> Vector2<f64> {
        scene.tool.map_or_else(Vector2::zeros, |tool| {
            let motion = &self.bodies[tool.body];
            motion.centre_m + rotate(motion.rotation, tool.handle_m)
        })
    }

    /// Origin of a body's frame (not its centre of mass), world, m.
    pub fn origin_m(&self, scene: &Scene, body: usize) -> Vector2<f64> {
        let motion = &self.bodies[body];
        motion.centre_m - rotate(motion.rotation, scene.bodies[body].centre_m)
    }

    /// 64-bit hash of pose and velocity bits of every body in file order, −0 as +0.
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for m in &self.bodies {
            for value in [
                m.centre_m.x,
                m.centre_m.y,
                m.angle_rad,
                m.velocity_m_per_s.x,
                m.velocity_m_per_s.y,
                m.angular_velocity_rad_per_s,
            ] {
                hash = mix(hash, (value + 0.0).to_bits());
            }
        }
        hash
    }
}

fn farthest_m(scene: &Scene, body: &Body) -> f64 {
    scene.pieces[body.pieces.clone()].iter().map(|piece| piece.reach_m).fold(0.0, f64::max)
}

/// One round of a 64-bit mixer: every bit of the word reaches every bit of the hash.
fn mix(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (x >> 32)
}
