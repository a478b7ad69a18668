//! Invariants that hold in every world: energy, overlap, motion, symmetry and rest. The worlds are generated from
//! consecutive seeds; none is chosen by hand. `cargo run --release -p haptic-planar --example worlds` runs more of them.

mod generate;
mod measure;
mod stack;
mod strike;
mod work;

use generate::World;
use measure::{Measured, run};

/// Number of worlds in these tests.
const WORLDS: u64 = 200;
/// Fraction of the worlds outside the envelope that can exceed a limit.
const MAX_OUTSIDE: f64 = 0.01;

fn measured() -> Vec<(u64, Measured)> {
    (1..=WORLDS).map(|seed| (seed, run(&World::generate(seed)))).collect()
}

#[test]
#[ignore = "holds once the cures of rows 2, 6, 8, 15 and 16 are merged"]
fn no_world_gains_energy_overlaps_or_freezes() {
    let all = measured();
    let inside = |one: &&(u64, Measured)| one.1.is_in_envelope();
    let exceeds = |one: &&(u64, Measured)| one.1.gains() || one.1.is_deep();
    let frozen: Vec<_> = all.iter().filter(|one| one.1.freezes()).collect();
    let in_envelope: Vec<_> = all.iter().filter(inside).filter(exceeds).collect();
    let outside: Vec<_> = all.iter().filter(|one| !inside(one)).filter(exceeds).collect();
    assert!(frozen.is_empty(), "frozen: {frozen:?}");
    assert!(in_envelope.is_empty(), "beyond a limit: {in_envelope:?}");
    assert!(outside.len() as f64 <= MAX_OUTSIDE * WORLDS as f64, "outside the envelope: {outside:?}");
}

#[test]
#[ignore = "holds once the cure of row 4 is merged"]
fn symmetric_strikes_stay_symmetric_in_either_file_order() {
    for seed in 1..=60 {
        let strike = strike::Strike::generate(seed);
        for reverse in [false, true] {
            let asymmetry = strike.asymmetry(reverse);
            assert!(asymmetry < 0.01, "seed {seed}, reversed {reverse}: {asymmetry:.3e} of the speed");
        }
    }
}

#[test]
#[ignore = "holds once the cure of row 7 is merged"]
fn stacks_of_equal_boxes_rest() {
    for seed in 1..=20 {
        let creep = stack::creep_m_per_s(seed);
        assert!(creep < 5e-8, "seed {seed}: {creep:.1e} m/s");
    }
}

#[test]
fn no_adversarial_tick_does_more_work_than_the_worst_case_step() {
    let scenes = (1..=10).map(|seed| (work::generated(seed), 2000)).chain([(work::field(10_000), 10_000)]);
    for (index, (description, ticks)) in scenes.enumerate() {
        let found = work::run(&description, index as u64, ticks);
        assert_eq!(found.exceeding, None, "scene {index}: {:?}, bound {:?}", found.largest, found.bound);
    }
}
