//! Integration tests of this crate, in one binary to save link time.

mod extraction;
#[allow(dead_code, reason = "the example uses the rest")]
mod hands;
mod limit_cycle;
mod ring_down;
