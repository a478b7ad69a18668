//! Judges the simulation on random worlds: energy gain, overlap, frozen bodies.
//!
//! `cargo run --release -p haptic-planar --example worlds -- --seed 1 --count 1000` runs the worlds with the seeds 1 to
//! 1000 and prints one line for each and the totals. `--failing` prints only the worlds beyond a limit. With
//! `--strikes` or `--stacks`, symmetric strikes or stacks at rest are run instead. With `--work`, every world is run
//! for 10,000 adversarial ticks, whose counted work is compared with that of the worst-case step.

#[path = "../tests/it/common/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;
#[path = "../tests/it/invariants/generate.rs"]
mod generate;
#[path = "../tests/it/invariants/measure.rs"]
mod measure;
#[path = "../tests/it/invariants/stack.rs"]
mod stack;
#[path = "../tests/it/invariants/strike.rs"]
mod strike;
#[path = "../tests/it/invariants/work.rs"]
mod work;

use generate::World;
use measure::{Measured, run};

/// Number of adversarial ticks of each scene.
const ADVERSARIAL_TICKS: usize = 10_000;

/// Command-line arguments.
struct Arguments {
    seed: u64,
    count: u64,
    only_failing: bool,
    what: Subject,
}

/// Subject of the runs.
#[derive(Clone, Copy)]
enum Subject {
    Worlds,
    Strikes,
    Stacks,
    Work,
}

