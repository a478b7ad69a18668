//! What was recorded comes out the same to the bit when it is run again, and where it cannot, the place is named.
//!
//! `HAPTICD_REPLAY_SECONDS` makes the runs of the matrix longer, and `HAPTICD_REPLAY_FOLDER` keeps their recordings, to be
//! replayed by another build.

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
/// Orders come again after so many ticks.
const TICKS_PER_ROUND: u64 = 6000;
/// The scene of the matrix that another takes the place of.
const CHANGED_SCENE: &str = "tower";

fn ticks() -> u64 {
    let seconds = std::env::var("HAPTICD_REPLAY_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    seconds.unwrap_or(2) * 1000
}

/// A run in virtual time that is recorded.
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

    /// Ends the recording and begins another in the midst of the run.
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

    pub fn order(&mut self, command: Command) {
        self.recording.command(&command, self.rendering.last().tick + 1);
        drop(self.rendering.apply(command));
    }

    pub fn tick_without_record(&mut self) -> TickReport {
        let tick = self.rendering.last().tick + 1;
        // Now and then a period is skipped, as on a busy machine.
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
        self.recording.tick_as(report, &self.rendering).unwrap();
    }

    pub fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    pub fn end(self) -> String {
        self.recording.finish().unwrap();
        format!("{:016x}", self.rendering.world().state.hash())
    }

    /// Everything that a profile, a viewer and a mouse can tell the loop but for another world, in the first two of every six
    /// seconds; every round has gains, limits and a mapping of its own.
    fn order_of(&mut self, tick: u64) {
        let round = tick / TICKS_PER_ROUND;
        let share = (round % 5) as f64;
        let gains = Gains { stiffness_n_per_m: 250.0 + 80.0 * share, damping_n_s_per_m: 0.2, ..Gains::default() };
        let safety = Safety { max_force_n: 2.5 + 0.3 * share, engage_ramp_s: 0.1, ..Safety::default() };
        let scale = if round.is_multiple_of(2) { 1.25 } else { 1.0 };
        let mapping = MappingSettings { scale, ..MappingSettings::default() };
        match tick % TICKS_PER_ROUND {
            300 => self.order(Command::SetGains(gains)),
            420 => self.order(Command::SetSafety(safety)),
            600 => self.order(Command::SetMapping(mapping.activate(self.axes).unwrap())),
            800 => self.order(Command::Pause),
            850 => self.order(Command::Step(20)),
            900 => self.order(Command::Resume),
            1100 => self.order(Command::GuideHand(Some(Vector2::new(0.01, 0.02)))),
            1300 => self.order(Command::GuideHand(None)),
            _ => {}
        }
    }

    pub fn replace_world(&mut self, name: &str) {
        let source = SCENES.built_in(name).unwrap();
        let scene = haptic_config::scene::load(&source).unwrap();
        let notes = WorldSource { name: source.name, text: source.text, scene: Arc::new(scene.clone()) };
        let number = self.worlds.add(notes);
        self.order(Command::ReplaceWorld(Box::new(World::new(scene).numbered(number))));
    }
}

/// Faults of every kind, by chance and on schedule: about one in two seconds, so that there is force in between.
fn troubles(seed: u64) -> FaultPlan {
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
    let kept = OpenRecording::open(file).unwrap();
    let events = kept.events.iter().map(|event| event.message.clone()).collect();
    let replay = Replay::new(&kept, Settings::AsRecorded).unwrap();
    (replay.run(&kept, |_| Ok(())).unwrap().0, events)
}

