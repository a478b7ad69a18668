//! Log lines, written to standard error through `tracing`.

use crate::cli::LogFormat;
use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::{Layer, fmt, layer::SubscriberExt, registry, util::SubscriberInitExt};

/// Target of lines that `RUST_LOG` does not filter: the address of the viewer, the result of a command and the reason
/// for a failure. A filter for log lines must not hide these. The target of any other line is the module that logs it.
pub const USER_TARGET: &str = "hapticd";

/// Format of log lines; unset before logging starts.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Starts logging. `RUST_LOG` selects the lines; the default is `info` and above for `hapticd`, and `warn` and above
/// for other crates.
pub fn start(format: LogFormat) {
    let selected = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,hapticd=info"));
    let filter = selected.or(filter_fn(is_for_user));
    let lines = fmt::layer().with_writer(crate::terminal::log_lines::writer);
    let started = match format {
        LogFormat::Text => {
            registry().with(lines.with_ansi(std::io::stderr().is_terminal()).with_filter(filter)).try_init()
        }
        LogFormat::Json => registry().with(lines.json().with_filter(filter)).try_init(),
    };
    // Only a test can start logging twice in one process; the first logger is then used.
    drop(started);
    let _ = FORMAT.set(format);
}

fn is_for_user(line: &Metadata<'_>) -> bool {
    line.target() == USER_TARGET && *line.level() <= Level::INFO
}

/// Whether log lines are plain text on a terminal, where a person can read them.
pub fn is_read_by_a_person() -> bool {
    FORMAT.get() != Some(&LogFormat::Json) && std::io::stderr().is_terminal()
}
