//! Recordings stored as test data replay bit for bit as long as the physics version does not change.
//!
//! `scripts/update-recordings` writes `tests/data/recordings` by setting `HAPTICD_UPDATE_RECORDINGS`. The format 2 file
//! was written by an earlier version and is never rewritten.

use crate::recording::{DEVICES, Run, replayed};
use haptic_config::builtin::{DEVICES as DEVICE_FILES, SCENES};
use haptic_config::profile;
use haptic_config::setup::{Setup, Sources};
use haptic_config::source::Source;
use haptic_coupling::coupling::Gains;
use haptic_device::FaultCode;
use haptic_device::faulty::{FaultPlan, InjectedFault};
use haptic_loop::command::Command;
use haptic_loop::fault::Fault;
use haptic_loop::settings::{MappingSettings, Safety};
use haptic_record::history::HistoryKeeper;
use haptic_record::reader::Item;
use haptic_record::tap::{Timing, history_tap};
use hapticd::cli::RecordArguments;
use hapticd::recording::kept::OpenRecording;
use nalgebra::Vector2;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Number of ticks in a short recording.
const TICKS: u64 = 500;
/// Tick in which the fault of a recording starts, after the ramp.
const FAULT_TICK: u64 = 60;
/// Tick before which the emergency stop is released.
const RELEASE_TICK: u64 = 75;
/// Number of ticks in the recording of a fault.
const FAULT_TICKS: u64 = 90;
/// Numbers of the faults with a recording: all but `stale`, which takes a second to develop.
const FAULTS: RangeInclusive<u8> = 1..=10;
/// A profile with a short ramp, so that the force is engaged before the fault.
const PROFILE: &str = "[safety]\nengage_ramp_s = 0.03\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings")
}

/// Returns the file name for the recording of a fault, by fault number.
fn fault_file(number: u8) -> String {
    let fault = Fault::from_code((number, [3, 0])).unwrap();
    format!("fault-{}.mcap", fault.kind())
}

#[test]
fn stored_recordings_replay_bit_for_bit() {
    if std::env::var_os("HAPTICD_UPDATE_RECORDINGS").is_some() {
        write_recordings(&folder());
    }
    let runs = ["from-tick-1.mcap", "mid-run.mcap", "black-box.mcap"].map(|name| (name.to_owned(), None));
    let faults = FAULTS.map(|number| (fault_file(number), Some(number)));
    for (name, fault) in runs.into_iter().chain(faults) {
        let file = folder().join(&name);
        let recording = OpenRecording::open(&file).unwrap();
        assert!(fault.is_none_or(|number| faults_in(&recording).contains(&number)), "{name}");
        let result = replayed(&file).0;
        assert_eq!((&result.first_difference, &result.unproved, result.truncated), (&None, &None, false), "{name}");
        assert_eq!(result.ticks, recording.ticks, "{name}");
        assert!(std::fs::metadata(&file).unwrap().len() < 100_000, "{name} is too large to keep");
    }
}

/// Returns the numbers of the faults that start in a recording.
fn faults_in(recording: &OpenRecording) -> Vec<u8> {
    let mut faults = Vec::new();
    let collect = |item| {
        if let Item::Tick(tick) = item {
            faults.extend((tick.fault != 0).then_some(tick.fault));
        }
        Ok(())
    };
    recording.visit(collect).unwrap();
    faults
}

#[test]
fn a_recording_of_another_format_is_rejected_with_both_versions() {
    let file = folder().join("format-2.mcap");
    let out = std::env::temp_dir().join(format!("hapticd-format-2-{}", std::process::id()));
    let out = out.to_str().unwrap();
    let commands: [&[&str]; 3] = [&["replay"], &["report", "--out", out], &["export", "--csv", out]];
    for arguments in commands {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hapticd"));
        let output = command.arg(arguments[0]).arg(&file).args(&arguments[1..]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("has format 2") && text.contains("supports format 3 only"), "{text}");
        assert!(!Path::new(out).exists());
    }
}

fn write_recordings(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    write_from_tick_1(&folder.join("from-tick-1.mcap"));
    write_mid_run(&folder.join("mid-run.mcap"));
    write_black_box(&folder.join("black-box.mcap"));
    FAULTS.for_each(|number| write_fault(number, &folder.join(fault_file(number))));
}

