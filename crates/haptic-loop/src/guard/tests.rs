use super::*;
use haptic_coupling::tank::Passivity;
use haptic_device::{FaultCode, WriteError};
use haptic_testing::Random;

/// Energy that does not depend on height.
fn lively(total_j: f64) -> StoredEnergy {
    StoredEnergy { total_j, height_j: 0.0 }
}

/// Request of a world with ample energy, so that only the limit under test acts.
fn request(x_n: f64) -> ForceRequest {
    ForceRequest { force_n: Vector2::new(x_n, 0.0), stored: lively(10.0), pairs_dropped: 0, periods: 1, offset_j: 0.0 }
}

fn hand(x_m: f64) -> HandReading {
    HandReading { position_m: Some(Vector2::new(x_m, 0.0)), is_new: true, validity: Validity::Good }
}

fn with(validity: Validity) -> HandReading {
    HandReading { validity, ..hand(0.0) }
}

fn bare() -> Safety {
    Safety { engage_ramp_s: 0.0, slew_n_per_s: 0.0, ..Safety::default() }
}

fn guard(safety: &Safety) -> Guard {
    Guard::new(safety, &WorstAxisModel::default(), lively(10.0))
}

/// A guard that has had time to engage.
fn engaged(safety: &Safety) -> Guard {
    let mut guard = guard(safety);
    guard.start_ramp(0.0);
    (0..10_000).for_each(|_| _ = guard.admit(&request(0.0), &hand(0.0)));
    assert_eq!(guard.phase(), Phase::Engaged);
    guard
}

fn every_fault() -> Vec<(ForceRequest, HandReading)> {
    let over_speed = Fault::OverSpeed { speed_m_per_s: 9.0, limit_m_per_s: 3.0 };
    vec![
        (request(2.0), with(Validity::Faulted(Fault::ReadingNotFinite))),
        (request(2.0), with(Validity::Faulted(over_speed))),
        (request(2.0), with(Validity::Faulted(Fault::Lost { silent_s: 0.1 }))),
        (request(2.0), with(Validity::Faulted(Fault::Device(FaultCode::Watchdog)))),
        (request(f64::NAN), hand(0.0)),
        (request(f64::INFINITY), hand(0.0)),
        (ForceRequest { stored: lively(f64::NAN), ..request(2.0) }, hand(0.0)),
        (ForceRequest { pairs_dropped: 3, ..request(2.0) }, hand(0.0)),
        (ForceRequest { periods: 101, ..request(2.0) }, hand(0.0)),
    ]
}

#[test]
fn every_fault_ends_at_zero_in_the_same_tick_and_begins_a_full_engagement() {
    let safety = Safety { engage_ramp_s: 0.5, ..Safety::default() };
    for (request_at_fault, hand_at_fault) in every_fault() {
        let mut guard = engaged(&safety);
        (0..10).for_each(|_| _ = guard.admit(&request(2.0), &hand(0.0)));
        let admission = guard.admit(&request_at_fault, &hand_at_fault);
        assert_eq!(admission.force_n, Vector2::zeros(), "{:?}", admission.fault);
        assert!(admission.fault.is_some() && guard.phase() == Phase::Waiting);
        (0..100).for_each(|_| assert_eq!(guard.admit(&request(0.15), &hand(0.0)).force_n, Vector2::zeros()));
        guard.start_ramp(0.0);
        let ticks_to_full = (1..).find(|_| guard.admit(&request(0.15), &hand(0.0)).force_n.x >= 0.15);
        assert_eq!(ticks_to_full, Some(500), "after {:?}", admission.fault);
        assert_eq!(guard.counters().faults, 1);
    }
}

#[test]
fn a_fault_that_goes_on_is_reported_once_and_another_is_news() {
    let mut guard = engaged(&Safety::default());
    let lost = |silent_s| with(Validity::Faulted(Fault::Lost { silent_s }));
    assert!(guard.admit(&request(0.0), &lost(0.1)).fault.is_some());
    assert!(guard.admit(&request(0.0), &lost(0.2)).fault.is_none());
    assert!(guard.admit(&request(0.0), &with(Validity::Faulted(Fault::ReadingNotFinite))).fault.is_some());
    guard.admit(&request(0.0), &hand(0.0));
    assert!(guard.admit(&request(0.0), &lost(0.3)).fault.is_some());
    assert_eq!(guard.counters().faults, 3);
}

