//! Log lines: through `tracing` to standard error.

use crate::cli::LogFormat;
use tracing_subscriber::EnvFilter;

/// Starts logging; `RUST_LOG` chooses what: by default everything that the daemon tells, of others only warnings.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,hapticd=info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(crate::terminal::log_lines::writer);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // A second start can only come from a test in the same process; the first logger then serves both.
    drop(started);
}
