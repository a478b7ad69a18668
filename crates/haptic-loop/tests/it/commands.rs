//! Commands between ticks: new gains, limits, mappings and worlds, pauses and single steps.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_coupling::coupling::Gains;
use haptic_device::prescribed::PrescribedDevice;
use haptic_loop::command::Command;
use haptic_loop::engagement::Phase;
use haptic_loop::fault::Fault;
use haptic_loop::settings::{MappingSettings, Safety};
use haptic_loop::tick::HapticLoop;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use nalgebra::Vector2;

/// Returns a loop that has pressed on the floor with full force for half a second.
fn pressing() -> HapticLoop {
    let path = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.03], [1.5, 0.0, 0.003]];
    let mut rendering = rendering(simulated(Some(&hand(&path))), world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    run(&mut rendering, 2000, |_| {});
    rendering
}

/// Sets gains and checks for this many ticks that the force does not jump.
fn set_gains(rendering: &mut HapticLoop, gains: Gains, ticks: u64) {
    let mut last_n = rendering.tick(Default::default(), 0).force_n;
    assert!(rendering.apply(Command::SetGains(gains)).is_none());
    run(rendering, ticks, |report| {
        assert!((report.force_n - last_n).norm() < 0.05, "tick {}: {last_n} to {}", report.tick, report.force_n);
        assert_eq!(report.phase, Phase::Engaged);
        last_n = report.force_n;
    });
}

#[test]
fn new_gains_in_the_air_are_there_in_50_ms_and_no_tick_feels_a_jump() {
    let device = simulated(Some(&hand(&[[0.0, 0.0, 0.03]])));
    let mut rendering = rendering(device, world(&floor_and_tool(0.0)), &settings(400.0, 0.1));
    run(&mut rendering, 1000, |_| {});
    let stiffer = Gains { stiffness_n_per_m: 900.0, ..Gains::default() };
    set_gains(&mut rendering, stiffer, 51);
    assert_eq!(rendering.gains(), stiffer);
}

#[test]
fn new_gains_in_contact_ramp_as_far_as_the_tank_permits_and_complete_without_contact() {
    let mut rendering = pressing();
    let (before_j, stiffer) =
        (rendering.tick(Default::default(), 0).tank_j, Gains { stiffness_n_per_m: 900.0, ..Gains::default() });
    set_gains(&mut rendering, stiffer, 200);
    let waiting = rendering.gains().stiffness_n_per_m;
    assert!((410.0..899.0).contains(&waiting), "{waiting} N/m");
    assert!(rendering.tick(Default::default(), 0).tank_j < before_j, "stiffening withdraws energy");
    rendering.apply(Command::GuideHand(Some(Vector2::new(0.0, 0.04))));
    run(&mut rendering, 1000, |report| assert_eq!(report.fault, None));
    assert_eq!(rendering.gains(), stiffer);
}

#[test]
fn stiffening_a_stretched_coupling_is_drawn_from_the_tank() {
    let (mut changed, mut unchanged) = (pressing(), pressing());
    let before = *changed.tick(Default::default(), 0);
    unchanged.tick(Default::default(), 0);
    changed.apply(Command::SetGains(Gains { stiffness_n_per_m: 900.0, ..Gains::default() }));
    let (stiffened, same) = (*changed.tick(Default::default(), 0), *unchanged.tick(Default::default(), 0));
    let (changed_j, unchanged_j) = (stiffened.tank_j, same.tank_j);
    let stretch_m = (before.hand_m - before.tool.centre_m).norm();
    let needed_j = 0.5 * (500.0 / 50.0) * stretch_m * stretch_m;
    // The position of the hand within an encoder step of 10 µm is unknown, so that another force costs that much more.
    let unknown_j = 1.01e-5 * (stiffened.felt.force_on_hand_n - same.felt.force_on_hand_n).norm();
    assert!(
        needed_j > 1e-6 && (-1e-12..unknown_j + 1e-12).contains(&(unchanged_j - changed_j - needed_j)),
        "{unchanged_j} − {changed_j} for {needed_j} J"
    );
}

#[test]
fn the_same_settings_again_leave_every_later_hash_as_it_was() {
    let (mut changed, mut unchanged) = (pressing(), pressing());
    let same = settings(400.0, 0.1);
    changed.apply(Command::SetGains(same.coupling));
    changed.apply(Command::SetSafety(same.safety));
    changed.apply(Command::SetMapping(same.mapping.activate(2).unwrap()));
    for _ in 0..500 {
        let (a, b) = (*changed.tick(Default::default(), 0), *unchanged.tick(Default::default(), 0));
        assert_eq!((a.force_n, changed.world().state.hash()), (b.force_n, unchanged.world().state.hash()));
    }
}

#[test]
fn a_lower_limit_holds_and_starts_without_a_jump() {
    let mut rendering = pressing();
    let mut last_n = rendering.tick(Default::default(), 0).force_n;
    rendering.apply(Command::SetSafety(Safety { max_force_n: 0.5, ..settings(400.0, 0.1).safety }));
    run(&mut rendering, 300, |report| {
        assert!((report.force_n - last_n).norm() < 0.1, "tick {}", report.tick);
        last_n = report.force_n;
    });
    assert!(last_n.norm() <= 0.5 + 1e-12);
}

