//! Live picture in the terminal: the scene to scale, a caption that describes the hand's activity, and figures of the
//! loop.
//!
//! [`screen`] owns the terminal and restores it. It accepts snapshots at any rate and draws at most 30 pictures per
//! second. Drawing has no side effects: [`frame_builder`] turns snapshots into a [`frame`], [`render`] turns a frame
//! into text, and [`paint`] draws the bodies on a [`canvas`] of braille dots. [`log_lines`] holds back log lines while
//! the picture is shown.

pub mod canvas;
pub mod frame;
pub mod frame_builder;
pub mod log_lines;
pub mod paint;
pub mod render;
pub mod screen;

pub use screen::{Screen, UserAction};
