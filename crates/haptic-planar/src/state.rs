//! Everything that moves, as plain preallocated data.

use crate::broad::BroadPhase;
use crate::capacity;
use crate::correction::Correction;
use crate::energy::EnergyBalance;
use crate::impacts::ImpactQueue;
use crate::islands::Islands;
use crate::manifold::Manifold;
use crate::piece::{PlacedPiece, rotate};
use crate::scene::Scene;
use crate::solver::Solver;
use crate::work::{SolverBodies, SolverBody};
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

/// Pose and velocity of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Centre of mass, world, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of the angle.
    pub rotation: Vector2<f64>,
    /// Angle, rad, anticlockwise, not wrapped.
    pub angle_rad: f64,
    /// Velocity of the centre of mass, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Spin, rad/s, anticlockwise.
    pub angular_velocity_rad_per_s: f64,
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

fn farthest_m(scene: &Scene, body: &crate::scene::Body) -> f64 {
    scene.pieces[body.pieces.clone()].iter().map(|piece| piece.reach_m).fold(0.0, f64::max)
}

/// One round of a 64-bit mixer: every bit of the word reaches every bit of the hash.
fn mix(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (x >> 32)
}

impl BodyState {
    /// At rest at the origin.
    pub fn at_rest() -> Self {
        Self {
            centre_m: Vector2::zeros(),
            rotation: Vector2::new(1.0, 0.0),
            angle_rad: 0.0,
            velocity_m_per_s: Vector2::zeros(),
            angular_velocity_rad_per_s: 0.0,
        }
    }

    /// The origin of the frame of the body that moves so, world, m, and its motion with the velocity of that point.
    pub fn at_origin(&self, body: &crate::scene::Body) -> (Vector2<f64>, Self) {
        let origin_from_centre = rotate(self.rotation, -body.centre_m);
        let around = Vector2::new(-origin_from_centre.y, origin_from_centre.x) * self.angular_velocity_rad_per_s;
        let origin_m = self.centre_m - rotate(self.rotation, body.centre_m);
        (origin_m, Self { velocity_m_per_s: self.velocity_m_per_s + around, ..*self })
    }

    fn at_start(body: &crate::scene::Body) -> Self {
        let (sin, cos) = libm::sincos(body.angle_rad);
        let rotation = Vector2::new(cos, sin);
        Self {
            centre_m: body.position_m + rotate(rotation, body.centre_m),
            rotation,
            angle_rad: body.angle_rad,
            velocity_m_per_s: body.velocity_m_per_s,
            angular_velocity_rad_per_s: body.angular_velocity_rad_per_s,
        }
    }
}
