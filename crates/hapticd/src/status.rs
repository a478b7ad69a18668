//! Status of a running daemon: a live picture on a terminal, log lines elsewhere.

use crate::log;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_realtime::runner::LoopTiming;
use haptic_terminal::{Screen, UserAction};
use std::time::{Duration, Instant};

/// Interval between status log lines.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Status output of a running daemon.
pub enum Status {
    /// No output.
    Silent,
    /// The live picture.
    Picture(Box<Screen>),
    /// A log line at regular intervals.
    Log {
        /// Time of the last line.
        logged_at: Instant,
    },
}

impl Status {
    /// Creates the status output: a live picture if there is a terminal, log lines otherwise. The picture shows
    /// `address`, the address of the viewer, if there is one.
    pub fn of_terminal(scene: &Scene, address: Option<String>) -> Self {
        let log = Self::Log { logged_at: Instant::now() };
        match Screen::open(scene, address) {
            Ok(screen) => screen.map_or(log, |screen| Self::Picture(Box::new(screen))),
            Err(error) => {
                tracing::warn!("live picture disabled: {error}");
                log
            }
        }
    }

    /// Replaces the displayed scene.
    pub fn change_scene(&mut self, scene: &Scene) {
        if let Self::Picture(screen) = self {
            screen.change_scene(scene);
        }
    }

    /// Shows the newest state if an update is due, and returns the user's request.
    pub fn show(&mut self, snapshot: &Snapshot, timing: &LoopTiming) -> UserAction {
        match self {
            Self::Silent => UserAction::Continue,
            Self::Picture(screen) => match screen.show(snapshot, timing) {
                Ok(action) => action,
                Err(error) => {
                    *self = Self::Log { logged_at: Instant::now() };
                    tracing::warn!("live picture stopped: {error}");
                    UserAction::Continue
                }
            },
            Self::Log { logged_at } => {
                if logged_at.elapsed() >= LOG_EVERY {
                    *logged_at = Instant::now();
                    tracing::info!("{}", line(snapshot, timing));
                }
                UserAction::Continue
            }
        }
    }
}

/// Prints the final lines regardless of RUST_LOG: as plain text on a terminal, as log lines otherwise.
pub fn conclude(lines: &[String]) {
    let on_terminal = log::is_read_by_a_person();
    for line in lines {
        if on_terminal {
            haptic_terminal::log_lines::print(line);
        } else {
            tracing::info!(target: log::USER_TARGET, "{line}");
        }
    }
}

fn line(snapshot: &Snapshot, timing: &LoopTiming) -> String {
    let report = &snapshot.report;
    let seconds = crate::figures::seconds_of(report.tick);
    format!(
        "{seconds:.1} s, {}, force {:.2} N, {} contacts, tank {:.1} mJ; \
         wake p99 {:.0} µs, tick p99 {:.1} µs, {} overruns",
        report.phase.name(),
        report.force_n.norm(),
        report.felt.contacts,
        report.tank_j * 1e3,
        timing.wake.per_mille_ns(990) as f64 / 1e3,
        timing.compute.per_mille_ns(990) as f64 / 1e3,
        timing.overruns,
    )
}
