use super::*;
use haptic_testing::Random;

const PERIOD_S: f64 = 0.001;
const SETTINGS: TankSettings = TankSettings {
    passivity: Passivity::Tank,
    damping_n_s_per_m: 0.5,
    coulomb_n: 0.0,
    encoder_step_m: 0.0,
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
fn a_delayed_force_must_be_covered_for_the_period_and_the_delay() {
    let late = TankSettings { delay_s: PERIOD_S / 2.0, ..SETTINGS };
    let mut tank = Tank::new(&late, lively(0.01));
    tank.non_gravity_j = 1.0;
    let given_n = tank.admit(Vector2::new(20.0, 0.0), NO_LOAD).x;
    assert!((given_n * given_n - 4.0 * 0.5 * (0.01 + RESERVE_J) / (1.5 * PERIOD_S)).abs() < 1e-12);
}

#[test]
fn the_level_without_gravity_counts_less_damping_for_a_delayed_force() {
    let late = TankSettings { delay_s: PERIOD_S / 2.0, ..SETTINGS };
    let (prompt, late) = (Tank::new(&SETTINGS, lively(0.01)), Tank::new(&late, lively(0.01)));
    assert!((late.near_limit_squared() / prompt.near_limit_squared() - 0.5).abs() < 1e-12);
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
fn a_gap_in_the_readings_books_the_mean_force_and_its_variance_and_does_not_reduce_the_force() {
    let mut tank = Tank::new(&SETTINGS, lively(0.0));
    tank.observe(Vector2::zeros(), PERIOD_S, lively(0.0), true);
    let first_n = tank.admit(Vector2::new(0.1, 0.0), NO_LOAD).x;
    tank.skip_reading(PERIOD_S);
    assert_eq!(tank.near_limit_squared(), 4.0 * 0.5 * RESERVE_J / PERIOD_S, "a gap does not lower the limit of N");
    let most_n = { tank }.admit(Vector2::new(9.0, 0.0), NO_LOAD).x;
    assert!((most_n * most_n * PERIOD_S / (4.0 * 0.5) - RESERVE_J).abs() < 1e-15, "nor that of S: {most_n} N");
    let second_n = tank.admit(Vector2::new(0.3, 0.0), NO_LOAD).x;
    tank.observe(Vector2::new(1e-5, 0.0), PERIOD_S, lively(1.0), true);
    let (mean_n, variance) = (0.5 * (first_n + second_n), 0.25 * (second_n - first_n).powi(2));
    let work_j = mean_n * 1e-5 - 0.5 / (2.0 * PERIOD_S) * 1e-10 + 2.0 * PERIOD_S / (4.0 * 0.5) * variance;
    assert!((tank.level_j() - (RESERVE_J - work_j)).abs() < 1e-15);
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

/// The default device.
const LIFELIKE: TankSettings =
    TankSettings { coulomb_n: 0.05, encoder_step_m: 1e-5, delay_s: 0.0003, passivity: Passivity::Tank, ..SETTINGS };

/// Reads the hand at `x_m` and sends a force in x, with any energy stored in the world.
fn tick(tank: &mut Tank, x_m: f64, force_n: f64) -> f64 {
    tank.expect(Vector2::new(force_n, 0.0));
    tank.observe(Vector2::new(x_m, 0.0), PERIOD_S, lively(1e3), true);
    tank.admit(Vector2::new(force_n, 0.0), NO_LOAD).x
}

#[test]
fn without_delay_steps_and_dry_friction_the_account_is_the_plain_one() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let mut tank = Tank::new(&SETTINGS, lively(0.01));
    let (mut hand_m, mut force_n, mut level_j) = (Vector2::zeros(), Vector2::zeros(), 0.01 + RESERVE_J);
    tank.observe(hand_m, PERIOD_S, lively(0.02), true);
    for _ in 0..10_000 {
        let moved_m = random_vector(&mut random, 1e-4);
        let stored_j = 0.02 + 0.01 * random.between(-1.0, 1.0);
        hand_m += moved_m;
        level_j += 0.5 / PERIOD_S * moved_m.norm_squared() - moved_m.dot(&force_n);
        level_j = level_j.min(stored_j + RESERVE_J);
        tank.observe(hand_m, PERIOD_S, lively(stored_j), true);
        assert!((tank.level_j() - level_j).abs() < 1e-12, "{} instead of {level_j} J", tank.level_j());
        let wanted_n = random_vector(&mut random, 5.0);
        let limit_n = (4.0 * 0.5 * level_j.min(tank.non_gravity_j) / PERIOD_S).sqrt();
        force_n = tank.admit(wanted_n, NO_LOAD);
        assert!((force_n - clamp_norm(wanted_n, limit_n)).norm() < 1e-7, "{force_n} of {wanted_n}");
    }
}

#[test]
fn a_constant_force_at_rest_costs_half_an_encoder_step_once() {
    let mut tank = Tank::new(&TankSettings { coulomb_n: 0.0, ..LIFELIKE }, lively(0.05));
    (0..10).for_each(|_| _ = tick(&mut tank, 0.0, 2.0));
    let level_j = tank.level_j();
    assert!(level_j > 0.05 - 2.0 * 1e-5 - 1e-3 && level_j < 0.05 + RESERVE_J - 0.5 * 1e-5 * 2.0 + 1e-12);
    (0..100_000).for_each(|_| _ = tick(&mut tank, 0.0, 2.0));
    assert!((tank.level_j() - level_j).abs() < 2e-5, "{} of {level_j} J", tank.level_j());
}

#[test]
fn a_delay_hides_the_variance_of_the_force() {
    let settings = TankSettings { delay_s: 0.0003, ..SETTINGS };
    let mut tank = Tank::new(&settings, lively(0.05));
    tick(&mut tank, 0.0, 1.0);
    tick(&mut tank, 0.0, -1.0);
    let level_j = tank.level_j();
    tick(&mut tank, 0.0, 0.0);
    let variance = 0.3 * 0.7 * 4.0;
    assert!((level_j - tank.level_j() - variance * PERIOD_S / (4.0 * 0.5)).abs() < 1e-15);
}

/// Returns the energy lost while the hand crosses an encoder edge 1,000 times in the wall of a spring and a damper.
fn lost_over_an_edge_j(coulomb_n: f64) -> f64 {
    let (stiffness, damping, step_m) = (400.0, 0.1, 5e-5);
    let mut tank = Tank::new(&TankSettings { coulomb_n, encoder_step_m: step_m, ..LIFELIKE }, lively(0.05));
    let mut last_m = 0.0;
    let mut levels_j = [0.0; 2];
    for index in 0..3000 {
        let x_m = f64::from(index / 7 % 2) * step_m;
        let force_n = 1.0 - stiffness * x_m - damping * (x_m - last_m) / PERIOD_S;
        last_m = x_m;
        assert_eq!(tick(&mut tank, x_m, force_n), force_n);
        levels_j[usize::from(index >= 1000)] = tank.level_j();
    }
    levels_j[0] - levels_j[1]
}

#[test]
fn trembling_over_an_edge_is_free_if_dry_friction_covers_the_force_step() {
    let enough_n = 0.5 * (400.0 + 2.0 * 0.1 / PERIOD_S) * 5e-5;
    assert!(lost_over_an_edge_j(enough_n) < 1e-12, "{} J", lost_over_an_edge_j(enough_n));
    assert!(lost_over_an_edge_j(0.0) > 1e-6, "{} J", lost_over_an_edge_j(0.0));
}

#[test]
fn a_force_that_was_not_sent_leaves_the_last_one_in_the_account() {
    let mut tank = Tank::new(&SETTINGS, lively(0.05));
    tick(&mut tank, 0.0, 1.0);
    tick(&mut tank, 0.0, 3.0);
    tank.hold(Vector2::new(1.0, 0.0));
    let level_j = tank.level_j();
    tick(&mut tank, 1e-5, 0.0);
    assert!((level_j - tank.level_j() - (1e-5 - 0.5 / PERIOD_S * 1e-10)).abs() < 1e-15);
}

#[test]
fn a_device_served_every_third_tick_has_its_force_covered_until_the_next_service() {
    let slow = TankSettings { period_s: 3.0 * PERIOD_S, delay_s: 0.0005, ..SETTINGS };
    let mut tank = Tank::new(&slow, lively(1e-3));
    tank.observe(NO_LOAD, PERIOD_S, lively(1e3), true);
    let given_n = tank.admit(Vector2::new(20.0, 0.0), NO_LOAD);
    for elapsed_ticks in 1..=2 {
        tank.skip_reading(PERIOD_S);
        let promised_j = given_n.norm_squared() * 0.0035 / (4.0 * 0.5);
        assert!((tank.promised_j() - promised_j).abs() < 1e-15, "after {elapsed_ticks} ticks");
        tank.admit(Vector2::new(20.0, 0.0), NO_LOAD);
        tank.hold(given_n);
    }
    tank.observe(NO_LOAD, PERIOD_S, lively(1e3), true);
    assert!((tank.promised_j() - given_n.norm_squared() * 0.0005 / (4.0 * 0.5)).abs() < 1e-15);
    assert!(tank.level_j() >= tank.promised_j());
}

#[test]
fn after_a_late_tick_no_force_passes_until_the_hand_has_done_the_missing_work() {
    let mut tank = Tank::new(&SETTINGS, lively(1e-3));
    tank.observe(NO_LOAD, PERIOD_S, lively(1e3), true);
    let force_n = tank.admit(Vector2::new(20.0, 0.0), NO_LOAD).x;
    let greedy_m = force_n * 4.0 * PERIOD_S / (2.0 * 0.5);
    tank.observe(Vector2::new(greedy_m, 0.0), 4.0 * PERIOD_S, lively(1e3), true);
    let missing_j = 3.0 * PERIOD_S * force_n * force_n / (4.0 * 0.5);
    assert!((tank.level_j() + missing_j).abs() < 1e-12);
    assert_eq!(tank.admit(Vector2::new(1.0, 0.0), NO_LOAD), Vector2::zeros());
    tank.observe(Vector2::new(greedy_m + 3e-3, 0.0), PERIOD_S, lively(1e3), true);
    assert!(tank.admit(Vector2::new(1.0, 0.0), NO_LOAD).x > 0.0);
}

#[test]
fn a_long_delay_covers_every_command_for_at_least_its_time() {
    let mut random = Random(0xABCD_EF01_2345_6789);
    for delay_s in [0.0005, 0.003, 0.0101, 0.1, 0.126] {
        let mut sent = SentForces::none(PERIOD_S, delay_s);
        let mut replaced_n = Vec::new();
        for _ in 0..500 {
            let before_n = sent.next_n.x;
            sent.send(random_vector(&mut random, 1.0));
            replaced_n.insert(0, before_n);
            sent.advance(PERIOD_S);
            // Command k was replaced k periods before the last advance.
            let squares = |least_s: f64| {
                let left = replaced_n
                    .iter()
                    .enumerate()
                    .map(|(index, force_n)| (delay_s + least_s - PERIOD_S * (index as f64 + 1.0), force_n * force_n));
                let steps: Vec<_> = left.filter(|(left_s, _)| *left_s > 1e-12).collect();
                let (mut sum, mut largest) = (0.0, sent.newest_n.x * sent.newest_n.x);
                for (left_s, square) in steps {
                    sum += left_s * f64::max(square - largest, 0.0);
                    largest = f64::max(square, largest);
                }
                sum
            };
            let y = SentForces { newest_n: Vector2::new(sent.newest_n.x, 1e9), ..sent };
            let excess =
                y.price_n2_s(y.newest_n) - y.newest_n.norm_squared() * (PERIOD_S + sent.kept_s) - y.span.squares_n2_s;
            let rounding = 1e-12 * y.newest_n.norm_squared();
            assert!(excess + rounding >= squares(0.0), "{delay_s} s");
            assert!(excess - rounding <= squares(0.25 * delay_s + 1e-9), "{delay_s} s");
            replaced_n.truncate(300);
        }
    }
}

#[test]
fn an_engagement_adds_what_it_stores_in_the_spring() {
    let mut tank = Tank::new(&SETTINGS, lively(0.01));
    tank.deposit(0.02);
    tank.deposit(-1.0);
    assert!((tank.level_j() - (0.03 + RESERVE_J)).abs() < 1e-15 && tank.non_gravity_j == tank.level_j());
    tank.observe(NO_LOAD, PERIOD_S, lively(0.025), true);
    assert_eq!(tank.level_j(), 0.025 + RESERVE_J, "the cap applies at the next reading");
}

#[test]
fn in_a_new_world_the_force_that_still_acts_stays_in_the_account() {
    let mut tank = Tank::new(&SETTINGS, lively(1.0));
    tick(&mut tank, 0.0, 3.0);
    tank.refill(lively(0.0));
    tick(&mut tank, 1e-5, 0.0);
    let most_j = 9.0 * PERIOD_S / (4.0 * 0.5);
    assert!((RESERVE_J - tank.level_j() - most_j).abs() < 1e-15, "the hand may have been placed elsewhere");
}

#[test]
fn a_reading_that_is_not_good_costs_the_most_that_any_hand_can_have_extracted() {
    let mut tank = Tank::new(&SETTINGS, lively(1.0));
    tick(&mut tank, 0.0, 3.0);
    let level_j = tank.level_j();
    tank.observe(Vector2::new(0.5, 0.0), PERIOD_S, lively(1e3), false);
    assert!((level_j - tank.level_j() - 9.0 * PERIOD_S / (4.0 * 0.5)).abs() < 1e-15);
}

#[test]
fn an_expected_force_that_is_not_finite_is_ignored() {
    let mut tank = Tank::new(&LIFELIKE, lively(1.0));
    tick(&mut tank, 0.0, 1.0);
    for force_n in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        tank.expect(Vector2::new(0.0, force_n));
        tank.observe(Vector2::new(1e-5, 0.0), PERIOD_S, lively(1.0), true);
        assert!(tank.level_j().is_finite() && tank.next_force_n().norm() < 2.0);
    }
}

#[test]
fn a_tank_restored_from_a_checkpoint_continues_with_the_same_bits() {
    use haptic_planar::checkpoint::Checkpoint;
    let late = TankSettings { delay_s: 0.0023, ..LIFELIKE };
    let mut random = Random(0xFEDC_BA98_7654_3211);
    let mut tank = Tank::new(&late, lively(0.01));
    let mut x_m = 0.0;
    for index in 0..2000 {
        if index % 97 == 0 {
            let mut image = Checkpoint::with_capacity(128);
            tank.carry(&mut image.begin());
            let mut restored = Tank::new(&late, lively(5.0));
            let mut reader = image.read();
            restored.carry(&mut reader);
            assert!(reader.end().is_ok());
            // Unused groups may differ; everything that acts must not.
            (restored.sent.replaced, tank.sent.replaced) = (tank.sent.replaced, tank.sent.replaced);
            assert_eq!(restored, tank);
            tank = restored;
        }
        x_m += (random.between(-2.0, 2.0) as i32 as f64) * 1e-5;
        if index % 5 == 0 {
            tank.skip_reading(PERIOD_S);
        } else {
            tick(&mut tank, x_m, random.between(-3.0, 3.0));
        }
    }
}
