use super::*;
use haptic_testing::Random;

const PERIOD_S: f64 = 0.001;
const SETTINGS: TankSettings = TankSettings {
    passivity: Passivity::Tank,
    damping_n_s_per_m: 0.5,
    period_s: PERIOD_S,
    delay_s: 0.0,
    reserve_j: RESERVE_J,
};

/// Stored energy without a gravitational part.
fn lively(total_j: f64) -> StoredEnergy {
    StoredEnergy { total_j, height_j: 0.0 }
}

const NO_LOAD: Vector2<f64> = Vector2::new(0.0, 0.0);

fn random_vector(random: &mut Random, size: f64) -> Vector2<f64> {
    Vector2::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0)) * size
}

#[test]
fn the_account_stays_positive_for_a_million_ticks_of_any_hand_and_any_world() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut tank = Tank::new(&SETTINGS, lively(0.01));
    let (mut hand_m, mut smallest_j) = (Vector2::zeros(), f64::INFINITY);
    for _ in 0..1_000_000 {
        let size_m = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2][(random.bits() % 5) as usize];
        hand_m += random_vector(&mut random, size_m);
        tank.observe(hand_m, PERIOD_S, lively(0.02 * (random.between(-1.0, 1.0) + 1.0)), true);
        tank.admit(random_vector(&mut random, 20.0), NO_LOAD);
        smallest_j = smallest_j.min(tank.level_j());
    }
    assert!(smallest_j >= -1e-15, "{smallest_j} J");
}

/// The hand always moves so as to extract the most energy: Δx = f·T/(2b).
#[test]
fn the_greedy_hand_gets_everything_on_account_and_not_a_nanojoule_more() {
    let mut tank = Tank::new(&SETTINGS, lively(0.05));
    let (mut hand_m, mut taken_j) = (Vector2::<f64>::zeros(), 0.0);
    tank.observe(hand_m, PERIOD_S, lively(1.0), true);
    let mut random = Random(88_172_645_463_325_252);
    for _ in 0..1_000_000 {
        let force_n = tank.admit(random_vector(&mut random, 20.0), NO_LOAD);
        let step_m = force_n * (PERIOD_S / (2.0 * SETTINGS.damping_n_s_per_m));
        hand_m += step_m;
        taken_j += force_n.dot(&step_m) - SETTINGS.damping_n_s_per_m / PERIOD_S * step_m.norm_squared();
        tank.observe(hand_m, PERIOD_S, lively(1.0), true);
        assert!(tank.level_j() >= -1e-15, "{} J", tank.level_j());
    }
    assert!((0.049..=0.05 + RESERVE_J + 1e-9).contains(&taken_j), "{taken_j} J");
}

#[test]
fn a_wall_of_twice_the_damping_over_the_period_is_never_cut_and_a_stiffer_one_is_felt_as_that() {
    for (stiffness_n_per_m, expected_share) in [(1000.0, 1.0), (4000.0, 0.25)] {
        let no_reserve = TankSettings { reserve_j: 0.0, ..SETTINGS };
        let mut tank = Tank::new(&no_reserve, lively(0.0));
        let mut share: f64 = 1.0;
        for tick in 0..400 {
            let depth_m: f64 = 1e-5 * f64::from(tick);
            let stored_j = 0.5 * stiffness_n_per_m * depth_m * depth_m;
            tank.observe(Vector2::new(0.0, -depth_m), PERIOD_S, lively(stored_j), true);
            let wanted_n = Vector2::new(0.0, stiffness_n_per_m * depth_m);
            let given_n = tank.admit(wanted_n, NO_LOAD);
            share = if tick > 200 { share.min(given_n.y / wanted_n.y) } else { share };
        }
        assert!((share - expected_share).abs() < 0.02, "{stiffness_n_per_m} N/m: {share}");
    }
}

#[test]
fn energy_that_the_world_dissipated_is_not_given_back() {
    let mut tank = Tank::new(&SETTINGS, lively(0.1));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.03), true);
    assert!((tank.level_j() - (0.03 + RESERVE_J)).abs() < 1e-15);
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.1), true);
    assert!((tank.level_j() - (0.03 + RESERVE_J)).abs() < 1e-15, "a cap is not a source");
}

#[test]
fn a_carried_weight_is_kept_for_ever_at_rest_and_on_the_way_down() {
    let weight_n = Vector2::new(0.0, -0.981);
    let high_j = 0.981 * 0.5;
    let mut tank = Tank::new(&SETTINGS, StoredEnergy { total_j: high_j, height_j: high_j });
    for tick in 0..100_000 {
        let lowered_m = (f64::from(tick) * 1e-5 - 0.5).clamp(0.0, 0.3);
        let height_j = high_j - 0.981 * lowered_m;
        tank.observe(Vector2::new(0.02, -lowered_m), PERIOD_S, StoredEnergy { total_j: height_j, height_j }, true);
        assert_eq!(tank.admit(weight_n, weight_n), weight_n, "tick {tick}");
    }
    let left_j = high_j - 0.981 * 0.3 + RESERVE_J;
    assert!((tank.level_j() - left_j).abs() < 1e-9);
}

