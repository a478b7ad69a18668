//! Duration of a tick. Every bound and gain in this crate assumes this duration.

/// Number of ticks per second.
pub const TICKS_PER_S: u32 = 1000;
/// Duration of one tick, ns.
pub const TICK_NS: u64 = 1_000_000_000 / TICKS_PER_S as u64;
/// Duration of one tick, s.
pub const TICK_S: f64 = 0.001;
