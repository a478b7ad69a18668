//! `hapticd schema`: prints the JSON Schema of a kind of file.

use super::print_line;
use crate::cli::SchemaArguments;
use crate::failure::Failure;
use haptic_backends::KINDS;
use haptic_config::schema;

/// Runs the command.
///
/// # Errors
/// If standard output cannot be written.
pub fn schema(arguments: &SchemaArguments) -> Result<(), Failure> {
    let (file, root) = arguments.kind;
    print_line(&format!("{:#}", schema::schema(file, root, KINDS)))
}
