//! Shared by `identify` and `zwidth`: running a measurement, showing its progress, and writing its results.
//!
//! The measuring itself is in `haptic-tuning`. Here are the clock, the terminal and the files: [`drive`] runs a measurement
//! in virtual time or on the wall clock, [`console`] shows a bar and reads keys, [`device_text`] writes measured values
//! into a device file, [`atomic_write`] writes files completely or not at all,
//! and [`region`] is the picture of all stable gains, on axes of `haptic_draw::log_plot`.

pub mod atomic_write;
pub mod console;
pub mod device_text;
pub mod drive;
pub mod region;
