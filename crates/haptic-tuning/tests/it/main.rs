//! Integration tests of this crate, in one binary to save link time.

mod boundary;
mod common;
mod identification;
mod over_a_line;
