//! Recordings replay bit for bit. Where this is impossible, the result names the tick.
//!
//! `HAPTICD_REPLAY_SECONDS` sets the length of the runs in the matrix, and `HAPTICD_REPLAY_FOLDER` names a folder for
//! their recordings, for replay by another build.

use haptic_config::builtin::SCENES;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_coupling::coupling::Gains;
use haptic_device::faulty::{FaultPlan, FaultyDevice, InjectedFault, PerKind};
use haptic_device::{Device, FaultCode, MonotonicNs};
use haptic_loop::command::Command;
use haptic_loop::engagement::Phase;
use haptic_loop::report::TickReport;
use haptic_loop::settings::{MappingSettings, Safety};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_record::header::{Header, Text};
use haptic_record::worlds::{WorldSource, Worlds};
use haptic_testing::TestFolder;
use hapticd::cli::{InputArguments, RecordArguments};
use hapticd::recording::kept::OpenRecording;
use hapticd::recording::replay::{Replay, ReplayResult, Settings};
use hapticd::recording::simulated::{Beginning, SimulatedRecording};
use nalgebra::Vector2;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const DEVICES: [&str; 2] = ["simulated-2dof", "simulated-1dof"];
/// Number of ticks after which the commands repeat.
const TICKS_PER_ROUND: u64 = 6000;
/// Scene of the matrix that is replaced during the run.
const CHANGED_SCENE: &str = "tower";

