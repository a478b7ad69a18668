//! Shows the terminal picture without the daemon, by running a profile in real time on one ordinary thread. Intended
//! for work on the picture itself: `cargo run --example picture [profile [scene]]`.

use haptic_config::setup::Setup;
use haptic_device::MonotonicNs;
use haptic_loop::snapshot::Snapshot;
use haptic_realtime::runner::LoopTiming;
use haptic_terminal::{Screen, UserAction};
use hapticd::cli::InputArguments;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = std::env::args().skip(1);
    let input = InputArguments { profile: names.next(), scene: names.next(), ..InputArguments::default() };
    let setup = Setup::open(&input, None)?;
    let device = setup.simulated_device()?;
    let Some(mut screen) = Screen::open(&setup.scene, None)? else { return Err("this needs a terminal".into()) };
    let mut rendering = setup.into_loop(device)?;
    let mut snapshot = Snapshot::with_capacity_for(rendering.world());
    let mut figures = LoopTiming::default();
    let start = Instant::now();
    while screen.show(&snapshot, &figures)? == UserAction::Continue {
        let due = start.elapsed().as_millis() as u64;
        for tick in snapshot.report.tick + 1..=due {
            let began = Instant::now();
            let report = *rendering.tick(MonotonicNs(tick * 1_000_000), 0);
            figures.compute.record(began.elapsed().as_nanos() as u64);
            snapshot.fill(&report, rendering.world());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
