//! Live picture of a scene in the terminal: the scene to scale, a caption that describes the hand's activity, and
//! figures of the loop.
//!
//! [`screen`] owns the terminal and restores it. It accepts snapshots at any rate and draws at most 30 pictures per
//! second. Drawing has no side effects: [`frame_builder`] turns snapshots into a [`frame`], [`render`] turns a frame
//! into text, and [`paint`] draws the bodies on a [`canvas`] of braille dots. [`log_lines`] holds back log lines while
//! the picture is shown. [`console`] is the progress bar of a measurement. [`keys`] reads keys, and [`hangup`] notices
//! the loss of the controlling terminal.
//!
//! ```
//! use haptic_draw::view::SceneView;
//! use haptic_loop::report::TickReport;
//! use haptic_loop::snapshot::Snapshot;
//! use haptic_planar::scene::Scene;
//! use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
//! use haptic_realtime::runner::LoopTiming;
//! use haptic_terminal::frame_builder::FrameBuilder;
//! use haptic_terminal::render::render;
//! use ratatui::layout::Rect;
//!
//! let ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.01 });
//! let scene = Scene::build(&SceneDescription { bodies: vec![ball], ..SceneDescription::default() })?;
//! let snapshot = Snapshot { report: TickReport::default(), poses: Vec::new(), contacts: Vec::new() };
//! let mut builder = FrameBuilder::new(SceneView::new(&scene));
//! let frame = builder.observe(&snapshot, &LoopTiming::default(), None);
//! assert_eq!(frame.caption, "this scene has no tool");
//! let picture = render(builder.view(), &frame, Rect::new(0, 0, 80, 24));
//! assert!(picture.content.iter().any(|cell| ("⠁"..="⣿").contains(&cell.symbol())), "the ball has braille dots");
//! # Ok::<(), haptic_planar::scene::SceneError>(())
//! ```
#![forbid(unsafe_code)]

pub mod canvas;
pub mod console;
pub mod frame;
pub mod frame_builder;
pub mod hangup;
pub mod keys;
pub mod log_lines;
pub mod paint;
pub mod render;
pub mod screen;

pub use screen::{Screen, UserAction};
