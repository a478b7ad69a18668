//! Integration tests of this crate in one program: one link step instead of one for each file.

mod boundary;
mod common;
mod identification;
mod over_a_line;
