//! The `hapticd` command.

use clap::Parser;
use hapticd::cli::{Cli, LogFormat};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    hapticd::log::start(cli.log_format);
    match hapticd::execute(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match cli.log_format {
                LogFormat::Text => haptic_terminal::log_lines::print(&failure),
                LogFormat::Json => tracing::error!(target: hapticd::log::USER_TARGET, "{failure}"),
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
