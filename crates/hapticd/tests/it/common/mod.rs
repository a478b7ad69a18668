//! What several tests use.

pub mod daemon;