/// Writes a recording from tick 1 that contains every command.
fn write_from_tick_1(file: &Path) {
    let mut run = Run::plain("table", file);
    let mapping = MappingSettings { scale: 1.25, ..MappingSettings::default() };
    for tick in 1..=TICKS {
        match tick {
            50 => run.apply(Command::SetGains(Gains { stiffness_n_per_m: 300.0, ..Gains::default() })),
            100 => run.apply(Command::SetSafety(Safety { max_force_n: 2.5, engage_ramp_s: 0.1, ..Safety::default() })),
            150 => run.apply(Command::SetMapping(mapping.activate(2).unwrap())),
            250 => run.apply(Command::Pause),
            260 => run.apply(Command::Step(5)),
            270 => run.apply(Command::Resume),
            300 => run.apply(Command::GuideHand(Some(Vector2::new(0.01, 0.02)))),
            350 => run.apply(Command::GuideHand(None)),
            400 => run.replace_world("wall"),
            _ => {}
        }
        run.tick();
    }
    run.end();
}

/// Writes a recording that starts with a checkpoint during a gain ramp, in another world.
fn write_mid_run(file: &Path) {
    let mut run = Run::plain("table", file);
    run.ticks(200);
    run.replace_world("tower");
    run.ticks(200);
    run.apply(Command::SetGains(Gains { stiffness_n_per_m: 700.0, ..Gains::default() }));
    run.ticks(20);
    run.record_from_here(file);
    run.ticks(TICKS);
    run.end();
}

/// Writes the recording of a black box after a fault: a checkpoint, then ticks without state hashes.
fn write_black_box(file: &Path) {
    let scheduled = vec![(TICKS - 50, InjectedFault::NotANumber)];
    let plan = FaultPlan { scheduled, ..FaultPlan::default() };
    let mut run =
        Run::of_setup(setup_of(&SCENES.built_in("table").unwrap().text, ""), plan, file, &RecordArguments::default());
    let (mut tap, reader) = history_tap(run.rendering.world().moving().len());
    let mut history = HistoryKeeper::new(reader, run.worlds.clone());
    for _ in 1..=TICKS {
        let report = run.tick_without_record();
        tap.record_tick(&report, run.rendering.world(), Timing::default());
        tap.record_checkpoint(&run.rendering);
        history.drain();
    }
    let header = run.header.clone();
    run.end();
    let header_in = |world| haptic_record::header::Header { world, first_tick: 0, ..header };
    history.write(file, header_in).unwrap().unwrap();
}

fn write_fault(number: u8, file: &Path) {
    let injected = match number {
        1 => Some(InjectedFault::NotANumber),
        // The hand is so far away that the energy of the coupling is no longer finite.
        2 => Some(InjectedFault::Jump { distance_m: 1e308 }),
        3 => Some(InjectedFault::Jump { distance_m: 0.1 }),
        4 => Some(InjectedFault::Loss { ticks: 20 }),
        5 => Some(InjectedFault::Failure(FaultCode::Device { code: 7, detail: 1234 })),
        6 => Some(InjectedFault::WriteFailure),
        _ => None,
    };
    let scheduled = injected.into_iter().map(|fault| (FAULT_TICK, fault)).collect();
    let crowd = crowd();
    let scene = if number == 7 { crowd.as_str() } else { &SCENES.built_in("table").unwrap().text };
    let plan = FaultPlan { scheduled, ..FaultPlan::default() };
    let mut run = Run::of_setup(setup_of(scene, PROFILE), plan, file, &RecordArguments::default());
    if number == 2 {
        run.apply(Command::SetSafety(Safety { max_speed_m_per_s: 1e300, engage_ramp_s: 0.03, ..Safety::default() }));
    }
    for tick in 1..=FAULT_TICKS {
        let skipped = match number {
            8 if tick >= FAULT_TICK => 1,
            9 if tick == FAULT_TICK => 150,
            _ => 0,
        };
        match (number, tick) {
            (10, FAULT_TICK) => run.apply(Command::Stop),
            (10, RELEASE_TICK) => run.apply(Command::Release),
            _ => {}
        }
        let report = run.tick_after(skipped);
        run.record(&report);
    }
    run.end();
}

/// Returns a scene of thin, oblique bars side by side: the boxes around them overlap more often than those of compact
/// bodies, so the pair table is full.
fn crowd() -> String {
    let mut scene = String::from("[world]\ngravity_m_per_s2 = [0.0, 0.0]\n");
    for index in 0..24 {
        let along_m = 2e-3 * f64::from(index);
        let _ = write!(
            scene,
            "[[body]]\nname = \"bar{index}\"\nposition_m = [{along_m}, {}]\nangle_rad = 0.785\n\
             shape = {{ box_m = [0.1, 0.001] }}\n",
            -along_m
        );
    }
    scene + "[tool]\nbody = \"bar0\"\n"
}

fn setup_of(scene: &str, profile: &str) -> Setup {
    let profile = profile::load(&Source::in_memory("profile", profile)).unwrap();
    let device = DEVICE_FILES.built_in(DEVICES[0]).unwrap();
    Setup::from_sources(
        profile,
        Sources { scene: Source::in_memory("scene", scene), device, hand: None },
        haptic_backends::KINDS,
    )
    .unwrap()
}
