//! Planar rigid bodies for haptics, one millisecond at a time, at a cost that is bounded at load.
#![forbid(unsafe_code)]

/// Version of the physics: raised by every change after which a step computes other bits. Recordings carry it, and a
/// recording of another version is not replayed.
pub const PHYSICS_VERSION: u32 = 1;

pub mod bits;
pub mod checkpoint;
mod collide;
mod impact_states;
pub mod input;
pub mod math;
pub mod output;
pub mod scene;
pub mod shape;
pub mod solve;
pub mod state;
pub mod step;
pub mod tick;
pub mod workspace;