fn ticks() -> u64 {
    let seconds = std::env::var("HAPTICD_REPLAY_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    seconds.unwrap_or(2) * 1000
}

/// A recorded run in virtual time.
pub struct Run {
    pub rendering: HapticLoop,
    recording: SimulatedRecording,
    pub worlds: Worlds,
    pub header: Header,
    axes: u8,
}

impl Run {
    fn new(scene: &str, device: &str, plan: FaultPlan, file: &Path, arguments: &RecordArguments) -> Self {
        let input =
            InputArguments { scene: Some(scene.to_owned()), device: Some(device.to_owned()), ..Default::default() };
        Self::of_setup(Setup::open(&input, None).unwrap(), plan, file, arguments)
    }

    pub fn of_setup(setup: Setup, plan: FaultPlan, file: &Path, arguments: &RecordArguments) -> Self {
        let device: Box<dyn Device> = Box::new(FaultyDevice::new(setup.simulated_device().unwrap(), plan));
        let beginning = Beginning::of(&setup, device.as_ref());
        let (worlds, header) = (beginning.worlds().clone(), beginning.header().clone());
        let recording = beginning.create(file, arguments).unwrap();
        let axes = setup.device.axes as u8;
        Self { rendering: setup.into_loop(device).unwrap(), recording, worlds, header, axes }
    }

    /// Abandons the recording and starts another mid-run.
    pub fn record_from_here(&mut self, file: &Path) {
        let mut header = self.header.clone();
        let world = self.rendering.world().number();
        let notes = self.worlds.get(world).unwrap();
        header.texts.scene = Text { name: notes.name, text: notes.text };
        let beginning = Beginning::mid_run(Header { world, ..header }, self.worlds.clone(), &self.rendering);
        self.recording = beginning.create_mid_run(file, &RecordArguments::default(), &self.rendering).unwrap();
    }

    pub fn plain(scene: &str, file: &Path) -> Self {
        Self::new(scene, DEVICES[0], FaultPlan::default(), file, &RecordArguments::default())
    }

    pub fn apply(&mut self, command: Command) {
        self.recording.command(&command, self.rendering.last().tick + 1);
        drop(self.rendering.apply(command));
    }

    pub fn tick_without_record(&mut self) -> TickReport {
        let tick = self.rendering.last().tick + 1;
        // Skips three periods now and then, as a busy machine does.
        self.tick_after(u32::from(tick.is_multiple_of(701)) * 3)
    }

    pub fn tick_after(&mut self, skipped: u32) -> TickReport {
        let tick = self.rendering.last().tick + 1;
        *self.rendering.tick(MonotonicNs(tick * 1_000_000 + tick % 7), skipped)
    }

    pub fn tick(&mut self) {
        let report = self.tick_without_record();
        self.record(&report);
    }

    pub fn record(&mut self, report: &TickReport) {
        self.recording.tick_as(report, &self.rendering);
    }

    pub fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    pub fn end(self) -> String {
        assert_eq!(self.recording.finish().error, None);
        format!("{:016x}", self.rendering.world().state.hash())
    }

    /// Applies every command of a profile, a viewer and a mouse, except a change of world, in the first two seconds of
    /// every six-second round. Gains, limits and mapping differ between rounds.
    fn order_of(&mut self, tick: u64) {
        let round = tick / TICKS_PER_ROUND;
        let fraction = (round % 5) as f64;
        let gains = Gains { stiffness_n_per_m: 250.0 + 80.0 * fraction, damping_n_s_per_m: 0.2, ..Gains::default() };
        let safety = Safety { max_force_n: 2.5 + 0.3 * fraction, engage_ramp_s: 0.1, ..Safety::default() };
        let scale = if round.is_multiple_of(2) { 1.25 } else { 1.0 };
        let mapping = MappingSettings { scale, ..MappingSettings::default() };
        match tick % TICKS_PER_ROUND {
            300 => self.apply(Command::SetGains(gains)),
            420 => self.apply(Command::SetSafety(safety)),
            600 => self.apply(Command::SetMapping(mapping.activate(self.axes).unwrap())),
            800 => self.apply(Command::Pause),
            850 => self.apply(Command::Step(20)),
            900 => self.apply(Command::Resume),
            1100 => self.apply(Command::GuideHand(Some(Vector2::new(0.01, 0.02)))),
            1300 => self.apply(Command::GuideHand(None)),
            _ => {}
        }
    }

    pub fn replace_world(&mut self, name: &str) {
        let source = SCENES.built_in(name).unwrap();
        let scene = haptic_config::scene::load(&source).unwrap();
        let notes = WorldSource { name: source.name, text: source.text, scene: Arc::new(scene.clone()) };
        let number = self.worlds.add(notes);
        self.apply(Command::ReplaceWorld(Box::new(World::new(scene).numbered(number))));
    }
}

/// Returns a plan with faults of every kind, random and scheduled: about one in two seconds, so that the force engages
/// in between.
fn random_faults(seed: u64) -> FaultPlan {
    let chance = PerKind {
        dropped: 0.01,
        repeated: 0.005,
        not_a_number: 0.0001,
        jump: 0.0001,
        late: 0.003,
        loss: 0.0001,
        write_failure: 0.0002,
        write_busy: 0.005,
    };
    let scheduled = vec![
        (700, InjectedFault::Loss { ticks: 150 }),
        (1000, InjectedFault::NotANumber),
        (1200, InjectedFault::WriteFailure),
    ];
    FaultPlan { seed, chance, scheduled, ..FaultPlan::default() }
}

pub fn replayed(file: &Path) -> (ReplayResult, Vec<String>) {
    let recording = OpenRecording::open(file).unwrap();
    let events = recording.events.iter().map(|event| event.message.clone()).collect();
    let replay = Replay::new(&recording, Settings::AsRecorded).unwrap();
    (replay.run(&recording, |_| Ok(())).unwrap().0, events)
}

/// Runs one combination of the matrix. Only `CHANGED_SCENE` is replaced during the run, after three quarters of it.
fn run_of_matrix(scene: &str, device: &str, seed: u64, file: &Path) -> (Run, u64) {
    let mut run = Run::new(scene, device, random_faults(seed), file, &RecordArguments::default());
    let mut with_force = 0;
    for tick in 1..=ticks() {
        run.order_of(tick);
        if scene == CHANGED_SCENE && tick == ticks() * 3 / 4 {
            run.replace_world("wall");
        }
        run.tick();
        with_force += u64::from(run.rendering.last().phase != Phase::Waiting);
    }
    (run, with_force)
}

#[test]
fn ten_scenes_with_two_devices_faults_and_reloads_replay_bit_for_bit() {
    let folder = TestFolder::new();
    let stored = std::env::var_os("HAPTICD_REPLAY_FOLDER").map(PathBuf::from);
    for (index, (scene, _)) in SCENES.entries.iter().take(10).enumerate() {
        for device in DEVICES {
            let name = format!("{scene}-{device}.mcap");
            let file = stored.as_ref().map_or_else(|| folder.join(&name), |stored| stored.join(&name));
            let (run, with_force) = run_of_matrix(scene, device, index as u64 + 1, &file);
            let faults = run.rendering.counters().faults;
            let hash = run.end();
            let (result, _) = replayed(&file);
            println!("{scene} {device}: {} ticks, {with_force} with force, {faults} faults, {hash}", result.ticks);
            assert!(faults > 2, "{scene} {device}: {faults} faults");
            assert!(with_force > ticks() / 100, "{scene} {device}: force in {with_force} ticks only");
            assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{scene} {device}");
            assert_eq!(
                (result.ticks, &result.state_hash, result.truncated),
                (ticks(), &hash, false),
                "{scene} {device}"
            );
            if stored.is_none() {
                std::fs::remove_file(&file).unwrap();
            }
        }
    }
}

#[test]
fn a_device_that_fails_for_good_is_replayed_too() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let scheduled = vec![(300, InjectedFault::Failure(FaultCode::Device { code: 7, detail: 1234 }))];
    let plan = FaultPlan { scheduled, ..FaultPlan::default() };
    let mut run = Run::new("table", DEVICES[0], plan, &file, &RecordArguments::default());
    run.ticks(500);
    let hash = run.end();
    let (result, events) = replayed(&file);
    assert_eq!((result.first_difference, result.state_hash), (None, hash));
    assert!(events.iter().any(|event| event.contains("fault 7, detail 1234")), "{events:?}");
}