#[test]
fn a_force_that_failed_to_go_out_is_the_next_ticks_fault() {
    let mut guard = engaged(&Safety::default());
    guard.admit(&request(1.0), &hand(0.0));
    guard.acknowledge(WriteOutcome::Failed(WriteError::Os { errno: 5 }));
    let admission = guard.admit(&request(1.0), &hand(0.0));
    assert_eq!(admission.fault, Some(Fault::NotSent(WriteError::Os { errno: 5 })));
    assert_eq!(admission.force_n, Vector2::zeros());
}

#[test]
fn a_handle_that_moved_while_it_was_unplugged_leaves_no_debt() {
    let gone = Validity::Faulted(Fault::Lost { silent_s: 0.1 });
    let mut guard = guard(&bare());
    let still = ForceRequest { stored: lively(0.0), ..request(0.0) };
    guard.admit(&request(1.0), &hand(0.0));
    guard.acknowledge(WriteOutcome::Written);
    for _ in 0..1000 {
        guard.admit(&still, &HandReading { is_new: false, ..with(gone) });
        guard.acknowledge(WriteOutcome::Failed(WriteError::NotConnected));
    }
    guard.admit(&still, &hand(0.05));
    assert!(guard.tank_j() >= 0.0, "{} J", guard.tank_j());
}

#[test]
fn a_force_that_found_the_link_busy_leaves_the_last_one_on_account() {
    let mut guard = guard(&Safety { slew_n_per_s: 1000.0, ..bare() });
    guard.admit(&request(0.5), &hand(0.0));
    guard.acknowledge(WriteOutcome::Written);
    guard.admit(&request(3.0), &hand(0.0));
    guard.acknowledge(WriteOutcome::Busy);
    let next_n = guard.admit(&request(3.0), &hand(0.0)).force_n.x;
    assert!((next_n - 1.5).abs() < 1e-12, "the rise starts at what the device still gives: {next_n}");
}

#[test]
fn a_link_that_stays_busy_interrupts_the_force_which_then_returns_over_50_ms() {
    let mut guard = engaged(&Safety::default());
    let mut tick = |sent| {
        let force_n = guard.admit(&request(1.0), &hand(0.0)).force_n.x;
        guard.acknowledge(sent);
        (force_n, guard.phase())
    };
    tick(WriteOutcome::Written);
    for busy in 1..=20 {
        let (force_n, phase) = tick(WriteOutcome::Busy);
        assert_eq!((force_n > 0.0, phase == Phase::Engaged), (busy <= 5, busy <= 5), "{busy} ticks");
    }
    assert_eq!(tick(WriteOutcome::Written).0, 0.0, "the tick whose force is sent again");
    let forces: Vec<f64> = (0..50).map(|_| tick(WriteOutcome::Written).0).collect();
    assert!(forces[0] < 0.03 && (forces[24] - 0.5).abs() < 0.03 && forces[49] > 0.99, "{forces:?}");
}

#[test]
fn late_ticks_in_a_row_are_a_fault_and_single_ones_are_not() {
    let mut guard = engaged(&Safety::default());
    let late = ForceRequest { periods: 2, ..request(0.0) };
    for _ in 0..100 {
        assert!(guard.admit(&late, &hand(0.0)).fault.is_none());
        assert!(guard.admit(&request(0.0), &hand(0.0)).fault.is_none());
    }
    let first = (1..100).find(|_| guard.admit(&late, &hand(0.0)).fault.is_some());
    assert_eq!(first, Some(OVERRUNS_IN_A_ROW));
}

#[test]
fn a_stale_reading_gives_no_force_that_tick_and_it_is_back_in_50_ms() {
    let mut guard = engaged(&Safety { slew_n_per_s: 0.0, ..Safety::default() });
    assert_eq!(guard.admit(&request(2.0), &hand(0.0)).force_n.x, 2.0);
    let stale = guard.admit(&request(2.0), &with(Validity::Stale));
    assert_eq!((stale.force_n, stale.fault, guard.counters().stale), (Vector2::zeros(), None, 1));
    for tick in 1..=50 {
        let force_n = guard.admit(&request(2.0), &hand(0.0)).force_n.x;
        assert!((force_n - 2.0 * f64::from(tick) / 50.0).abs() < 1e-12, "{tick}: {force_n}");
    }
}

#[test]
fn the_clamp_keeps_the_direction_and_counts() {
    let mut guard = guard(&bare());
    let far = ForceRequest { force_n: Vector2::new(30.0, -40.0), ..request(0.0) };
    let force_n = guard.admit(&far, &hand(0.0)).force_n;
    assert!((force_n - Vector2::new(2.4, -3.2)).norm() < 1e-12);
    assert_eq!(guard.counters().clamped, 1);
}