/// Asserts that the force ramps up from zero, as soon as a position for the tool is found.
fn assert_full_ramp(rendering: &mut HapticLoop) {
    rendering.tick(Default::default(), 0);
    for _ in 0..32 {
        if rendering.last().phase == Phase::Waiting {
            assert_eq!(rendering.last().force_n, Vector2::zeros());
            rendering.tick(Default::default(), 0);
        }
    }
    for tick in 1..=200 {
        let report = rendering.last();
        let expected = if tick < 200 { Phase::Ramping } else { Phase::Engaged };
        assert_eq!((report.phase, report.fault), (expected, None), "tick {tick}");
        assert!((report.fraction - f64::from(tick) / 200.0).abs() < 1e-12, "tick {tick}");
        assert!(report.force_n.norm() <= report.felt.force_on_hand_n.norm() * report.fraction + 1e-12, "tick {tick}");
        rendering.tick(Default::default(), 0);
    }
}

#[test]
fn a_new_mapping_switches_force_off_and_re_engages() {
    let mut rendering = pressing();
    let shifted = MappingSettings { offset_m: Vector2::new(0.0, 0.02), ..MappingSettings::default() };
    rendering.apply(Command::SetMapping(shifted.activate(2).unwrap()));
    assert_full_ramp(&mut rendering);
}

/// A hand that presses on the floor beside a ball that never comes to rest.
fn pressing_beside_a_bouncing_ball() -> HapticLoop {
    let mut description = floor_and_tool(9.81);
    let mut ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.005 });
    (ball.position_m, ball.restitution) = (Vector2::new(0.1, 0.1), 1.0);
    description.bodies.push(ball);
    let device = simulated(Some(&hand(&[[0.0, 0.0, 0.03], [1.0, 0.0, 0.004]])));
    let mut rendering = rendering(device, world(&description), &settings(400.0, 0.1));
    run(&mut rendering, 1500, |_| {});
    assert!(rendering.last().force_n.y > 0.5, "{}", rendering.last().force_n);
    rendering
}

#[test]
fn a_paused_world_does_not_move_gives_no_force_and_steps_single_ticks() {
    let mut rendering = pressing_beside_a_bouncing_ball();
    rendering.apply(Command::Pause);
    let before = rendering.world().state.hash();
    run(&mut rendering, 100, |report| assert_eq!((report.force_n, report.paused), (Vector2::zeros(), true)));
    assert_eq!(rendering.world().state.hash(), before);
    rendering.apply(Command::Step(2));
    let mut hashes = vec![before];
    for _ in 0..4 {
        assert_eq!(rendering.tick(Default::default(), 0).force_n, Vector2::zeros());
        hashes.push(rendering.world().state.hash());
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 3, "exactly two ticks");
    rendering.apply(Command::Resume);
    assert_full_ramp(&mut rendering);
}

#[test]
fn pausing_stepping_and_resuming_neither_adds_energy_nor_throws_the_tool() {
    let mut rendering = pressing_beside_a_bouncing_ball();
    let gain_j = rendering.last().felt.energy.gain_max_j;
    let hand_m = rendering.last().hand_m;
    let tool_m = rendering.last().tool.centre_m;
    rendering.apply(Command::Pause);
    run(&mut rendering, 500, |report| assert_eq!(report.hand_m, hand_m, "a simulated hand stands still"));
    for _ in 0..20 {
        rendering.apply(Command::Step(10));
        run(&mut rendering, 15, |report| assert!((report.tool.centre_m - tool_m).norm() < 1e-4));
    }
    rendering.apply(Command::Resume);
    run(&mut rendering, 1000, |report| {
        assert!((report.tool.centre_m - tool_m).norm() < 1e-3, "tick {}: {}", report.tick, report.tool.centre_m);
        assert!(report.tool.velocity_m_per_s.norm() < 0.05);
    });
    assert!(rendering.last().felt.energy.gain_max_j - gain_j < 1e-6, "{}", rendering.last().felt.energy.gain_max_j);
}

