//! No hand extracts more than the tank promises, and ordinary hands lose nothing.

use crate::hands::adversary::KINDS;
use crate::hands::device::{Device, Link};
use crate::hands::friendly::{Task, touch};
use crate::hands::{Trial, World, run};

/// The default device.
const DEVICE: Device = Device {
    damping_n_s_per_m: 0.5,
    coulomb_n: 0.05,
    encoder_step_m: 1e-5,
    delay_s: 0.0003,
    every_ticks: 1,
    link: Link { has_jitter: false, lost: 0.0, late: 0.0, busy: 0.0 },
};

const CRISP: World = World::Spring { stiffness_n_per_m: 3750.0, damping_n_s_per_m: 5.0 };
const STIFF: World = World::Spring { stiffness_n_per_m: 5000.0, damping_n_s_per_m: 0.0 };
const SOFT: World = World::Spring { stiffness_n_per_m: 400.0, damping_n_s_per_m: 0.1 };

/// Number of ticks that each hand has: 1500, or the value of `HAPTICD_EXTRACTION_TICKS` for a longer search.
fn ticks() -> u32 {
    std::env::var("HAPTICD_EXTRACTION_TICKS").ok().and_then(|text| text.parse().ok()).unwrap_or(1500)
}

/// Lets every kind of hand try every world.
fn try_all(device: Device) {
    let ticks = ticks();
    for world in [CRISP, STIFF, SOFT, World::Lying] {
        for hand in 0..KINDS {
            let trial = Trial { device, world, hand, ticks, seed: 7 + hand as u64 };
            let outcome = run(&trial);
            let rounding_j = outcome.rounding_j(&trial);
            assert!(outcome.unknown_j <= rounding_j, "the account is wrong: {outcome:?} for {trial:?}");
            assert!(outcome.excess_j <= rounding_j, "the promise is broken: {outcome:?} for {trial:?}");
            assert!(outcome.uncovered_j <= rounding_j, "a force is not covered: {outcome:?} for {trial:?}");
        }
    }
}

#[test]
fn no_hand_extracts_more_than_was_promised_with_any_delay_and_encoder() {
    for delay_s in [0.0, 0.0003, 0.001, 0.0013, 0.002] {
        for encoder_step_m in [0.0, 1e-5, 5e-5] {
            for coulomb_n in [0.0, 0.05] {
                try_all(Device { delay_s, encoder_step_m, coulomb_n, ..DEVICE });
            }
        }
    }
}

#[test]
fn no_hand_extracts_more_than_was_promised_over_a_disturbed_link() {
    let quiet = DEVICE.link;
    let links = [
        Link { has_jitter: true, ..quiet },
        Link { has_jitter: true, lost: 0.05, ..quiet },
        Link { late: 0.01, ..quiet },
        Link { busy: 0.02, ..quiet },
        Link { has_jitter: true, lost: 0.02, late: 0.005, busy: 0.01 },
    ];
    for link in links {
        for (delay_s, every_ticks) in [(0.0003, 1), (0.002, 1), (0.0007, 3)] {
            try_all(Device { delay_s, every_ticks, link, ..DEVICE });
        }
    }
}

#[test]
fn no_hand_extracts_more_than_was_promised_with_a_very_long_delay() {
    for delay_s in [0.0045, 0.0301, 0.1] {
        try_all(Device { delay_s, damping_n_s_per_m: 2.0, ..DEVICE });
    }
}

#[test]
fn ordinary_hands_lose_nothing_at_passive_gains() {
    for task in Task::ALL {
        let felt = touch(&DEVICE, task, 400.0, 0.1, 60.0);
        assert_eq!((felt.passed, felt.first_cut_s), (1.0, None), "{task:?}: {felt:?}");
        assert!((felt.stiffness_n_per_m - 400.0).abs() < 1.0, "{task:?}: {felt:?}");
    }
}

#[test]
fn ordinary_hands_lose_next_to_nothing_if_one_reading_in_twenty_is_lost() {
    let device = Device { link: Link { lost: 0.05, ..DEVICE.link }, ..DEVICE };
    for task in Task::ALL {
        let felt = touch(&device, task, 300.0, 0.1, 60.0);
        assert!(felt.passed > 0.99, "{task:?}: {felt:?}");
    }
}