#[test]
fn the_smaller_of_the_profiles_and_the_devices_limit_holds() {
    let weak = WorstAxisModel { max_force_n: 1.5, ..WorstAxisModel::default() };
    let mut guard = Guard::new(&bare(), &weak, lively(10.0));
    assert!((guard.admit(&request(9.0), &hand(0.0)).force_n.x - 1.5).abs() < 1e-12);
}

#[test]
fn a_rise_is_limited_and_a_fall_is_not() {
    let mut guard = guard(&Safety { slew_n_per_s: 500.0, ..bare() });
    for tick in 1..=6 {
        let force_n = guard.admit(&request(3.0), &hand(0.0)).force_n.x;
        assert!((force_n - 0.5 * f64::from(tick)).abs() < 1e-12);
    }
    assert!((guard.admit(&request(0.1), &hand(0.0)).force_n.x - 0.1).abs() < 1e-12);
    guard.admit(&request(0.5), &hand(0.0));
    let reversed_n = guard.admit(&request(-3.0), &hand(0.0)).force_n.x;
    assert!((reversed_n + 0.5).abs() < 1e-12, "through zero at once, then the rise counts: {reversed_n}");
}

#[test]
fn no_tick_of_any_world_rises_faster_than_the_slew() {
    let slew = Safety { slew_n_per_s: 300.0, ..bare() };
    let mut guard = guard(&slew);
    let mut last_n = Vector2::zeros();
    for tick in 0..10_000 {
        let phase = f64::from(tick) * 0.7;
        let force_n = Vector2::new(phase.sin(), (1.3 * phase).cos()) * 5.0;
        let given_n = guard.admit(&ForceRequest { force_n, ..request(0.0) }, &hand(0.0)).force_n;
        assert!(given_n.norm() - last_n.norm() <= 0.3 + 1e-12);
        let turned = (given_n - project_onto_segment(last_n, given_n)).norm();
        assert!(turned <= 0.3 + 1e-12, "{turned}");
        last_n = given_n;
    }
}

#[test]
fn the_tank_has_the_last_word_even_over_a_force_that_all_else_allows() {
    let mut guard = Guard::new(&bare(), &WorstAxisModel::default(), lively(0.0));
    let empty = ForceRequest { stored: lively(0.0), ..request(3.0) };
    let force_n = guard.admit(&empty, &hand(0.0)).force_n.x;
    let counted = 0.5 * 0.0005 / 0.0008;
    assert!((force_n - (4.0 * counted * RESERVE_J / TICK_S).sqrt()).abs() < 1e-12);
    assert_eq!(guard.counters().cut, 1);
}

#[test]
fn a_tool_held_still_keeps_its_weight() {
    let weight_n = Vector2::new(0.0, -0.981);
    let stored = StoredEnergy { total_j: 0.49, height_j: 0.489 };
    let held = ForceRequest { force_n: weight_n, stored, ..request(0.0) };
    let mut guard = Guard::new(&Safety { engage_ramp_s: 0.2, ..Safety::default() }, &WorstAxisModel::default(), stored);
    guard.set_load(weight_n);
    guard.start_ramp(0.0);
    (0..1000).for_each(|_| _ = guard.admit(&held, &hand(0.01)));
    for _ in 0..100_000 {
        assert_eq!(guard.admit(&held, &hand(0.01)).force_n, weight_n);
    }
}

#[test]
fn a_ball_that_strikes_a_still_hand_is_felt() {
    let stored = lively(0.5 * 0.05 * 1.0);
    let mut guard = Guard::new(&bare(), &WorstAxisModel::default(), stored);
    (0..1000).for_each(|_| _ = guard.admit(&ForceRequest { stored, ..request(0.0) }, &hand(0.0)));
    let force_n = guard.admit(&ForceRequest { stored, ..request(-3.0) }, &hand(0.0)).force_n.x;
    assert_eq!(force_n, -3.0);
}

#[test]
fn what_the_hand_did_not_get_is_booked() {
    let mut guard = guard(&Safety { engage_ramp_s: 10.0, ..Safety::default() });
    (0..5).for_each(|_| _ = guard.admit(&request(1.0), &hand(0.0)));
    guard.admit(&request(1.0), &hand(0.002));
    assert!((guard.counters().withheld_j - 0.002).abs() < 1e-12);
}

#[test]
fn a_lower_force_limit_comes_without_a_knock() {
    let mut guard = engaged(&Safety::default());
    (0..100).for_each(|_| _ = guard.admit(&request(4.0), &hand(0.0)));
    guard.set_limits(&Safety { max_force_n: 1.0, ..Safety::default() });
    let mut last_n = 4.0;
    for _ in 0..60 {
        let force_n = guard.admit(&request(4.0), &hand(0.0)).force_n.x;
        assert!(last_n - force_n <= 0.0601);
        last_n = force_n;
    }
    assert!((last_n - 1.0).abs() < 1e-12);
}

