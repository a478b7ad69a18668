//! Log lines: through `tracing` to standard error.

use crate::cli::LogFormat;
use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// The target of what is told whatever `RUST_LOG` says: where to look, how it went, why it failed. Who asks for fewer log
/// lines does not ask for a command that keeps its answer to itself.
pub const USER_TARGET: &str = "told";

/// How log lines look; unset before logging starts.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Starts logging; `RUST_LOG` chooses what: by default everything that the daemon tells, of others only warnings.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,hapticd=info"));
    let filter = match format!("{USER_TARGET}=info").parse() {
        Ok(always) => filter.add_directive(always),
        Err(_) => filter,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(crate::terminal::log_lines::writer);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // A second start can only come from a test in the same process; the first logger then serves both.
    drop(started);
    let _ = FORMAT.set(format);
}

/// Whether a person reads standard error, and not a program.
pub fn is_read_by_a_person() -> bool {
    FORMAT.get() != Some(&LogFormat::Json) && std::io::stderr().is_terminal()
}
