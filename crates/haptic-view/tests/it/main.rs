//! Integration tests of this crate, in one binary to save link time.

mod common;
mod exposition;
mod http;
mod stop;
mod stream;
