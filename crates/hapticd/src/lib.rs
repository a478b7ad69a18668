//! What the `hapticd` command is made of: reading files, running sessions, writing results.
#![forbid(unsafe_code)]

pub mod files;
