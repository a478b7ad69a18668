//! How a running daemon shows that it is well: a live picture on a terminal, log lines elsewhere.

use crate::log;
use crate::terminal::{Screen, UserAction};
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_realtime::runner::LoopTiming;
use std::time::{Duration, Instant};

/// How often a log line comes.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// What is shown, and where.
pub enum Status {
    /// Nothing at all.
    Silent,
    /// The live picture.
    Picture(Box<Screen>),
    /// A log line now and then.
    Log {
        /// When the last one came.
        logged_at: Instant,
    },
}

impl Status {
    /// A picture if there is a terminal for it, with the address of the page if there is one; log lines otherwise.
    pub fn of_terminal(scene: &Scene, address: Option<String>) -> Self {
        let log = Self::Log { logged_at: Instant::now() };
        match Screen::open(scene, address) {
            Ok(screen) => screen.map_or(log, |screen| Self::Picture(Box::new(screen))),
            Err(error) => {
                tracing::warn!("no picture: {error}");
                log
            }
        }
    }

    /// Shows another world from now on.
    pub fn change_scene(&mut self, scene: &Scene) {
        if let Self::Picture(screen) = self {
            screen.change_scene(scene);
        }
    }

    /// Shows the newest state, if it is time to, and tells whether somebody wants the run to end.
    pub fn show(&mut self, snapshot: &Snapshot, figures: &LoopTiming) -> UserAction {
        match self {
            Self::Silent => UserAction::Continue,
            Self::Picture(screen) => match screen.show(snapshot, figures) {
                Ok(wish) => wish,
                Err(error) => {
                    // A terminal that went away does not end the daemon.
                    *self = Self::Log { logged_at: Instant::now() };
                    tracing::warn!("the picture is gone: {error}");
                    UserAction::Continue
                }
            },
            Self::Log { logged_at } => {
                if logged_at.elapsed() >= LOG_EVERY {
                    *logged_at = Instant::now();
                    tracing::info!("{}", line(snapshot, figures));
                }
                UserAction::Continue
            }
        }
    }
}

/// Says something at the end, whatever the log leaves out: plainly to a person, as log lines otherwise.
pub fn conclude(lines: &[String]) {
    let to_person = log::is_read_by_a_person();
    for line in lines {
        if to_person {
            eprintln!("{line}");
        } else {
            tracing::info!(target: log::USER_TARGET, "{line}");
        }
    }
}

fn line(snapshot: &Snapshot, figures: &LoopTiming) -> String {
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
