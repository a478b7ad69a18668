//! Engagement: the force comes on soon, whatever the hand does, and random events never leave the table of phases.

use crate::common::{floor_and_tool, hand, rendering, settings, simulated, world};
use haptic_coupling::tank::{Passivity, project_onto_segment};
use haptic_device::WriteOutcome;
use haptic_device::faulty::{FaultPlan, FaultyDevice, PerKind};
use haptic_device::prescribed::PrescribedDevice;
use haptic_device::simulated::HandModel;
use haptic_loop::command::Command;
use haptic_loop::engagement::Phase;
use haptic_loop::report::TickReport;
use haptic_loop::settings::{MappingSettings, Safety, Settings};
use haptic_loop::tick::HapticLoop;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

/// Ticks within which the ramp starts.
const SOON: u32 = 33;

/// A floor, the tool above it, and a tower of three blocks beside it.
fn tower() -> SceneDescription {
    let mut description = floor_and_tool(9.81);
    for level in 0..3 {
        let mut block =
            BodyDescription::new(&format!("block {level}"), ShapeDescription::Box { size_m: vector![0.02, 0.02] });
        block.position_m = vector![0.05, 0.01 + 0.02 * f64::from(level)];
        description.bodies.push(block);
    }
    description
}

/// Position of a hand, world frame, m, as a function of time, s.
type HandPath = fn(f64) -> Vector2<f64>;

/// Hands that the force must come on for: at rest in the air, below the floor, in the floor, in a block, on the far
/// side of the tower, in fast circles, and pressing down from the first tick.
fn hands() -> Vec<(&'static str, HandPath)> {
    vec![
        ("in the air", |_| vector![-0.05, 0.05]),
        ("below the floor", |_| vector![0.0, -0.05]),
        ("in the floor", |_| vector![-0.03, -0.005]),
        ("in a block", |_| vector![0.05, 0.03]),
        ("behind the tower", |_| vector![0.1, 0.03]),
        ("in circles", |t_s| vector![0.1 * (20.0 * t_s).cos(), 0.15 + 0.1 * (20.0 * t_s).sin()]),
        ("pressing", |t_s| vector![0.0, 0.03 - 0.1 * t_s.min(0.3)]),
        ("shaking", |t_s| vector![0.01 * (60.0 * t_s).sin(), 0.005]),
    ]
}

#[test]
fn the_ramp_starts_soon_and_completes_for_every_hand_and_nothing_but_the_tool_moves_before() {
    for (name, path) in hands() {
        let safety = Safety { engage_ramp_s: 0.5, ..Safety::default() };
        let settings = Settings { safety, ..settings(400.0, 1.0) };
        let mut rendering = rendering(PrescribedDevice::new(2, path), world(&tower()), &settings);
        let start = rendering.world().state.bodies.clone();
        let mut waited = 0;
        while rendering.tick(Default::default(), 0).phase == Phase::Waiting {
            waited += 1;
            assert!(waited < SOON, "{name}");
            assert_eq!(rendering.last().force_n, Vector2::zeros(), "{name}");
            let bodies = &rendering.world().state.bodies;
            assert!((2..bodies.len()).all(|body| bodies[body] == start[body]), "{name}");
        }
        let mut last_n = rendering.last().force_n;
        for tick in 2..=500 {
            let report = rendering.tick(Default::default(), 0);
            assert_eq!(report.fault, None, "{name}");
            assert!((report.fraction - f64::from(tick) / 500.0).abs() < 1e-12, "{name}");
            assert!(report.force_n.norm() <= 4.0 * report.fraction + 1e-12, "{name}");
            assert!((report.force_n - last_n).norm() <= 2.0 + 1e-9, "{name}");
            last_n = report.force_n;
        }
        assert_eq!(rendering.last().phase, Phase::Engaged, "{name}");
        let gain_j = rendering.last().felt.energy.gain_max_j;
        assert!(gain_j < 1e-5, "{name}: {gain_j} J");
    }
}

#[test]
fn a_hand_in_a_block_pushes_it_gently_and_a_hand_behind_the_tower_leaves_it_standing() {
    for (name, is_pushed) in [("in a block", true), ("behind the tower", false)] {
        let (_, path) = hands().into_iter().find(|(other, _)| *other == name).unwrap();
        let safety = Safety { engage_ramp_s: 1.0, ..Safety::default() };
        let settings = Settings { safety, ..settings(400.0, 1.0) };
        let mut rendering = rendering(PrescribedDevice::new(2, path), world(&tower()), &settings);
        let start = rendering.world().state.bodies.clone();
        (0..1500).for_each(|_| _ = rendering.tick(Default::default(), 0));
        let moved_m = (2..5).map(|body| (rendering.world().state.bodies[body].centre_m - start[body].centre_m).norm());
        assert_eq!(moved_m.fold(0.0, f64::max) > 1e-3, is_pushed, "{name}");
    }
}

#[test]
fn without_a_ramp_the_world_starts_as_written() {
    let passivity = Passivity::Observer;
    let safety = Safety { engage_ramp_s: 0.0, slew_n_per_s: 0.0, passivity, ..Safety::default() };
    let bare = Settings { safety, ..settings(400.0, 1.0) };
    let device = PrescribedDevice::new(2, |_| vector![0.05, 0.06]);
    let mut rendering = rendering(device, world(&floor_and_tool(0.0)), &bare);
    let report = rendering.tick(Default::default(), 0);
    assert_eq!(report.phase, Phase::Engaged);
    assert!((report.tool.centre_m - vector![0.0, 0.03]).norm() < 1e-4, "{}", report.tool.centre_m);
    assert!(report.force_n.norm() > 1.0, "the spring is stretched from the start: {}", report.force_n);
}

