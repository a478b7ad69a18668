//! Planar rigid bodies for haptics, one millisecond at a time, at a cost that is bounded at load.
#![forbid(unsafe_code)]

/// Version of the physics: raised by every change after which a step computes other bits. Recordings carry it, and a
/// recording of another version is not replayed.
pub const PHYSICS_VERSION: u32 = 1;

mod block;
mod broad;
mod capacity;
mod choices;
pub mod closest;
pub mod contacts;
mod correction;
pub mod decompose;
pub mod description;
pub mod energy;
mod flight;
pub mod grip;
mod hold;
pub mod image;
pub mod impact;
mod impacts;
mod islands;
mod load;
mod manifold;
pub mod mass;
mod narrow;
pub mod nearest;
mod pairs;
pub mod piece;
pub mod polygon;
mod rotation;
pub mod scene;
pub mod seams;
mod solver;
pub mod state;
mod step;
mod sweep;
mod vector;
mod work;
pub mod worst_case;
