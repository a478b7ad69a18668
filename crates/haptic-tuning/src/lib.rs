//! Measuring a device, and choosing the gains that it bears.
//!
//! Nothing here looks at a clock, a file or a terminal: readings go in, forces and estimates come out.
//!
//! - [`excitation`]: which force to give next, so that the device tells what it is and stays where it is.
//! - [`measurement`]: what is common to all that is done with a device: limits of force, speed and travel, zero at the end.
//! - [`experiment`]: the excitation, axis by axis, and what was recorded.
//! - [`balance`], [`motion`], [`fit`]: a first guess, the model, and the fit of the model to a recording.
//! - [`encoder`]: the encoder's step.
//! - [`estimate`]: all of it for one axis, with intervals, or the reason why the data do not fit.
//! - [`boundary`]: the stiffest spring for each damping, by formula, by eigenvalues, and by trying.
//! - [`tapped`], [`ringing`]: trying: the whole loop tapped in virtual time, and whether its motion dies away.
//! - [`spring_test`]: trying on the device itself.
#![forbid(unsafe_code)]

pub mod balance;
pub mod boundary;
pub mod encoder;
pub mod estimate;
pub mod excitation;
pub mod experiment;
pub mod fit;
pub mod measurement;
pub mod motion;
pub mod recording;
pub mod ringing;
pub mod spring_test;
pub mod tapped;

/// The tick of all measurements, s.
pub const TICK_S: f64 = haptic_planar::tick::TICK_S;
