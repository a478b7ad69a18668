//! Dynamics of one tick: velocities, coupling, impacts, contact solve, position correction and energy balance.

pub(crate) mod block;
pub(crate) mod constrained;
pub(crate) mod contact_solver;
pub(crate) mod contact_work;
pub(crate) mod coupling;
pub(crate) mod direct;
pub mod energy;
pub(crate) mod events;
pub(crate) mod fixed_point;
pub mod impact;
pub(crate) mod impact_group;
pub(crate) mod impact_queue;
pub(crate) mod islands;
pub(crate) mod manifold;
pub(crate) mod policy;
pub(crate) mod position_correction;
pub(crate) mod relaxation;
pub(crate) mod solver_body;
pub(crate) mod symmetric;
