//! Measuring a device, and choosing the gains that it bears.
//!
//! Nothing here looks at a clock, a file or a terminal: readings go in, forces and estimates come out.
//!
//! - [`excitation`]: which force to give next, so that the device tells what it is and stays where it is.
//! - [`experiment`]: the excitation behind limits of force, speed and travel, over all axes, and what was recorded.
//! - [`balance`], [`motion`], [`fit`]: a first guess, the model, and the fit of the model to a recording.
//! - [`encoder`]: the encoder's step.
//! - [`estimate`]: all of it for one axis, with intervals, or the reason why the data do not fit.
#![forbid(unsafe_code)]

pub mod balance;
pub mod encoder;
pub mod estimate;
pub mod excitation;
pub mod experiment;
pub mod fit;
pub mod motion;
pub mod recording;

/// The tick of all measurements, s.
pub const TICK_S: f64 = haptic_planar::scene::TICK_S;