#[test]
fn one_flipped_bit_in_a_reading_is_named_with_its_tick_and_body() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(699);
    let mut report = run.tick_without_record();
    let position_m = &mut report.reading.position_m;
    position_m.x = f64::from_bits(position_m.x.to_bits() ^ 1);
    run.recording.tick_as(&report, &run.rendering);
    run.ticks(300);
    run.end();
    let difference = replayed(&file).0.first_difference.unwrap();
    assert_eq!((difference.tick, difference.what), (700, "state"));
    let tool =
        { OpenRecording::open(&file).unwrap().header.texts.scene.text.contains(&difference.body.clone().unwrap()) };
    assert!(tool, "{difference:?}");
    assert!(difference.bodies.contains(&difference.body.unwrap()));
}

#[test]
fn a_force_that_was_recorded_differently_is_named_with_its_tick() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(499);
    let mut report = run.tick_without_record();
    report.effort_n.y += 1e-15;
    run.recording.tick_as(&report, &run.rendering);
    run.end();
    let difference = replayed(&file).0.first_difference.unwrap();
    assert_eq!((difference.tick, difference.what), (500, "force"));
}

#[test]
fn missing_ticks_end_the_verified_range_up_to_a_checkpoint_and_are_reported() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(499);
    (0..10).for_each(|_| _ = run.tick_without_record());
    run.ticks(100);
    run.end();
    let (result, events) = replayed(&file);
    let unproved = result.unproved.unwrap();
    // The checkpoint requested there is written after tick 511.
    assert_eq!((unproved.from_tick, unproved.until_tick, result.first_difference), (500, Some(512), None));
    assert_eq!(result.ticks, 499 + 98);
    assert!(unproved.reason.contains("500 to 509"), "{}", unproved.reason);
    assert!(events.iter().any(|event| event.starts_with("10 ticks are missing")), "{events:?}");
}

#[test]
fn missing_commands_end_the_verified_range_up_to_a_checkpoint() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(100);
    // More than the capacity of the command ring.
    (0..70).for_each(|_| run.apply(Command::Pause));
    run.apply(Command::Resume);
    run.ticks(50);
    run.end();
    let unproved = replayed(&file).0.unproved.unwrap();
    assert_eq!((unproved.from_tick, unproved.reason.as_str()), (101, "7 commands are missing"));
    assert_eq!(unproved.until_tick, Some(103));
}

