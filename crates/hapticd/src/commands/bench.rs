//! `hapticd bench`: measures the cost of a tick in each built-in scene, and how it grows with the number of bodies.

mod generated;

use super::simulate::SimulationRun;
use super::{print_json, print_line};
use crate::cli::BenchArguments;
use crate::failure::Failure;
use crate::figures::ticks_in;
use crate::stopwatch::Stopwatch;
use generated::Generated;
use haptic_config::builtin::SCENES;
use haptic_config::{include, scene};
use haptic_coupling::coupling::Gains;
use haptic_coupling::model::WorstAxisModel;
use haptic_device::{Path, PrescribedDevice};
use haptic_loop::settings::{Safety, Settings};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::state::State;
use haptic_realtime::histogram::Percentiles;
use serde::Serialize;

/// Number of octagons in each generated world of fixed bodies.
const OCTAGONS: [usize; 5] = [15, 100, 1_000, 3_000, 10_000];
/// Number of boxes in each generated pile.
const BOXES: [usize; 4] = [10, 30, 100, 300];

/// A stiff coupling, so that contact forces are high.
const COUPLING: Gains = Gains {
    stiffness_n_per_m: 800.0,
    damping_n_s_per_m: 4.0,
    angular_stiffness_n_m_per_rad: 0.5,
    angular_damping_n_m_s_per_rad: 0.002,
};

/// Cost of a tick in one world.
#[derive(Clone, Debug, Serialize)]
struct Cost {
    name: String,
    bodies: usize,
    ticks: u64,
    contacts_max: u32,
    tick_ns: Percentiles,
}

/// Runs the command.
///
/// # Errors
/// If a world cannot be created or the result cannot be printed.
pub fn bench(arguments: &BenchArguments) -> Result<(), Failure> {
    let ticks = ticks_in(arguments.seconds);
    let mut costs = Vec::new();
    if !arguments.json {
        print_line(&format!(
            "{:<20} {:>7} {:>9} {:>10} {:>10} {:>10}",
            "world", "bodies", "contacts", "p50 ns", "p99 ns", "max ns"
        ))?;
    }
    for (name, session) in sessions() {
        let cost = measure(name, session?, ticks);
        if !arguments.json {
            print_line(&row(&cost))?;
        }
        costs.push(cost);
    }
    if arguments.json { print_json(&serde_json::json!({ "worlds": costs })) } else { Ok(()) }
}

/// Returns the name and the run of each world. Each run is created when the iterator reaches it.
fn sessions() -> impl Iterator<Item = (String, Result<SimulationRun, Failure>)> {
    let built_in = SCENES.entries.iter().map(|(name, _)| ((*name).to_owned(), built_in(name)));
    let fixed = OCTAGONS.iter().map(|&count| (format!("octagons {count}"), generated(generated::octagons(count))));
    let piles = BOXES.iter().map(|&count| (format!("pile {count}"), generated(generated::pile(count))));
    built_in.chain(fixed).chain(piles)
}

fn built_in(name: &str) -> Result<SimulationRun, Failure> {
    let scene = scene::load(&include::open_scene(name, None)?)?;
    let hand = generated::circling(State::new(&scene).handle_m(&scene));
    session(scene, hand)
}

fn generated(world: Generated) -> Result<SimulationRun, Failure> {
    let scene = Scene::build(&world.scene).map_err(|error| Failure::Runtime(error.to_string()))?;
    session(scene, world.hand)
}

/// Creates a run of the complete tick with a prescribed hand and without an engagement ramp.
fn session(scene: Scene, hand: Path) -> Result<SimulationRun, Failure> {
    let device = PrescribedDevice::new(2, hand);
    let safety = Safety { engage_ramp_s: 0.0, ..Safety::default() };
    let settings = Settings { coupling: COUPLING, safety, ..Settings::default() };
    HapticLoop::new(Box::new(device), &WorstAxisModel::default(), World::new(scene), &settings)
        .map(SimulationRun::new)
        .map_err(|error| Failure::Runtime(error.to_string()))
}

fn measure(name: String, mut session: SimulationRun, ticks: u64) -> Cost {
    let mut stopwatch = Stopwatch::start();
    session.advance(ticks, Some(&mut stopwatch));
    let contacts_max = session.summary().contacts_max;
    let bodies = session.rendering().world().scene.bodies.len();
    Cost { name, bodies, ticks, contacts_max, tick_ns: stopwatch.percentiles() }
}

fn row(cost: &Cost) -> String {
    let Cost { name, bodies, contacts_max, tick_ns: Percentiles { p50, p99, max, .. }, .. } = cost;
    format!("{name:<20} {bodies:>7} {contacts_max:>9} {p50:>10} {p99:>10} {max:>10}")
}
