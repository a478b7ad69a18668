//! Integration tests of this crate, in one binary to save link time.

mod file_errors;
mod includes;
mod mutated_files;
mod scene_keys;