#[test]
fn a_heap_on_a_shelf_does_not_pay_for_a_stiff_wall() {
    let mut tank = Tank::new(&SETTINGS, StoredEnergy { total_j: 10.0, height_j: 10.0 });
    let given_n = tank.admit(Vector2::new(8.0, 0.0), NO_LOAD);
    assert!((given_n.x - (4.0 * 0.5 * RESERVE_J / PERIOD_S).sqrt()).abs() < 1e-12);
}

#[test]
fn a_heap_that_comes_down_pays() {
    let mut tank = Tank::new(&SETTINGS, StoredEnergy { total_j: 10.0, height_j: 10.0 });
    tank.observe(NO_LOAD, PERIOD_S, StoredEnergy { total_j: 10.0, height_j: 9.9 }, true);
    let force_n = Vector2::new(8.0, 0.0);
    assert_eq!(tank.admit(force_n, NO_LOAD), force_n);
}

#[test]
fn a_late_force_counts_less_damping() {
    let late = TankSettings { delay_s: PERIOD_S / 2.0, ..SETTINGS };
    let (prompt, late) = (Tank::new(&SETTINGS, lively(0.01)), Tank::new(&late, lively(0.01)));
    assert!((late.limit_squared(0.01) / prompt.limit_squared(0.01) - 0.5).abs() < 1e-12);
}

#[test]
fn after_skipped_periods_the_account_uses_the_time_that_really_passed() {
    let step_m = Vector2::new(1e-4, 0.0);
    let level_after = |periods: f64| {
        let mut tank = Tank::new(&SETTINGS, lively(0.0));
        tank.observe(Vector2::zeros(), PERIOD_S, lively(0.0), true);
        tank.draw(RESERVE_J);
        tank.observe(step_m, periods * PERIOD_S, lively(1.0), true);
        tank.level_j()
    };
    assert!((level_after(1.0) - 5e-6).abs() < 1e-18);
    assert!((level_after(4.0) - 5e-6 / 4.0).abs() < 1e-18);
}

#[test]
fn a_gap_in_the_readings_books_the_mean_force_and_lowers_the_limit() {
    let mut tank = Tank::new(&SETTINGS, lively(0.0));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.0), true);
    let first_n = tank.admit(Vector2::new(0.1, 0.0), NO_LOAD);
    tank.skip_reading(PERIOD_S);
    assert!(tank.limit_squared(RESERVE_J) < (4.0 * 0.5 * RESERVE_J / PERIOD_S) * 0.72 * 0.72);
    let second_n = tank.admit(Vector2::new(0.3, 0.0), NO_LOAD);
    tank.observe(Vector2::new(1e-5, 0.0), PERIOD_S, lively(1.0), true);
    let expected_j = RESERVE_J - 0.5 * (first_n.x + second_n.x) * 1e-5 + 0.5 / (2.0 * PERIOD_S) * 1e-10;
    assert!((tank.level_j() - expected_j).abs() < 1e-15);
}

#[test]
fn a_reading_that_is_not_good_adds_no_energy() {
    let mut tank = Tank::new(&SETTINGS, lively(0.0));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.0), true);
    tank.observe(Vector2::new(0.5, 0.0), PERIOD_S, lively(10.0), false);
    assert_eq!(tank.level_j(), RESERVE_J);
}

#[test]
fn the_observer_admits_every_force_and_keeps_the_lowest_level() {
    let mut tank = Tank::new(&TankSettings { passivity: Passivity::Observer, ..SETTINGS }, lively(0.0));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.0), true);
    let force_n = Vector2::new(10.0, 0.0);
    assert_eq!(tank.admit(force_n, NO_LOAD), force_n);
    tank.observe(Vector2::new(1e-4, 0.0), PERIOD_S, lively(0.0), true);
    assert!(tank.lowest_j() < -8e-4);
}

#[test]
fn switched_off_it_keeps_no_account() {
    let mut tank = Tank::new(&TankSettings { passivity: Passivity::Off, ..SETTINGS }, lively(5.0));
    tank.observe(Vector2::new(1.0, 0.0), PERIOD_S, lively(5.0), true);
    let force_n = Vector2::new(10.0, 0.0);
    assert_eq!((tank.admit(force_n, NO_LOAD), tank.level_j()), (force_n, 0.0));
}

#[test]
fn without_damping_no_force_passes() {
    let mut tank = Tank::new(&TankSettings { damping_n_s_per_m: 0.0, ..SETTINGS }, lively(5.0));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(5.0), true);
    assert_eq!(tank.admit(Vector2::new(1.0, 0.0), NO_LOAD), Vector2::zeros());
}
