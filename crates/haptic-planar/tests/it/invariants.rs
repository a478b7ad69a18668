//! Invariants that hold in every world: energy, overlap, motion, symmetry and rest. The worlds are generated from
//! consecutive seeds; only worlds that once exceeded a limit are chosen by hand. `cargo run --release -p haptic-planar --example worlds` runs more of
//! them.

mod generate;
mod measure;
mod stack;
mod strike;
mod work;

use crate::common::Lab;
use crate::common::measure::assert_below;
use generate::World;
use measure::{Measured, run};
use nalgebra::vector;

/// Number of worlds in these tests.
const WORLDS: u64 = 200;
/// Fraction of the worlds outside the envelope that can exceed a limit.
const MAX_OUTSIDE: f64 = 0.01;

fn measured() -> Vec<(u64, Measured)> {
    (1..=WORLDS).map(|seed| (seed, run(&World::generate(seed)))).collect()
}

#[test]
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

/// In these crowds, the budget for times of impact runs out before all pairs of fast bodies are examined. The others may
/// move only as far as their gaps are linear.
#[test]
fn bodies_in_a_crowd_do_not_overlap_where_the_budget_runs_out() {
    for seed in [991_568, 70_001_134, 5_002_032] {
        let measured = run(&World::generate(seed));
        assert!(!measured.is_deep(), "seed {seed}: {measured:?}");
    }
}

#[test]
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

/// Row 14: the sweep of the tool covers so many discs that it cannot be looked up completely.
#[test]
fn a_tool_that_is_torn_through_a_dense_field_gains_no_energy_and_misses_no_disc() {
    let mut lab = Lab::new(&work::field(10_000)).gains(800.0, 1.0);
    let (mut turned_over_j, mut overlap_m) = (0.0, 0.0_f64);
    for tick in 0..200 {
        let before = lab.input.hand_m;
        let side = if tick / 50 % 2 == 0 { 0.3 } else { -0.3 };
        let output = lab.hand(vector![side, 0.1 * side]);
        turned_over_j += output.force_on_hand_n.dot(&(lab.input.hand_m - before)).abs();
        overlap_m = overlap_m.max(output.penetration_m);
    }
    assert_eq!(lab.dropped, 0, "near pairs dropped");
    assert_below("energy gain, fraction of the work", lab.gain_j() / turned_over_j, 1e-3);
    assert_below("overlap, m", overlap_m, 3e-4);
}
