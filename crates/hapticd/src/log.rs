//! Log lines, written to standard error through `tracing`.

use crate::cli::LogFormat;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::{Layer, fmt, layer::SubscriberExt, registry, util::SubscriberInitExt};

/// Target of lines that `RUST_LOG` does not filter: the address of the viewer, the result of a command, the files that
/// it wrote, and the reason for a failure. A filter for log lines must not hide these. The target of any other line is the module that logs it.
pub const USER_TARGET: &str = "hapticd";

/// Format of log lines; unset before logging starts.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Lines that are logged unless `RUST_LOG` selects others.
const DEFAULT_FILTER: &str = "warn,hapticd=info";

/// Starts logging. `RUST_LOG` selects the lines by target and level, for example `info,hapticd::daemon=debug`; the
/// default is `warn,hapticd=info`.
pub fn start(format: LogFormat) {
    let filter = selected(std::env::var("RUST_LOG").ok().as_deref()).or(filter_fn(is_for_user));
    let lines = fmt::layer().with_writer(haptic_terminal::log_lines::writer);
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

/// Returns the filter that `text` describes, or the default one without a text or if it is invalid.
fn selected(text: Option<&str>) -> Targets {
    let default = || DEFAULT_FILTER.parse().expect("the default filter is valid");
    text.and_then(|text| text.parse().ok()).unwrap_or_else(default)
}

fn is_for_user(line: &Metadata<'_>) -> bool {
    line.target() == USER_TARGET && *line.level() <= Level::INFO
}

/// Logs that a command has written a file.
pub fn log_written(file: &Path) {
    tracing::info!(target: USER_TARGET, "wrote {}", file.display());
}

/// Whether log lines are plain text on a terminal, where a person can read them.
pub fn is_read_by_a_person() -> bool {
    FORMAT.get() != Some(&LogFormat::Json) && std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_selects_by_target_and_level() {
        let filter = selected(Some("info,hapticd::daemon=debug"));
        assert!(filter.would_enable("hapticd::daemon::supervisor", &Level::DEBUG));
        assert!(filter.would_enable("haptic_view", &Level::INFO));
        assert!(!filter.would_enable("haptic_view", &Level::DEBUG));
        assert!(!selected(Some("off")).would_enable("hapticd", &Level::ERROR));
    }

    #[test]
    fn without_a_filter_or_with_an_invalid_one_the_default_applies() {
        for text in [None, Some("hapticd=loud")] {
            assert!(selected(text).would_enable("hapticd", &Level::INFO), "{text:?}");
            assert!(!selected(text).would_enable("haptic_view", &Level::INFO), "{text:?}");
        }
    }
}
