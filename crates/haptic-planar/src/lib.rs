//! Planar rigid bodies for haptics, one millisecond at a time, at a cost that is bounded at load.
#![forbid(unsafe_code)]

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
