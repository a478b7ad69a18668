//! Device identification and the choice of stable gains.
//!
//! The crate uses no clock, file or terminal: readings go in, forces and estimates come out.
//!
//! - [`excitation`]: forces that excite one axis and keep the handle near its start.
//! - [`measurement`]: the trait of all measurements, with limits of force, speed and travel, and zero force at the end.
//! - [`experiment`]: the excitation of every axis in turn, and its recording.
//! - [`balance`], [`motion`], [`fit`]: the initial guess, the model, and the fit of the model to a recording.
//! - [`encoder`]: the encoder step.
//! - [`estimate`]: the model of one axis with confidence intervals, or the reason why the data do not fit.
//! - [`boundary`]: the maximum stiffness for each damping, by formula, by eigenvalues and by simulation.
//! - [`tapped`], [`ringing`]: the closed loop tapped in virtual time, and the decay of its motion.
//! - [`spring_test`]: the maximum stiffness measured on the device.
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

/// Tick of all measurements, s.
pub const TICK_S: f64 = haptic_planar::scene::TICK_S;
