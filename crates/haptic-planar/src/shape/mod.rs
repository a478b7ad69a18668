//! Shapes: convex pieces, their bounding boxes and their closest features.

pub mod aabb;
pub mod closest;
pub(crate) mod features;
pub mod piece;
