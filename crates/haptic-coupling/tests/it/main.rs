//! Integration tests of this crate, in one binary to save link time.

mod limit_cycle;
mod ring_down;
