//! What pictures of a world have in common, whether a terminal shows them or a file keeps them.
//!
//! - [`view`]: what a scene looks like; worked out once.
//! - [`placement`]: where the bodies are at one instant.
//! - [`outline`]: one outline for a body of several parts.
//! - [`touch`]: what the tool touches.
//! - [`bounds`], [`colour`]: rectangles and colours.

pub mod bounds;
pub mod colour;
pub mod outline;
pub mod placement;
pub mod touch;
pub mod view;
