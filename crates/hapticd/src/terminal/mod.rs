//! The live picture in the terminal: the scene to scale, what the hand feels in words, and the figures of the loop.
//!
//! [`screen`] owns the terminal and leaves it clean; it is given the newest snapshot as often as one likes and shows it
//! at most thirty times a second. Everything behind it is pure: [`watcher`] makes a [`frame`] of snapshots, with a
//! caption from the [`narrator`](crate::follower::narrator), and [`render`] makes text of the frame, on a [`canvas`] of braille dots that
//! [`paint`] draws the bodies on. [`log_lines`] keeps log lines from falling into the picture.

pub mod canvas;
pub mod frame;
pub mod log_lines;
pub mod paint;
pub mod render;
pub mod screen;
pub mod watcher;

pub use screen::{Screen, UserAction};
