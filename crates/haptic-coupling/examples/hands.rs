//! Tries hands on the energy tank.
//!
//! `cargo run --release -p haptic-coupling --example hands` runs hands that try to extract energy, on devices with all
//! combinations of delay, encoder step and gains and with disturbed links, and prints how many of them extracted more
//! than the tank promises. `--ticks 1000000` sets the length of a run, `--seeds 5` the number of seeds of each hand on
//! each device, `--seed 1` the first of them, and `--link 3` selects one of the links. `--friendly` prints instead how
//! much of the force ordinary hands receive.

#[path = "../tests/it/hands/mod.rs"]
mod hands;

use hands::adversary::KINDS;
use hands::device::{Device, Link};
use hands::friendly::{Task, touch};
use hands::{Outcome, Trial, World, run};

const DELAYS_S: [f64; 6] = [0.0, 0.3e-3, 0.7e-3, 1e-3, 1.3e-3, 2e-3];
const STEPS_M: [f64; 3] = [0.0, 10e-6, 50e-6];
const GAINS: [(f64, f64); 5] = [(400.0, 0.1), (1500.0, 0.0), (3750.0, 5.0), (5000.0, 0.0), (5000.0, 5.0)];
const DAMPINGS_N_S_PER_M: [f64; 3] = [0.5, 0.2, 2.0];

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |flag: &str, default: u64| {
        let at = words.iter().position(|word| word == flag);
        at.and_then(|at| words.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    if words.iter().any(|word| word == "--friendly") {
        return print_friendly(number("--seconds", 60) as f64);
    }
    let (ticks, seeds, first) = (number("--ticks", 20_000) as u32, number("--seeds", 1), number("--seed", 1));
    let mut total = Count::default();
    let chosen = number("--link", u64::MAX);
    let is_chosen = |index: usize| chosen == u64::MAX || chosen == index as u64;
    for (_, (name, link, every_ticks)) in links().into_iter().enumerate().filter(|(index, _)| is_chosen(*index)) {
        for delay_s in DELAYS_S {
            for encoder_step_m in STEPS_M {
                let mut count = Count::default();
                for seed in first..first + seeds {
                    let device = Device {
                        damping_n_s_per_m: DAMPINGS_N_S_PER_M[seed as usize % 3],
                        coulomb_n: [0.0, 0.05][seed as usize / 3 % 2],
                        encoder_step_m,
                        delay_s,
                        every_ticks,
                        link,
                    };
                    try_hands(&device, ticks, seed, &mut count);
                }
                println!("{name}, {:.1} ms, {:.0} µm: {count}", delay_s * 1e3, encoder_step_m * 1e6);
                total.add(&count);
            }
        }
    }
    println!("all: {total}");
    std::process::exit(if total.above == 0 && total.wrong == 0 { 0 } else { 1 });
}

fn links() -> [(&'static str, Link, u32); 7] {
    let undisturbed = Link::default();
    [
        ("undisturbed", undisturbed, 1),
        ("varying delay", Link { has_jitter: true, ..undisturbed }, 1),
        ("lost readings", Link { lost: 0.05, has_jitter: true, ..undisturbed }, 1),
        ("late ticks", Link { late: 0.01, ..undisturbed }, 1),
        ("busy writes", Link { busy: 0.02, ..undisturbed }, 1),
        ("every third tick", undisturbed, 3),
        ("all disturbances", Link { has_jitter: true, lost: 0.02, late: 0.005, busy: 0.01 }, 2),
    ]
}

fn try_hands(device: &Device, ticks: u32, seed: u64, count: &mut Count) {
    let springs =
        GAINS.map(|(stiffness_n_per_m, damping_n_s_per_m)| World::Spring { stiffness_n_per_m, damping_n_s_per_m });
    for world in springs.into_iter().chain([World::Lying]) {
        for hand in 0..KINDS {
            let trial = Trial { device: *device, world, hand, ticks, seed: seed * 1000 + hand as u64 };
            count.note(&trial, &run(&trial));
        }
    }
}

/// Hands, and those that broke the promise or showed the account to be wrong.
struct Count {
    hands: u64,
    above: u64,
    wrong: u64,
    excess_j: f64,
    unknown_j: f64,
    lowest_j: f64,
}

impl Default for Count {
    fn default() -> Self {
        let (excess_j, unknown_j) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        Self { hands: 0, above: 0, wrong: 0, excess_j, unknown_j, lowest_j: f64::INFINITY }
    }
}

impl Count {
    fn note(&mut self, trial: &Trial, outcome: &Outcome) {
        let rounding_j = outcome.rounding_j(trial);
        let is_above = outcome.excess_j.max(outcome.uncovered_j) > rounding_j;
        let is_wrong = outcome.unknown_j > rounding_j;
        if is_above || is_wrong {
            println!("  {trial:?}\n  {outcome:?}");
        }
        self.hands += 1;
        self.above += u64::from(is_above);
        self.wrong += u64::from(is_wrong);
        self.excess_j = self.excess_j.max(outcome.excess_j);
        self.unknown_j = self.unknown_j.max(outcome.unknown_j);
        self.lowest_j = self.lowest_j.min(outcome.lowest_j);
    }

    fn add(&mut self, other: &Self) {
        self.hands += other.hands;
        self.above += other.above;
        self.wrong += other.wrong;
        self.excess_j = self.excess_j.max(other.excess_j);
        self.unknown_j = self.unknown_j.max(other.unknown_j);
        self.lowest_j = self.lowest_j.min(other.lowest_j);
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { hands, above, wrong, excess_j, unknown_j, lowest_j } = self;
        write!(
            f,
            "{above} of {hands} above the promise (at most {excess_j:.2e} J), account wrong for {wrong} (at most \
             {unknown_j:.2e} J), lowest level {lowest_j:.2e} J"
        )
    }
}

fn print_friendly(seconds: f64) {
    let devices = [(10e-6, 0.3e-3, 0.05), (10e-6, 0.3e-3, 0.0), (50e-6, 0.3e-3, 0.0), (50e-6, 1e-3, 0.0)];
    for (encoder_step_m, delay_s, coulomb_n) in devices {
        let device = Device {
            damping_n_s_per_m: 0.5,
            coulomb_n,
            encoder_step_m,
            delay_s,
            every_ticks: 1,
            link: Link::default(),
        };
        for (stiffness, damping) in [(400.0, 0.1), (3750.0, 5.0)] {
            print!("{:.0} µm, {:.1} ms, {coulomb_n} N; {stiffness}, {damping}:", encoder_step_m * 1e6, delay_s * 1e3);
            for task in Task::ALL {
                let felt = touch(&device, task, stiffness, damping, seconds);
                let cut = felt.first_cut_s.map_or("never cut".to_owned(), |time_s| format!("cut after {time_s:.1} s"));
                print!("  {task:?} {:.4}, {:.0} N/m, {cut};", felt.passed, felt.stiffness_n_per_m);
            }
            println!();
        }
    }
}