#[test]
fn a_recording_that_starts_mid_run_replays_from_there_in_every_scene() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    for (index, (scene, _)) in SCENES.entries.iter().take(10).enumerate() {
        for (device, begin) in DEVICES.into_iter().zip([700 + 13 * index as u64, 830]) {
            let mut run = Run::new(scene, device, random_faults(index as u64), &file, &RecordArguments::default());
            for tick in 1..=1600 {
                if tick == begin {
                    run.record_from_here(&file);
                }
                run.order_of(tick);
                run.tick();
            }
            let hash = run.end();
            let result = replayed(&file).0;
            assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{scene} {device}");
            assert_eq!((result.ticks, &result.state_hash), (1601 - begin, &hash), "{scene} {device}");
        }
    }
}

#[test]
fn a_mid_run_recording_has_the_gains_the_pause_and_the_world_from_before_it() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(400);
    run.replace_world("tower");
    run.ticks(400);
    run.apply(Command::SetGains(Gains { stiffness_n_per_m: 700.0, ..Gains::default() }));
    run.ticks(20);
    run.apply(Command::Pause);
    run.ticks(5);
    run.apply(Command::Step(10));
    run.ticks(3);
    run.record_from_here(&file);
    run.ticks(50);
    run.apply(Command::Resume);
    run.ticks(700);
    let hash = run.end();
    let result = replayed(&file).0;
    assert_eq!((result.first_difference, result.unproved), (None, None));
    assert_eq!((result.ticks, result.state_hash), (750, hash));
    let recording = OpenRecording::open(&file).unwrap();
    let soft = haptic_config::profile::load(&Source::in_memory("soft", "[coupling]\nstiffness_n_per_m = 100.0\n"));
    let replay = Replay::new(&recording, Settings::Of(Box::new(soft.unwrap()))).unwrap();
    let (result, rendering) = replay.run(&recording, |_| Ok(())).unwrap();
    assert_eq!((result.ticks, rendering.gains().stiffness_n_per_m), (750, 100.0));
}

#[test]
fn a_truncated_file_opens_up_to_its_last_complete_chunk() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(3500);
    run.end();
    let bytes = std::fs::read(&file).unwrap();
    let mut longest = 0;
    for fraction in [0.3, 0.5, 0.75, 0.9, 0.97, 0.999] {
        std::fs::write(&file, &bytes[..(bytes.len() as f64 * fraction) as usize]).unwrap();
        let result = replayed(&file).0;
        assert!(result.truncated, "{fraction}");
        assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{fraction}");
        assert!(result.ticks >= longest, "{fraction}");
        longest = result.ticks;
    }
    assert!(longest >= 3000, "{longest}");
}

#[test]
fn damage_is_reported_and_the_part_before_it_is_still_compared() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(3500);
    run.end();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&file, bytes).unwrap();
    let result = replayed(&file).0;
    assert_eq!(result.first_difference, None);
    assert!(result.ticks >= 1000 && result.ticks < 3500, "{}", result.ticks);
    assert!(result.unproved.is_some_and(|unproved| unproved.reason.starts_with("the file is damaged")));
}

#[test]
fn a_recording_in_several_files_is_replayed_through_all_of_them_and_each_alone() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let arguments = RecordArguments { record_rotate_minutes: Some(1.0 / 60.0), ..RecordArguments::default() };
    let mut run = Run::new("tower", DEVICES[0], random_faults(3), &file, &arguments);
    for tick in 1..=2500 {
        run.order_of(tick);
        run.tick();
    }
    let hash = run.end();
    let third = folder.join("a-3.mcap");
    let result = replayed(&third).0;
    assert_eq!((result.ticks, &result.state_hash, result.first_difference), (2500, &hash, None));
    // A file ends one tick after it has reached its length, when the checkpoint for the next file is available.
    assert_eq!(replayed(&folder.join("a-2.mcap")).0.ticks, 2002);
    std::fs::remove_file(&file).unwrap();
    let alone = replayed(&third).0;
    assert_eq!((alone.ticks, alone.state_hash, alone.first_difference, alone.unproved), (498, hash, None, None));
}
