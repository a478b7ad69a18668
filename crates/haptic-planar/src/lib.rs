//! Planar rigid-body simulation for haptic rendering, with a fixed step of one millisecond and a cost bound that is
//! known once the scene is loaded.
//!
//! A [`Scene`](scene::Scene) is constant after loading. A [`State`](state::State) is everything that lasts from tick to
//! tick; a [`Workspace`](workspace::Workspace) is the preallocated scratch memory of a step. The coupling between the
//! hand and the tool is solved inside the step, so any stiffness is stable. The same scene and the same inputs give the
//! same bits on every machine. The equations are in `docs/physics.md`.
//!
//! ```
//! use haptic_planar::input::CouplingInput;
//! use haptic_planar::scene::Scene;
//! use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
//! use haptic_planar::state::State;
//! use haptic_planar::workspace::Workspace;
//! use nalgebra::Vector2;
//!
//! let mut floor = BodyDescription::new("floor", ShapeDescription::Box { size_m: Vector2::new(1.0, 0.02) });
//! floor.fixed = true;
//! let mut tool = BodyDescription::new("tool", ShapeDescription::Disc { radius_m: 0.01 });
//! tool.position_m = Vector2::new(0.0, 0.02);
//! let scene = Scene::build(&SceneDescription {
//!     bodies: vec![floor, tool],
//!     tool: Some(ToolDescription { body: "tool".to_owned(), handle_m: Vector2::zeros(), weightless: false }),
//!     ..SceneDescription::default()
//! })?;
//! let (mut state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
//! // The hand presses 1 mm into the floor for half a second.
//! let hand_m = Vector2::new(0.0, 0.019);
//! let input = CouplingInput {
//!     hand_m,
//!     hand_before_m: hand_m,
//!     stiffness_n_per_m: 800.0,
//!     damping_n_s_per_m: 2.0,
//!     angular_stiffness_n_m_per_rad: 0.0,
//!     angular_damping_n_m_s_per_rad: 0.0,
//!     max_force_n: 5.0,
//!     rail: None,
//! };
//! let mut output = state.advance(&scene, &mut workspace, Some(&input));
//! for _ in 0..500 {
//!     output = state.advance(&scene, &mut workspace, Some(&input));
//! }
//! assert!((output.force_on_hand_n.y - 0.8).abs() < 0.01, "800 N/m × 1 mm");
//! # Ok::<(), haptic_planar::scene::SceneError>(())
//! ```
#![forbid(unsafe_code)]

/// Physics version, raised by every change that makes a step compute different bits. Recordings store it; a recording
/// of another physics version cannot be replayed.
pub const PHYSICS_VERSION: u32 = 9;

pub mod bits;
mod bounds;
pub mod checkpoint;
mod collide;
mod impact_states;
pub mod input;
pub mod math;
pub mod output;
mod placement;
pub mod scene;
pub mod shape;
pub mod solve;
pub mod state;
pub mod step;
pub mod tick;
pub mod work;
pub mod workspace;
