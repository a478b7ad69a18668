//! The period of the simulation. Every bound and gain in this crate is stated for it.

/// Ticks in one second.
pub const TICKS_PER_S: u32 = 1000;
/// One tick, ns.
pub const TICK_NS: u64 = 1_000_000_000 / TICKS_PER_S as u64;
/// One tick, s.
pub const TICK_S: f64 = 0.001;
