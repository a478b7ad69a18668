//! Integration tests of this crate, in one binary to save link time.

mod hostile_bytes;
mod round_trip;
mod vectors;
