//! Remedies for wrong combinations of arguments, and for unknown ones.

use super::Cli;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// Parses the arguments of the program. Prints help, the version or an error with a remedy; the exit code of an error is
/// that of bad input.
///
/// # Errors
/// The exit code, if nothing is left to do.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        // If the message cannot be written, the exit code still tells.
        let _ = error.print();
        if let Some(remedy) = remedy(&error, &std::env::args().collect::<Vec<_>>()) {
            eprintln!("\n{remedy}");
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Returns the remedy for an error in the arguments; `None` if its text has one.
fn remedy(error: &Error, arguments: &[String]) -> Option<String> {
    match error.kind() {
        ErrorKind::ArgumentConflict => Some(remedy_for_conflict(error)),
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            let names = Cli::command().get_subcommands().map(|known| known.get_name().to_owned()).collect::<Vec<_>>();
            let command = arguments.iter().skip(1).find(|word| names.contains(word));
            let command = command.map_or(String::new(), |name| format!(" {name}"));
            Some(format!("remedy: `hapticd{command} --help` lists what can be given"))
        }
        _ => None,
    }
}

fn remedy_for_conflict(error: &Error) -> String {
    let names = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => name.clone(),
        Some(ContextValue::Strings(names)) => names.join(" or "),
        _ => String::new(),
    };
    let (invalid, prior) = (names(ContextKind::InvalidArg), names(ContextKind::PriorArg));
    if invalid == prior || prior.is_empty() {
        return format!("remedy: give {invalid} once");
    }
    format!("remedy: give {invalid} or give {prior}, not both")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy_of(arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = ["hapticd"].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        remedy(&Cli::try_parse_from(&arguments).unwrap_err(), &arguments)
    }

    #[test]
    fn contradictory_flags_are_answered_with_the_flags_to_give() {
        let remedy = remedy_of(&["run", "--no-view", "--view", "127.0.0.1:1"]).unwrap();
        assert!(remedy.contains("give --no-view") && remedy.contains("give --view <ADDRESS>"), "{remedy}");
        assert_eq!(
            remedy_of(&["run", "--seconds", "1", "--seconds", "2"]).unwrap(),
            "remedy: give --seconds <SECONDS> once"
        );
    }

    #[test]
    fn an_unknown_flag_is_answered_with_the_command_that_lists_the_flags() {
        let remedy = remedy_of(&["check", "--zzzzzz"]).unwrap();
        assert_eq!(remedy, "remedy: `hapticd check --help` lists what can be given");
        assert_eq!(remedy_of(&["run", "--second", "1"]), None);
    }
}
