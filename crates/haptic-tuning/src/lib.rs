//! Device identification and the choice of stable gains.
//!
//! The crate uses no clock, file or terminal. Its inputs are readings; its outputs are forces and estimates.
//!
//! - [`excitation`]: forces that excite one axis while keeping the handle near its start.
//! - [`measurement`]: the trait for all measurements, with limits on force, speed and travel, and zero force at the
//!   end.
//! - [`signed`]: checks the signs of motors and encoders before a measurement.
//! - [`experiment`]: the excitation of each axis in turn, and the recording of its motion.
//! - [`balance`], [`motion`], [`fit`]: the initial guess, the model, and the fit of the model to a recording.
//! - [`encoder`]: the encoder step.
//! - [`estimate`]: the model of one axis with confidence intervals, or the reason why the data do not fit.
//! - [`boundary`]: the maximum stiffness for each damping value, by formula, by eigenvalues and by simulation.
//! - [`tap_test`], [`decay_monitor`]: taps the simulated closed loop and tests whether the motion decays.
//! - [`spring_test`]: measures the maximum stable stiffness on the device.
//!
//! ```
//! use haptic_device::{DeviceModel, SimulatedDevice};
//! use haptic_tuning::estimate::estimate;
//! use haptic_tuning::experiment::Experiment;
//! use haptic_tuning::measurement::{End, MeasurementLimits, run_in_virtual_time};
//!
//! let model = DeviceModel { mass_kg: [0.08; 2], ..DeviceModel::default() };
//! let mut device = SimulatedDevice::new(1, &model, None).expect("a valid model");
//! let mut experiment = Experiment::new(1, &MeasurementLimits { force_n: 2.0, travel_m: 0.02 });
//! assert_eq!(run_in_virtual_time(&mut experiment, &mut device), End::Finished);
//! let axis = estimate(&experiment.recordings()[0]).expect("the motion of a mass with friction");
//! assert!((axis.mass_kg.value - 0.08).abs() < 0.004);
//! ```
#![forbid(unsafe_code)]

pub mod balance;
pub mod boundary;
pub mod decay_monitor;
pub mod encoder;
pub mod estimate;
pub mod excitation;
pub mod experiment;
pub mod fit;
pub mod measurement;
pub mod motion;
pub mod recording;
pub mod signed;
pub mod spring_test;
pub mod tap_test;

/// Duration of a tick in all measurements, s.
pub const TICK_S: f64 = haptic_planar::tick::TICK_S;
