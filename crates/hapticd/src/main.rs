//! The `hapticd` command.

use hapticd::cli::{LogFormat, mistakes};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match mistakes::parse() {
        Ok(cli) => cli,
        Err(exit_code) => return exit_code,
    };
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
