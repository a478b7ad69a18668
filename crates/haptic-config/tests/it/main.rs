//! Integration tests of this crate, in one binary to save link time.

mod file_errors;
mod generated;
mod includes;
mod keys;
mod mutated_files;
mod reference;
mod scene_keys;
mod schemas;
mod starter;
mod wrong_inputs;