/// Random events: commands, stalls and, from the device, faults of every kind.
struct Events {
    random: Random,
    is_paused: bool,
    is_stopped: bool,
    /// Last force that was written to the device, N.
    acting_n: Vector2<f64>,
}

impl Events {
    /// Applies at most one command, and returns the number of periods that the next tick skips.
    fn next(&mut self, rendering: &mut HapticLoop) -> u32 {
        match self.random.index(140) {
            0 => self.stop(rendering, true),
            1..=3 => self.stop(rendering, false),
            4 => self.pause(rendering, true),
            5..=7 => self.pause(rendering, false),
            8 => _ = rendering.apply(Command::Step(3)),
            9 => _ = rendering.apply(Command::ReplaceWorld(Box::new(world(&tower())))),
            10 => {
                let offset_m = vector![0.01 * self.random.index(3) as f64, 0.0];
                let shifted = MappingSettings { offset_m, ..MappingSettings::default() };
                rendering.apply(Command::SetMapping(shifted.activate(2).unwrap()));
            }
            11 => {
                let target_m = vector![self.random.between(-0.1, 0.1), self.random.between(-0.1, 0.1)];
                rendering.apply(Command::GuideHand(Some(target_m)));
            }
            12 => _ = rendering.apply(Command::GuideHand(None)),
            13 => {
                let max_force_n = 1.0 + self.random.index(4) as f64;
                let safety = Safety { max_force_n, engage_ramp_s: 0.05, ..Safety::default() };
                rendering.apply(Command::SetSafety(safety));
            }
            14 => return [1, 3, 6, 50, 99, 100, 300, 5000][self.random.index(8)],
            _ => {}
        }
        0
    }

    fn stop(&mut self, rendering: &mut HapticLoop, is_stopped: bool) {
        rendering.apply(if is_stopped { Command::Stop } else { Command::Release });
        self.is_stopped = is_stopped;
    }

    fn pause(&mut self, rendering: &mut HapticLoop, is_paused: bool) {
        rendering.apply(if is_paused { Command::Pause } else { Command::Resume });
        self.is_paused = is_paused;
    }

    /// Asserts that a tick has gone from one row of the table of phases to a permitted one, with a permitted force.
    fn assert_in_table(&self, before: &TickReport, now: &TickReport, max_force_n: f64) {
        let case = format!("tick {}: {:?} to {:?}, {:?}", now.tick, before.phase, now.phase, now.fault);
        let force_n = now.force_n.norm();
        assert_eq!(now.phase == Phase::Stopped, self.is_stopped, "{case}");
        let is_off = matches!(now.phase, Phase::Waiting | Phase::Stopped) || now.fault.is_some() || self.is_paused;
        assert!(!is_off || force_n == 0.0, "{case}: {force_n} N");
        assert!(now.fault.is_none() || matches!(now.phase, Phase::Waiting | Phase::Stopped), "{case}");
        assert!(now.phase != Phase::Engaged || now.fraction == 1.0, "{case}: {}", now.fraction);
        assert!(now.phase != Phase::Engaged || !now.stale, "{case}: engaged over a stale link");
        assert!(now.phase != Phase::Engaged || matches!(before.phase, Phase::Engaged | Phase::Ramping), "{case}");
        assert!(now.skipped < 5 || force_n == 0.0, "{case}: {force_n} N after a stall");
        assert!(now.skipped < 100 || matches!(now.phase, Phase::Waiting | Phase::Stopped), "{case}: after a stall");
        assert!(force_n <= max_force_n * now.fraction + 1e-9, "{case}: {force_n} N of {max_force_n} N");
        let rise_n = (now.force_n - project_onto_segment(self.acting_n, now.force_n)).norm();
        assert!(rise_n <= 2.0 + 1e-9, "{case}: rose by {rise_n} N");
    }
}

#[test]
fn random_events_never_leave_the_table_of_phases() {
    let path = [[0.0, 0.0, 0.03], [0.4, 0.05, 0.01], [0.8, -0.05, 0.0], [1.2, 0.0, 0.03]];
    let looped = HandModel { looped: true, ..hand(&path) };
    let chance = PerKind {
        dropped: 0.01,
        repeated: 0.01,
        not_a_number: 3e-4,
        jump: 3e-4,
        late: 0.005,
        loss: 2e-4,
        write_failure: 3e-4,
        write_busy: 0.01,
    };
    let mut phases = [0u32; 4];
    for seed in 1..=4 {
        let device = FaultyDevice::new(simulated(Some(&looped)), FaultPlan { seed, chance, ..FaultPlan::default() });
        let mut rendering = rendering(device, world(&tower()), &settings(400.0, 1.0));
        let mut events =
            Events { random: Random(seed), is_paused: false, is_stopped: false, acting_n: Vector2::zeros() };
        for _ in 0..250_000 {
            let skipped = events.next(&mut rendering);
            let before = *rendering.last();
            let now = *rendering.tick(Default::default(), skipped);
            events.assert_in_table(&before, &now, 4.0);
            if now.sent == WriteOutcome::Written {
                events.acting_n = now.force_n;
            }
            phases[now.phase as usize] += 1;
        }
    }
    assert!(phases.iter().all(|&ticks| ticks > 10_000), "every phase is visited: {phases:?}");
}
