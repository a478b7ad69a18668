//! Planar rigid bodies for haptics, one millisecond at a time, at a cost that is bounded at load.
#![forbid(unsafe_code)]

pub mod impact;
pub mod closest;
pub mod decompose;
pub mod description;
pub mod energy;
pub mod grip;
mod load;
pub mod mass;
pub mod nearest;
pub mod piece;
pub mod polygon;
pub mod scene;
pub mod seams;
pub mod state;
