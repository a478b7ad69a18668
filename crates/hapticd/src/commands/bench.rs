//! `hapticd bench`: what a tick costs, scene by scene, and how that grows.

use super::{print_json, print_line};
use crate::cli::BenchArguments;
use crate::failure::Failure;
use crate::files::builtin::SCENES;
use crate::files::profile::{Coupling, Mapping};
use crate::files::scene;
use crate::generated::{self, Generated};
use crate::session::{Frame, Session, grip_of, ticks_in};
use crate::stopwatch::{Percentiles, Stopwatch};
use haptic_planar::scene::Scene;
use haptic_planar::state::State;
use nalgebra::Vector2;
use serde::Serialize;

/// How many fixed octagons the family of fixed bodies has.
const OCTAGONS: [usize; 5] = [15, 100, 1_000, 3_000, 10_000];
/// How many boxes the family of piles has.
const BOXES: [usize; 4] = [10, 30, 100, 300];

/// A stiff coupling, so that contact is worked hard.
const COUPLING: Coupling = Coupling {
    stiffness_n_per_m: 800.0,
    damping_n_s_per_m: 4.0,
    angular_stiffness_n_m_per_rad: 0.5,
    angular_damping_n_m_s_per_rad: 0.002,
};

const MAPPING: Mapping = Mapping {
    scale: 1.0,
    rotation_rad: 0.0,
    offset_m: Vector2::new(0.0, 0.0),
    axis: Vector2::new(1.0, 0.0),
    rail: false,
};

/// The cost of one world.
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
/// When the result cannot be printed.
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

/// The worlds, made one at a time.
fn sessions() -> impl Iterator<Item = (String, Result<Session, Failure>)> {
    let built_in = SCENES.entries.iter().map(|(name, _)| ((*name).to_owned(), built_in(name)));
    let fixed = OCTAGONS.iter().map(|&count| (format!("octagons {count}"), generated(generated::octagons(count))));
    let piles = BOXES.iter().map(|&count| (format!("pile {count}"), generated(generated::pile(count))));
    built_in.chain(fixed).chain(piles)
}

fn built_in(name: &str) -> Result<Session, Failure> {
    let scene = scene::load(&SCENES.open(name, None)?)?;
    let hand = generated::circling(State::new(&scene).handle_m(&scene));
    Ok(Session::new(scene, grip_of(&COUPLING), Some(hand), Frame::new(&MAPPING, 2)))
}

fn generated(world: Generated) -> Result<Session, Failure> {
    let scene = Scene::build(&world.scene).map_err(|error| Failure::WhileRunning(error.to_string()))?;
    Ok(Session::new(scene, grip_of(&COUPLING), Some(world.hand), Frame::new(&MAPPING, 2)))
}

fn measure(name: String, mut session: Session, ticks: u64) -> Cost {
    let mut stopwatch = Stopwatch::start();
    for _ in 0..ticks {
        session.tick();
        stopwatch.lap();
    }
    let contacts_max = session.figures().contacts_max;
    Cost { name, bodies: session.scene().bodies.len(), ticks, contacts_max, tick_ns: stopwatch.percentiles() }
}

fn row(cost: &Cost) -> String {
    let Cost { name, bodies, contacts_max, tick_ns: Percentiles { p50, p99, max, .. }, .. } = cost;
    format!("{name:<20} {bodies:>7} {contacts_max:>9} {p50:>10} {p99:>10} {max:>10}")
}
