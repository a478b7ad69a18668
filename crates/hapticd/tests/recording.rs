//! What was recorded comes out the same to the bit when it is run again, and where it cannot, the place is named.
//!
//! `HAPTICD_REPLAY_SECONDS` makes the runs longer.

use haptic_coupling::coupling::Gains;
use haptic_device::faulty::{Fault, FaultPlan, FaultyDevice, PerKind};
use haptic_device::{Device, FaultCode, MonotonicNs};
use haptic_loop::command::Command;
use haptic_loop::report::TickReport;
use haptic_loop::settings::{MappingSettings, Safety};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_record::worlds::WorldNotes;
use hapticd::cli::{InputArguments, RecordArguments};
use hapticd::files::builtin::SCENES;
use hapticd::recording::kept::Kept;
use hapticd::recording::replay::{Proof, Replay, Settings};
use hapticd::recording::simulated::{Beginning, SimulatedRecording};
use hapticd::setup::Setup;
use nalgebra::Vector2;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DEVICES: [&str; 2] = ["simulated-2dof", "simulated-1dof"];

fn ticks() -> u64 {
    let seconds = std::env::var("HAPTICD_REPLAY_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    seconds.unwrap_or(2) * 1000
}

/// A folder that ends with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-recording-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A run in virtual time that is recorded.
struct Run {
    rendering: HapticLoop,
    recording: SimulatedRecording,
    worlds: haptic_record::worlds::Worlds,
    axes: u8,
}

impl Run {
    fn new(scene: &str, device: &str, plan: FaultPlan, file: &Path, arguments: &RecordArguments) -> Self {
        let input =
            InputArguments { scene: Some(scene.to_owned()), device: Some(device.to_owned()), ..Default::default() };
        let setup = Setup::open(&input, None).unwrap();
        let device: Box<dyn Device> = Box::new(FaultyDevice::new(setup.simulated_device().unwrap(), plan));
        let beginning = Beginning::of(&setup, device.as_ref());
        let worlds = beginning.worlds().clone();
        let recording = beginning.create(file, arguments).unwrap();
        let axes = setup.device.axes as u8;
        Self { rendering: setup.into_loop(device).unwrap(), recording, worlds, axes }
    }

    fn plain(scene: &str, file: &Path) -> Self {
        Self::new(scene, DEVICES[0], FaultPlan::default(), file, &RecordArguments::default())
    }

    fn order(&mut self, command: Command) {
        self.recording.order(&command, self.rendering.last().tick + 1);
        drop(self.rendering.apply(command));
    }

    fn tick_without_record(&mut self) -> TickReport {
        let tick = self.rendering.last().tick + 1;
        // Now and then a period is skipped, as on a busy machine.
        let skipped = u32::from(tick.is_multiple_of(701)) * 3;
        *self.rendering.tick(MonotonicNs(tick * 1_000_000 + tick % 7), skipped)
    }

    fn tick(&mut self) {
        let report = self.tick_without_record();
        self.recording.tick(&report, self.rendering.world()).unwrap();
    }

    fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    fn end(self) -> String {
        self.recording.finish().unwrap();
        format!("{:016x}", self.rendering.world().state.hash())
    }

    /// Everything that a profile, a viewer and a mouse can tell the loop.
    fn order_of(&mut self, tick: u64) {
        let gains = |stiffness_n_per_m| Gains { stiffness_n_per_m, damping_n_s_per_m: 0.2, ..Gains::default() };
        let mapping = MappingSettings { scale: 1.25, ..MappingSettings::default() };
        match tick {
            300 => self.order(Command::Retune(gains(250.0))),
            420 => self.order(Command::Protect(Safety { max_force_n: 2.5, ..Safety::default() })),
            600 => self.order(Command::Remap(mapping.frame(self.axes).unwrap())),
            800 => self.order(Command::Pause),
            850 => self.order(Command::Step(20)),
            900 => self.order(Command::Resume),
            1100 => self.order(Command::GuideHand(Some(Vector2::new(0.01, 0.02)))),
            1300 => self.order(Command::GuideHand(None)),
            1500 => self.replace_world("wall"),
            _ => {}
        }
    }

    fn replace_world(&mut self, name: &str) {
        let source = SCENES.built_in(name).unwrap();
        let scene = hapticd::files::scene::load(&source).unwrap();
        let notes = WorldNotes { name: source.name, text: source.text, scene: Arc::new(scene.clone()) };
        let number = self.worlds.add(notes);
        self.order(Command::Replace(Box::new(World::new(scene).numbered(number))));
    }
}

/// Faults of every kind, by chance and on schedule.
fn troubles(seed: u64) -> FaultPlan {
    let chance = PerKind {
        dropped: 0.01,
        repeated: 0.005,
        not_a_number: 0.0005,
        jump: 0.0005,
        late: 0.003,
        loss: 0.0003,
        write_failure: 0.001,
        write_busy: 0.005,
    };
    let scheduled = vec![(700, Fault::Loss { ticks: 150 }), (1000, Fault::NotANumber), (1200, Fault::WriteFailure)];
    FaultPlan { seed, chance, scheduled, ..FaultPlan::default() }
}

fn replayed(file: &Path) -> (Proof, Vec<String>) {
    let kept = Kept::open(file).unwrap();
    let events = kept.events.iter().map(|event| event.message.clone()).collect();
    let replay = Replay::new(&kept, Settings::AsRecorded).unwrap();
    (replay.run(&kept, |_| Ok(())).unwrap().0, events)
}

#[test]
fn ten_scenes_with_two_devices_faults_and_reloads_replay_to_the_bit() {
    let folder = Folder::new("matrix");
    for (index, (scene, _)) in SCENES.entries.iter().take(10).enumerate() {
        for device in DEVICES {
            let file = folder.file(&format!("{scene}-{device}.mcap"));
            let mut run = Run::new(scene, device, troubles(index as u64 + 1), &file, &RecordArguments::default());
            for tick in 1..=ticks() {
                run.order_of(tick);
                run.tick();
            }
            let faults = run.rendering.tally().faults;
            let hash = run.end();
            let (proof, _) = replayed(&file);
            assert!(faults > 2, "{scene} {device}: {faults} faults");
            assert_eq!((&proof.first_difference, &proof.unproved), (&None, &None), "{scene} {device}");
            assert_eq!((proof.ticks, &proof.state_hash, proof.truncated), (ticks(), &hash, false), "{scene} {device}");
            std::fs::remove_file(&file).unwrap();
        }
    }
}

#[test]
fn a_device_that_fails_for_good_is_replayed_too() {
    let folder = Folder::new("failure");
    let file = folder.file("a.mcap");
    let scheduled = vec![(300, Fault::Failure(FaultCode::Device { code: 7, detail: 1234 }))];
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
    let folder = Folder::new("flipped");
    let file = folder.file("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(699);
    let mut report = run.tick_without_record();
    let position_m = &mut report.reading.position_m;
    position_m.x = f64::from_bits(position_m.x.to_bits() ^ 1);
    run.recording.tick(&report, run.rendering.world()).unwrap();
    run.ticks(300);
    run.end();
    let difference = replayed(&file).0.first_difference.unwrap();
    assert_eq!((difference.tick, difference.what), (700, "state"));
    let tool = { Kept::open(&file).unwrap().header.texts.scene.text.contains(&difference.body.clone().unwrap()) };
    assert!(tool, "{difference:?}");
    assert!(difference.bodies.contains(&difference.body.unwrap()));
}

#[test]
fn a_force_that_was_recorded_differently_is_named_with_its_tick() {
    let folder = Folder::new("force");
    let file = folder.file("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(499);
    let mut report = run.tick_without_record();
    report.effort_n.y += 1e-15;
    run.recording.tick(&report, run.rendering.world()).unwrap();
    run.end();
    let difference = replayed(&file).0.first_difference.unwrap();
    assert_eq!((difference.tick, difference.what), (500, "force"));
}

#[test]
fn missing_ticks_end_what_can_be_proven_and_are_told() {
    let folder = Folder::new("gap");
    let file = folder.file("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(499);
    (0..10).for_each(|_| _ = run.tick_without_record());
    run.ticks(100);
    run.end();
    let (proof, events) = replayed(&file);
    let unproved = proof.unproved.unwrap();
    assert_eq!((proof.ticks, unproved.from_tick, proof.first_difference), (499, 500, None));
    assert!(unproved.reason.contains("500 to 509"), "{}", unproved.reason);
    assert!(events.iter().any(|event| event.starts_with("10 ticks are missing")), "{events:?}");
}

#[test]
fn missing_orders_end_what_can_be_proven() {
    let folder = Folder::new("orders");
    let file = folder.file("a.mcap");
    let mut run = Run::plain("table", &file);
    run.ticks(100);
    // More than the ring for orders holds.
    (0..70).for_each(|_| run.order(Command::Pause));
    run.order(Command::Resume);
    run.ticks(50);
    run.end();
    let unproved = replayed(&file).0.unproved.unwrap();
    assert_eq!((unproved.from_tick, unproved.reason.as_str()), (101, "7 orders to the loop are missing"));
}

#[test]
fn what_begins_in_the_midst_of_a_run_says_that_it_cannot_be_proven() {
    let folder = Folder::new("midst");
    let file = folder.file("a.mcap");
    let mut run = Run::plain("table", &file);
    (0..100).for_each(|_| _ = run.tick_without_record());
    run.ticks(100);
    run.end();
    let proof = replayed(&file).0;
    assert_eq!(proof.ticks, 0);
    assert!(proof.unproved.unwrap().reason.starts_with("the recording begins with tick 101"));
}

#[test]
fn a_file_cut_anywhere_opens_up_to_its_last_whole_chunk() {
    let folder = Folder::new("cut");
    let file = folder.file("a.mcap");
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
fn damage_is_told_and_what_comes_before_it_is_still_compared() {
    let folder = Folder::new("damage");
    let file = folder.file("a.mcap");
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
fn a_recording_in_several_files_is_replayed_through_all_of_them() {
    let folder = Folder::new("parts");
    let file = folder.file("a.mcap");
    let arguments = RecordArguments { record_rotate_minutes: Some(1.0 / 60.0), ..RecordArguments::default() };
    let mut run = Run::new("tower", DEVICES[0], troubles(3), &file, &arguments);
    for tick in 1..=2500 {
        run.order_of(tick);
        run.tick();
    }
    let hash = run.end();
    let third = folder.file("a-3.mcap");
    let proof = replayed(&third).0;
    assert_eq!((proof.ticks, proof.state_hash, proof.first_difference), (2500, hash, None));
    assert_eq!(replayed(&folder.file("a-2.mcap")).0.ticks, 2000);
    std::fs::remove_file(&file).unwrap();
    let alone = replayed(&third).0;
    assert_eq!(alone.ticks, 0);
    assert!(alone.unproved.unwrap().reason.starts_with("the recording begins with tick 2001"));
}
