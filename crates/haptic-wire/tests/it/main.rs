//! Integration tests of this crate in one program: one link step instead of one for each file.

mod hostile_bytes;
mod round_trip;
mod vectors;