/// One run of the matrix: its own scene all the time, but for one that is changed when three quarters are over.
fn run_of_matrix(scene: &str, device: &str, seed: u64, file: &Path) -> (Run, u64) {
    let mut run = Run::new(scene, device, troubles(seed), file, &RecordArguments::default());
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
fn ten_scenes_with_two_devices_faults_and_reloads_replay_to_the_bit() {
    let folder = TestFolder::new();
    let kept = std::env::var_os("HAPTICD_REPLAY_FOLDER").map(PathBuf::from);
    for (index, (scene, _)) in SCENES.entries.iter().take(10).enumerate() {
        for device in DEVICES {
            let name = format!("{scene}-{device}.mcap");
            let file = kept.as_ref().map_or_else(|| folder.join(&name), |kept| kept.join(&name));
            let (run, with_force) = run_of_matrix(scene, device, index as u64 + 1, &file);
            let faults = run.rendering.counters().faults;
            let hash = run.end();
            let (proof, _) = replayed(&file);
            println!("{scene} {device}: {} ticks, {with_force} with force, {faults} faults, {hash}", proof.ticks);
            assert!(faults > 2, "{scene} {device}: {faults} faults");
            assert!(with_force > ticks() / 100, "{scene} {device}: force came on in {with_force} ticks only");
            assert_eq!((&proof.first_difference, &proof.unproved), (&None, &None), "{scene} {device}");
            assert_eq!((proof.ticks, &proof.state_hash, proof.truncated), (ticks(), &hash, false), "{scene} {device}");
            if kept.is_none() {
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
    let (proof, events) = replayed(&file);
    assert_eq!((proof.first_difference, proof.state_hash), (None, hash));
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
    run.recording.tick_as(&report, &run.rendering).unwrap();
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
    run.recording.tick_as(&report, &run.rendering).unwrap();
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
    let (proof, events) = replayed(&file);
    let unproved = proof.unproved.unwrap();
    // The image that is asked for then comes after tick 511.
    assert_eq!((unproved.from_tick, unproved.until_tick, proof.first_difference), (500, Some(512), None));
    assert_eq!(proof.ticks, 499 + 98);
    assert!(unproved.reason.contains("500 to 509"), "{}", unproved.reason);
    assert!(events.iter().any(|event| event.starts_with("10 ticks are missing")), "{events:?}");
}

#[test]
fn missing_orders_end_what_can_be_proven_up_to_a_checkpoint() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(100);
    // More than the ring for commands holds.
    (0..70).for_each(|_| run.order(Command::Pause));
    run.order(Command::Resume);
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
            let mut run = Run::new(scene, device, troubles(index as u64), &file, &RecordArguments::default());
            for tick in 1..=1600 {
                if tick == begin {
                    run.record_from_here(&file);
                }
                run.order_of(tick);
                run.tick();
            }
            let hash = run.end();
            let proof = replayed(&file).0;
            assert_eq!((&proof.first_difference, &proof.unproved), (&None, &None), "{scene} {device}");
            assert_eq!((proof.ticks, &proof.state_hash), (1601 - begin, &hash), "{scene} {device}");
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
    run.order(Command::SetGains(Gains { stiffness_n_per_m: 700.0, ..Gains::default() }));
    run.ticks(20);
    run.order(Command::Pause);
    run.ticks(5);
    run.order(Command::Step(10));
    run.ticks(3);
    run.record_from_here(&file);
    run.ticks(50);
    run.order(Command::Resume);
    run.ticks(700);
    let hash = run.end();
    let proof = replayed(&file).0;
    assert_eq!((proof.first_difference, proof.unproved), (None, None));
    assert_eq!((proof.ticks, proof.state_hash), (750, hash));
    let kept = OpenRecording::open(&file).unwrap();
    let soft = haptic_config::profile::load(&Source::in_memory("soft", "[coupling]\nstiffness_n_per_m = 100.0\n"));
    let replay = Replay::new(&kept, Settings::Of(Box::new(soft.unwrap()))).unwrap();
    let (proof, rendering) = replay.run(&kept, |_| Ok(())).unwrap();
    assert_eq!((proof.ticks, rendering.gains().stiffness_n_per_m), (750, 100.0));
}

#[test]
fn a_file_cut_anywhere_opens_up_to_its_last_whole_chunk() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(3500);
    run.end();
    let bytes = std::fs::read(&file).unwrap();
    let mut most = 0;
    for share in [0.3, 0.5, 0.75, 0.9, 0.97, 0.999] {
        std::fs::write(&file, &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
        let proof = replayed(&file).0;
        assert!(proof.truncated, "{share}");
        assert_eq!((&proof.first_difference, &proof.unproved), (&None, &None), "{share}");
        assert!(proof.ticks >= most, "{share}");
        most = proof.ticks;
    }
    assert!(most >= 3000, "{most}");
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
    let proof = replayed(&file).0;
    assert_eq!(proof.first_difference, None);
    assert!(proof.ticks >= 1000 && proof.ticks < 3500, "{}", proof.ticks);
    assert!(proof.unproved.is_some_and(|unproved| unproved.reason.starts_with("the file is damaged")));
}

#[test]
fn a_recording_in_several_files_is_replayed_through_all_of_them_and_each_alone() {
    let folder = TestFolder::new();
    let file = folder.join("a.mcap");
    let arguments = RecordArguments { record_rotate_minutes: Some(1.0 / 60.0), ..RecordArguments::default() };
    let mut run = Run::new("tower", DEVICES[0], troubles(3), &file, &arguments);
    for tick in 1..=2500 {
        run.order_of(tick);
        run.tick();
    }
    let hash = run.end();
    let third = folder.join("a-3.mcap");
    let proof = replayed(&third).0;
    assert_eq!((proof.ticks, &proof.state_hash, proof.first_difference), (2500, &hash, None));
    // A file ends with the tick after the one in which it was long enough: then the image for the next has come.
    assert_eq!(replayed(&folder.join("a-2.mcap")).0.ticks, 2002);
    std::fs::remove_file(&file).unwrap();
    let alone = replayed(&third).0;
    assert_eq!((alone.ticks, alone.state_hash, alone.first_difference, alone.unproved), (498, hash, None, None));
}