impl Arguments {
    fn parse() -> Self {
        let words: Vec<String> = std::env::args().collect();
        let number = |flag: &str, default: u64| {
            let at = words.iter().position(|word| word == flag);
            at.and_then(|at| words.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let has = |flag: &str| words.iter().any(|word| word == flag);
        let subjects = [("--strikes", Subject::Strikes), ("--stacks", Subject::Stacks), ("--work", Subject::Work)];
        let what = subjects.into_iter().find(|(flag, _)| has(flag)).map_or(Subject::Worlds, |(_, subject)| subject);
        Self { seed: number("--seed", 1), count: number("--count", 100), only_failing: has("--failing"), what }
    }
}

/// Worlds inside the envelope or outside it, and those of them beyond each limit.
#[derive(Default)]
struct Totals {
    worlds: usize,
    gains: usize,
    deep: usize,
    frozen: usize,
    starved: usize,
    depths_m: Vec<f64>,
    largest_ratio: f64,
}

impl Totals {
    fn add(&mut self, measured: &Measured) {
        self.worlds += 1;
        self.gains += usize::from(measured.gains());
        self.deep += usize::from(measured.is_deep());
        self.frozen += usize::from(measured.freezes());
        self.starved += usize::from(measured.starved > 0);
        self.depths_m.push(measured.depth_m);
        self.largest_ratio = self.largest_ratio.max(measured.gain_ratio());
    }

    fn print(&mut self, name: &str) {
        self.depths_m.sort_by(f64::total_cmp);
        let quantile = |fraction: f64| {
            let last = self.depths_m.len().saturating_sub(1);
            self.depths_m.get((last as f64 * fraction) as usize).map_or(0.0, |depth| depth * 1e3)
        };
        println!(
            "{name}: {} worlds; gain > 1 %: {}; deeper than 1 mm or out of the room: {}; frozen: {}; starved: {}; \
             depth p50/p90/p99/max {:.4}/{:.3}/{:.3}/{:.3} mm; largest gain ratio {:.2e}",
            self.worlds,
            self.gains,
            self.deep,
            self.frozen,
            self.starved,
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(1.0),
            self.largest_ratio,
        );
    }
}

fn main() {
    let arguments = Arguments::parse();
    let creep_um_per_s = |seed| stack::creep_m_per_s(seed) * 1e6;
    match arguments.what {
        Subject::Worlds => run_worlds(&arguments),
        Subject::Strikes => print_each(&arguments, "asymmetry, parts of the speed", 0.01, asymmetry),
        Subject::Stacks => print_each(&arguments, "creep, µm/s", 0.05, creep_um_per_s),
        Subject::Work => run_adversarial(&arguments),
    }
}

fn asymmetry(seed: u64) -> f64 {
    let strike = strike::Strike::generate(seed);
    strike.asymmetry(false).max(strike.asymmetry(true))
}

/// Prints a measurement of every seed, and how many exceed the limit.
fn print_each(arguments: &Arguments, name: &str, limit: f64, measure: impl Fn(u64) -> f64) {
    let (mut exceeding, mut worst) = (0, 0.0_f64);
    for seed in arguments.seed..arguments.seed + arguments.count {
        let measured = measure(seed);
        worst = worst.max(measured);
        exceeding += usize::from(measured > limit);
        if measured > limit || !arguments.only_failing {
            println!("{seed:>7} {measured:.3e}");
        }
    }
    println!("{name}: {exceeding} of {} above {limit}, worst {worst:.3e}", arguments.count);
}

/// Prints the largest counted work of adversarial ticks and the bound: first of a tool among 10,000 fixed discs, then
/// of the worlds.
fn run_adversarial(arguments: &Arguments) {
    let mut exceeding = 0;
    let field = std::iter::once((0, work::field(10_000)));
    let worlds = (arguments.seed..arguments.seed + arguments.count).map(|seed| (seed, work::generated(seed)));
    for (seed, description) in field.chain(worlds) {
        let found = work::run(&description, seed, ADVERSARIAL_TICKS);
        exceeding += usize::from(found.exceeding.is_some());
        if found.exceeding.is_some() || !arguments.only_failing {
            let counts = found.largest.counts().into_iter().zip(found.bound.counts());
            let list: Vec<String> = counts.map(|((name, count), (_, most))| format!("{name} {count}/{most}")).collect();
            println!("{seed:>7} {}{}", list.join(", "), if found.exceeding.is_some() { " EXCEEDS" } else { "" });
        }
    }
    println!("{exceeding} of {} scenes exceed the worst-case step", arguments.count + 1);
}

fn run_worlds(arguments: &Arguments) {
    let mut totals = [Totals::default(), Totals::default()];
    println!(
        "{:>7} {:>3} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>7} {:>4} {:>7} {:>8} notes",
        "seed",
        "env",
        "gain_J",
        "own_J",
        "turned_J",
        "ratio",
        "true_mm",
        "own_mm",
        "frozen",
        "starved",
        "out",
        "felt_N",
        "masses"
    );
    for seed in arguments.seed..arguments.seed + arguments.count {
        let world = World::generate(seed);
        let measured = run(&world);
        totals[usize::from(!measured.is_in_envelope())].add(&measured);
        if !arguments.only_failing
            || measured.gains()
            || measured.is_deep()
            || measured.freezes()
            || measured.starved > 0
        {
            print_line(seed, &world, &measured);
        }
    }
    totals[0].print("inside the envelope");
    totals[1].print("outside");
}

fn print_line(seed: u64, world: &World, measured: &Measured) {
    let name = |body: usize| &world.description.bodies[body].name;
    let (tick, bodies) = measured.deepest;
    let mut notes = String::new();
    if measured.gains() {
        notes += &format!(" GAIN@{}", measured.gain_tick);
    }
    if measured.is_deep() {
        notes += &format!(" DEEP@{tick}:{}/{}", name(bodies[0]), name(bodies[1]));
    }
    if measured.freezes() {
        notes += " FROZEN";
    }
    if measured.pairs_dropped > 0 {
        notes += &format!(" dropped:{}", measured.pairs_dropped);
    }
    if world.description.tool.as_ref().is_some_and(|tool| tool.handle_m != nalgebra::Vector2::zeros()) {
        notes += " off-centre";
    }
    println!(
        "{seed:>7} {:>3} {:>9.2e} {:>9.2e} {:>9.2e} {:>9.2e} {:>8.4} {:>8.4} {:>6} {:>7} {:>4} {:>7.1} {:>8.1}{notes}",
        if measured.is_in_envelope() { "in" } else { "out" },
        measured.gain_j,
        measured.own_gain_j,
        measured.turned_over_j,
        measured.gain_ratio(),
        measured.depth_m * 1e3,
        measured.own_depth_m * 1e3,
        measured.frozen,
        measured.starved,
        measured.escaped,
        measured.felt_n,
        measured.mass_ratio,
    );
}