#[test]
fn other_settings_do_not_reopen_a_closed_gate() {
    let mut guard = guard(&Safety::default());
    guard.set_limits(&Safety { passivity: Passivity::Observer, ..Safety::default() });
    assert_eq!(guard.admit(&request(3.0), &hand(0.0)).force_n, Vector2::zeros());
}

#[test]
fn no_hand_gets_more_than_was_on_account_in_a_million_ticks_of_a_lying_world() {
    let device = WorstAxisModel { delay_s: 0.0, ..WorstAxisModel::default() };
    let mut guard = Guard::new(&bare(), &device, lively(0.01));
    let (mut random, mut place_m, mut gained_j) = (Random(0x2545_F491_4F6C_DD1D), Vector2::zeros(), 0.0);
    for _ in 0..1_000_000 {
        let force_n = Vector2::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0)) * 6.0;
        let stored = StoredEnergy { total_j: 1e6, height_j: 100.0 * random.between(-1.0, 1.0) };
        let here = HandReading { position_m: Some(place_m), ..hand(0.0) };
        let given_n = guard.admit(&ForceRequest { force_n, stored, ..request(0.0) }, &here).force_n;
        // The hand responds to the force: mostly it extracts all the energy it can, sometimes it moves at random.
        let greedy_m = given_n * (TICK_S / (2.0 * device.damping_n_s_per_m));
        let step_m = if random.between(-1.0, 1.0) > -0.5 {
            greedy_m
        } else {
            Vector2::new(random.between(-1.0, 1.0), 0.3) * 1e-4
        };
        gained_j += given_n.dot(&step_m) - device.damping_n_s_per_m / TICK_S * step_m.norm_squared();
        gained_j -= device.coulomb_n * (step_m.x.abs() + step_m.y.abs());
        place_m += step_m;
        assert!(guard.tank_j() >= -1e-12);
    }
    assert!(gained_j <= 0.01 + RESERVE_J + 1e-9, "{gained_j} J");
}

#[test]
fn a_late_tick_interrupts_the_force_and_a_very_late_one_is_a_fault() {
    let late_by = |periods| {
        let mut guard = engaged(&Safety::default());
        (0..10).for_each(|_| _ = guard.admit(&request(1.0), &hand(0.0)));
        let admission = guard.admit(&ForceRequest { periods, ..request(1.0) }, &hand(0.0));
        (admission.fault, admission.force_n.x, guard.admit(&request(1.0), &hand(0.0)).force_n.x)
    };
    assert_eq!(late_by(2), (None, 1.0, 1.0));
    assert_eq!(late_by(5), (None, 1.0, 1.0), "4 ms late");
    for periods in [6, 50, 100] {
        let (fault, force_n, next_n) = late_by(periods);
        assert_eq!((fault, force_n), (None, 0.0), "{periods}");
        assert!((next_n - 0.02).abs() < 1e-12, "it returns over 50 ms: {next_n}");
    }
    for periods in [101, 5000, u32::MAX] {
        let (fault, force_n, next_n) = late_by(periods);
        assert!(matches!(fault, Some(Fault::Late { .. })), "{fault:?}");
        assert_eq!((force_n, next_n), (0.0, 0.0), "it engages again");
    }
}

#[test]
fn a_stop_is_one_fault_and_lasts_until_it_is_released() {
    let mut guard = engaged(&Safety::default());
    (0..10).for_each(|_| _ = guard.admit(&request(1.0), &hand(0.0)));
    guard.stop();
    let admission = guard.admit(&request(1.0), &hand(0.0));
    assert_eq!((admission.force_n, admission.fault), (Vector2::zeros(), Some(Fault::Stopped)));
    for _ in 0..5000 {
        let admission = guard.admit(&request(1.0), &hand(0.0));
        assert_eq!((admission.force_n, admission.fault, guard.phase()), (Vector2::zeros(), None, Phase::Stopped));
        guard.start_ramp(0.0);
    }
    guard.release();
    assert!(guard.is_off() && !guard.can_engage(101) && guard.can_engage(1));
    guard.admit(&request(1.0), &hand(0.0));
    guard.start_ramp(0.0);
    let ticks_to_full = (1..).find(|_| guard.admit(&request(1.0), &hand(0.0)).force_n.x >= 1.0);
    assert!((2000..=2001).contains(&ticks_to_full.unwrap()), "{ticks_to_full:?}");
}
