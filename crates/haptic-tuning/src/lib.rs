//! Measuring a device, and choosing the gains that it bears.
//!
//! Nothing here looks at a clock, a file or a terminal: readings go in, forces and estimates come out.
//!
//! - [`excitation`]: which force to give next, so that the device tells what it is and stays where it is.
//! - [`experiment`]: the excitation behind limits of force, speed and travel, over all axes, and what was recorded.
//! - [`balance`], [`motion`], [`fit`]: a first guess, the model, and the fit of the model to a recording.
//! - [`encoder`]: the encoder's step.
//! - [`estimate`]: all of it for one axis, with intervals, or the reason why the data do not fit.
//! - [`boundary`]: the stiffest spring for each damping, by formula, by eigenvalues, and by trying.
//! - [`tapped`], [`ringing`]: trying: the whole loop tapped in virtual time, and whether its motion dies away.
#![forbid(unsafe_code)]

pub mod balance;
pub mod boundary;
pub mod encoder;
pub mod estimate;
pub mod excitation;
pub mod experiment;
pub mod fit;
pub mod motion;
pub mod recording;
pub mod ringing;
pub mod tapped;

/// The tick of all measurements, s.
pub const TICK_S: f64 = haptic_planar::scene::TICK_S;
