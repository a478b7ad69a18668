//! The command line: arguments, output, exit codes.

mod arguments;
mod check;
mod descriptor;
mod files;
mod run;
mod simulate;

use crate::common::stderr;
use serde_json::Value;
use std::process::Output;

const BALL: &str = "[[body]]\nname = \"ball\"\nshape = { disc_radius_m = 0.01 }\nmass_kg = 0.1\n";

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[track_caller]
fn assert_rejected(output: &Output, code: i32, start: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.starts_with(start), "expected the start {start:?}, got {text:?}");
}

#[track_caller]
fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}
