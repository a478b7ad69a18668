//! Integration tests of this crate in one binary: one link step instead of one per file.

mod hostile_bytes;
mod round_trip;
mod vectors;
