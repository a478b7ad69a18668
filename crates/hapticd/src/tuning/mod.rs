//! Parts shared by `identify` and `zwidth`, which run measurements, show their progress and write the results.
//!
//! The measurements themselves are in `haptic-tuning`. This module adds the clock, the terminal and the files:
//! [`drive`] runs a measurement in virtual time or in real time, [`device_text`] writes measured values into a device
//! file, [`atomic_write`] writes files completely or not at all, and [`region`] draws the region of stable gains.

pub mod atomic_write;
pub mod device_text;
pub mod drive;
pub mod region;
