//! Planar rigid bodies for haptics, one millisecond at a time, at a cost that is bounded at load.
#![forbid(unsafe_code)]

pub mod closest;
pub mod description;
pub mod energy;
pub mod grip;
pub mod piece;
pub mod scene;
pub mod state;
