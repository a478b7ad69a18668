//! How a running daemon shows that it is well: one line that is kept up to date on a terminal, log lines elsewhere.

use haptic_loop::snapshot::Snapshot;
use haptic_realtime::runner::LoopFigures;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line on a terminal changes.
const LINE_EVERY: Duration = Duration::from_millis(100);
/// How often a log line comes.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// What is shown, and where.
#[derive(Debug)]
pub struct Status {
    manner: Manner,
    shown_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Silent,
    Line,
    Log,
}

impl Status {
    /// A line if standard error is a terminal, log lines otherwise.
    pub fn of_terminal() -> Self {
        let manner = if std::io::stderr().is_terminal() { Manner::Line } else { Manner::Log };
        Self { manner, shown_at: Instant::now() }
    }

    /// Nothing at all.
    pub fn silent() -> Self {
        Self { manner: Manner::Silent, shown_at: Instant::now() }
    }

    /// Shows the newest state, if it is time to.
    pub fn show(&mut self, snapshot: &Snapshot, figures: &LoopFigures) {
        let every = match self.manner {
            Manner::Silent => return,
            Manner::Line => LINE_EVERY,
            Manner::Log => LOG_EVERY,
        };
        if self.shown_at.elapsed() < every {
            return;
        }
        self.shown_at = Instant::now();
        let text = line(snapshot, figures);
        if self.manner == Manner::Log {
            tracing::info!("{text}");
        } else {
            // A terminal that went away does not end the daemon.
            drop(write!(std::io::stderr(), "\r\x1b[K{text}"));
        }
    }

    /// Leaves the terminal at the start of a fresh line.
    pub fn end(&mut self) {
        if self.manner == Manner::Line {
            drop(write!(std::io::stderr(), "\r\x1b[K"));
        }
    }
}

fn line(snapshot: &Snapshot, figures: &LoopFigures) -> String {
    let report = &snapshot.report;
    let seconds = crate::figures::seconds_of(report.tick);
    format!(
        "{seconds:.1} s, {}, force {:.2} N, {} contacts, tank {:.1} mJ; wake p99 {:.0} µs, tick p99 {:.1} µs, {} overruns",
        report.phase.name(),
        report.force_n.norm(),
        report.felt.contacts,
        report.tank_j * 1e3,
        figures.wake.per_mille_ns(990) as f64 / 1e3,
        figures.compute.per_mille_ns(990) as f64 / 1e3,
        figures.overruns,
    )
}