#[test]
fn a_hand_that_moves_during_a_pause_finds_the_tool_where_it_is_now() {
    // 30 mm to the left of where the pause began.
    let path = |t_s: f64| Vector2::new(if t_s < 1.0 { 0.0 } else { -0.03 * (t_s - 1.0).min(1.0) }, 0.03);
    let device = PrescribedDevice::new(2, path);
    let mut rendering = rendering(device, world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    run(&mut rendering, 1000, |_| {});
    rendering.apply(Command::Pause);
    run(&mut rendering, 1000, |_| {});
    rendering.apply(Command::Step(20));
    run(&mut rendering, 100, |report| assert!(report.tool.centre_m.x.abs() < 1e-6, "the hand does not pull the tool"));
    rendering.apply(Command::Resume);
    // The tool is placed in the first tick, and weighs on the hand from the next one.
    rendering.tick(Default::default(), 0);
    run(&mut rendering, 1000, |report| {
        assert!((report.tool.centre_m.x + 0.03).abs() < 1e-6, "{}", report.tool.centre_m);
        assert!((report.force_n.norm() - 0.981 * report.fraction).abs() < 1e-3, "it weighs what it weighs");
    });
    assert!(rendering.last().felt.energy.gain_max_j < 1e-9);
}

#[test]
fn an_emergency_stop_holds_the_world_without_force_until_it_is_released() {
    let mut rendering = pressing_beside_a_bouncing_ball();
    for _ in 0..3 {
        rendering.apply(Command::Stop);
        let report = rendering.tick(Default::default(), 0);
        assert_eq!((report.force_n, report.phase), (Vector2::zeros(), Phase::Stopped));
        assert_eq!(report.fault, Some(Fault::Stopped));
        let before = rendering.world().state.hash();
        for command in [Command::Pause, Command::Step(5), Command::Resume, Command::Stop, Command::Pause] {
            rendering.apply(command);
            run(&mut rendering, 200, |report| {
                assert_eq!((report.force_n, report.phase, report.fault), (Vector2::zeros(), Phase::Stopped, None));
            });
        }
        assert_eq!(rendering.world().state.hash(), before);
        rendering.apply(Command::Resume);
        rendering.apply(Command::Release);
        assert_full_ramp(&mut rendering);
    }
    rendering.apply(Command::Stop);
    let other = Box::new(world(&floor_and_tool(9.81)));
    rendering.apply(Command::ReplaceWorld(other));
    run(&mut rendering, 200, |report| assert_eq!(report.phase, Phase::Stopped, "another scene does not release it"));
}

#[test]
fn a_replaced_world_re_engages_and_the_old_one_is_returned() {
    let mut rendering = pressing();
    let fresh = world(&floor_and_tool(9.81));
    let start = fresh.state.hash();
    let old = rendering.apply(Command::ReplaceWorld(Box::new(fresh))).unwrap();
    assert_ne!(old.state.hash(), start);
    assert_eq!(rendering.world().state.hash(), start);
    assert_full_ramp(&mut rendering);
}

#[test]
fn a_simulated_hand_moves_to_the_tool_of_a_replaced_world() {
    let mut rendering = pressing();
    // The hand is almost 30 mm below the tool of the new world.
    rendering.apply(Command::ReplaceWorld(Box::new(world(&floor_and_tool(9.81)))));
    run(&mut rendering, 1000, |report| assert_eq!(report.fault, None));
    assert_eq!(rendering.last().phase, Phase::Engaged);
    run(&mut rendering, 3000, |report| assert_eq!(report.fault, None));
    assert!(rendering.last().force_n.y > 0.5, "the restarted path does not press: {}", rendering.last().force_n);
}

#[test]
fn a_pause_new_gains_and_a_new_mapping_are_no_energy_gain() {
    let mut rendering = pressing();
    rendering.apply(Command::Pause);
    rendering.apply(Command::GuideHand(Some(Vector2::new(0.0, 0.10))));
    run(&mut rendering, 200, |_| {});
    rendering.apply(Command::Resume);
    run(&mut rendering, 1000, |_| {});
    rendering.apply(Command::GuideHand(Some(Vector2::new(0.0, 0.0))));
    run(&mut rendering, 1000, |_| {});
    rendering.apply(Command::SetGains(Gains { stiffness_n_per_m: 900.0, ..Gains::default() }));
    run(&mut rendering, 500, |_| {});
    let shifted = MappingSettings { offset_m: Vector2::new(0.0, 0.02), ..MappingSettings::default() };
    rendering.apply(Command::SetMapping(shifted.activate(2).unwrap()));
    run(&mut rendering, 500, |_| {});
    // Each of the three would show as millijoules or more; a stiffness that changes in motion leaves a microjoule.
    let gain_j = rendering.last().felt.energy.gain_max_j;
    assert!(gain_j < 1e-5, "{gain_j} J");
}

#[test]
fn a_guided_hand_follows_its_target() {
    let mut rendering = pressing();
    rendering.apply(Command::GuideHand(Some(Vector2::new(0.05, 0.04))));
    run(&mut rendering, 1500, |_| {});
    let hand_m = rendering.tick(Default::default(), 0).hand_m;
    assert!((hand_m - Vector2::new(0.05, 0.04)).norm() < 0.006, "{hand_m}");
}

#[test]
fn a_scene_without_a_tool_gives_no_force() {
    let mut description = floor_and_tool(9.81);
    description.tool = None;
    let mut rendering = rendering(simulated(None), world(&description), &settings(400.0, 0.1));
    let start = rendering.world().state.hash();
    run(&mut rendering, 500, |report| assert_eq!((report.force_n, report.fault), (Vector2::zeros(), None)));
    assert_eq!(rendering.last().phase, Phase::Engaged);
    assert_ne!(rendering.world().state.hash(), start, "the world runs");
}
