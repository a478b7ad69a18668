//! Integration tests of this crate, in one binary to save link time.

mod file_errors;
mod mutated_files;
mod wrong_inputs;
