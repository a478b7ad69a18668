//! Integration tests of this crate in one program: one link step instead of one for each file.

mod file_errors;
mod mutated_files;
