//! Dynamics of one tick: velocities, coupling, impacts, contact solve, position correction and energy balance.

pub(crate) mod block;
pub(crate) mod contact_solver;
pub(crate) mod coupling;
pub mod energy;
pub mod impact;
pub(crate) mod impact_queue;
pub(crate) mod islands;
pub(crate) mod manifold;
pub(crate) mod policy;
pub(crate) mod position_correction;
pub(crate) mod solver_body;
