//! Shared by `identify` and `zwidth`: runs measurements, shows their progress and writes their results.
//!
//! The measurements are in `haptic-tuning`. Here are the clock, the terminal and the files: [`drive`] runs a measurement
//! in virtual time or on the wall clock, [`console`] shows a bar and reads keys, [`device_text`] puts measured values
//! into a device file, [`atomic_write`] writes files completely or not at all, and [`region`] draws the region of stable
//! gains on the axes of `haptic_draw::log_plot`.

pub mod atomic_write;
pub mod console;
pub mod device_text;
pub mod drive;
pub mod region;
