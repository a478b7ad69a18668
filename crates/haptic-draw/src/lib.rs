//! What pictures of a world have in common, whether a terminal shows them or a file keeps them.
//!
//! - [`view`]: what a scene looks like; worked out once.
//! - [`placement`]: where the bodies are at one instant.
//! - [`outline`]: one outline for a body of several parts.
//! - [`touch`]: what the tool touches.
//! - [`bounds`], [`colour`]: rectangles and colours.
#![forbid(unsafe_code)]

pub mod bounds;
pub mod colour;
pub mod compose;
pub mod drawing;
pub mod labels;
pub mod letters;
pub mod log_plot;
pub mod outline;
pub mod placement;
pub mod png;
pub mod quantity;
pub mod svg;
pub mod touch;
pub mod view;
