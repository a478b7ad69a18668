//! The commands, one file each; `snapshot` is in [`crate::still`].

pub mod bench;
pub mod check;
pub mod dead_man;
pub mod descriptor;
pub mod devices;
pub mod doctor;
pub mod emulate;
pub mod export;
pub mod identify;
pub mod install_udev;
pub mod latency;
pub mod new;
pub mod replay;
pub mod report;
pub mod run;
pub mod schema;
pub mod simulate;
pub mod stop;
pub mod zwidth;

use crate::failure::Failure;
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Prints an object as one line of JSON on standard output.
fn print_json(object: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(object).map_err(std::io::Error::from)?;
    print_line(&json)
}

/// Prints text on standard output. A closed pipe, as after `head`, is not an error.
fn print_line(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints a summary, as JSON on standard output or as text on standard error.
fn print_summary(summary: &crate::summary::Summary, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print_json(summary);
    }
    haptic_terminal::log_lines::print(summary);
    Ok(())
}
