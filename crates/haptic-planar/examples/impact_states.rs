//! Compares the impact states of Chang & Colgate 1997: energy, stuck ticks, friction, pull-off and cost.
//!
//! `cargo run --release -p haptic-planar --example impact_states` prints one table row for each state; `… --example
//! impact_states cost NAME TICKS` only presses the box for this many ticks, for use with an instruction counter.

#[path = "../tests/it/common/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;
#[path = "../tests/it/impact_states/scenarios.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod lab;

use haptic_planar::scene::description::ImpactState;
use lab::*;
use std::time::Instant;

/// Number of ticks over which the cost of a pressed box is averaged.
const PRESSED_TICKS: usize = 1000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "cost") {
        return only_run(&arguments[2..]);
    }
    println!("energy and time:");
    println!("| impact state | ball 10 s | square 10 s | stuck at 1 µm | stuck at 10 nm | µs a pressed tick |");
    println!("|---|---|---|---|---|---|");
    IMPACT_STATES.iter().for_each(|(name, choice)| print_energy(name, *choice));
    for restitution in [0.0, 0.5, 1.0] {
        println!("a pushed box, restitution {restitution}:");
        println!("| impact state | Ft/Fn output | slides mm/s | gain J | overlap mm | pull-off N | small inertia N |");
        println!("|---|---|---|---|---|---|---|");
        IMPACT_STATES.iter().for_each(|(name, choice)| print_feel(name, *choice, restitution));
    }
}

fn print_energy(name: &str, choice: ImpactState) {
    let (ball, square) = (elastic_ball(choice, 10.0), elastic_square(choice, 10.0));
    let start = Instant::now();
    press(choice, PRESSED_TICKS);
    let microseconds = start.elapsed().as_secs_f64() * 1e6 / PRESSED_TICKS as f64;
    println!(
        "| {name} | {:+.3} % | {:+.3} % | {} | {} | {microseconds:.2} |",
        ball.drift * 100.0,
        square.drift * 100.0,
        stuck_ticks(choice, 1e-6),
        stuck_ticks(choice, 1e-8),
    );
}

fn print_feel(name: &str, choice: ImpactState, restitution: f64) {
    let slid = push_and_slide(choice, restitution);
    println!(
        "| {name} | {:.4} | {:.2} | {:.1e} | {:.1e} | {:.3} | {:.3} |",
        slid.ratio,
        slid.speed_m_per_s * 1e3,
        slid.gain_j,
        slid.penetration_m * 1e3,
        pull_off(choice, restitution, 1.0),
        pull_off(choice, restitution, 0.02),
    );
}

fn only_run(arguments: &[String]) {
    let wanted = arguments.first().map_or("inter-state", String::as_str);
    let ticks = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    for (_, choice) in IMPACT_STATES.iter().filter(|(name, _)| *name == wanted) {
        press(*choice, ticks);
    }
}

/// Only presses the box down for this many ticks.
fn press(choice: ImpactState, ticks: usize) {
    press_down(&mut box_on_floor(choice, 0.0, 1.0), ticks);
}
