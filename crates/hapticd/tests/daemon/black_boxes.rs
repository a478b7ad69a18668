//! The recording of a black box replays bit for bit, from the start of a run and mid-run, with all commands in between.
//!
//! No test here measures time; skipped periods change the ticks but not the results.

use haptic_config::setup::Setup;
use haptic_device::faulty::{FaultPlan, FaultyDevice, InjectedFault};
use haptic_testing::TestFolder;
use hapticd::cli::InputArguments;
use hapticd::daemon::{self, Options};
use hapticd::realtime_setup::signals::Signals;
use hapticd::recording::kept::OpenRecording;
use hapticd::recording::replay::{Replay, ReplayResult, Settings};
use hapticd::status::Status;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the recordings, earliest fault first.
fn recordings(folder: &TestFolder) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder.join("boxes")).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "mcap")).collect();
    recordings.sort_by_key(|path| OpenRecording::open(path).unwrap().span.unwrap().1);
    recordings
}

fn replayed(file: &Path) -> (OpenRecording, ReplayResult) {
    let recording = OpenRecording::open(file).unwrap();
    let result = Replay::new(&recording, Settings::AsRecorded).unwrap().run(&recording, |_| Ok(())).unwrap().0;
    (recording, result)
}

const PROFILE: &str = "scene = \"tower\"\ndevice = \"simulated-2dof\"\n[coupling]\nstiffness_n_per_m = ";

#[test]
fn faults_at_the_start_and_mid_run_replay_with_the_reload_between_them() {
    let folder = TestFolder::new();
    let profile = folder.join("mine.toml");
    std::fs::write(&profile, format!("{PROFILE}300.0\n")).unwrap();
    let input = InputArguments { profile: Some(profile.display().to_string()), ..InputArguments::default() };
    let setup = Setup::open(&input, None).unwrap();
    let scheduled = vec![(300, InjectedFault::NotANumber), (7000, InjectedFault::WriteFailure)];
    let device = FaultyDevice::new(setup.simulated_device().unwrap(), FaultPlan { scheduled, ..FaultPlan::default() });
    let black_box_folder = Some(folder.join("boxes"));
    let options = Options { input, periods: Some(7500), black_box_folder, ..Options::default() };
    let reload = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5500));
        std::fs::write(&profile, format!("{PROFILE}500.0\n")).unwrap();
    });
    let summary = daemon::run(setup, Box::new(device), options, &Signals::default(), Status::Silent).unwrap();
    reload.join().unwrap();
    let recordings = recordings(&folder);
    for (index, file) in recordings.iter().enumerate() {
        let (recording, result) = replayed(file);
        assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{}", file.display());
        assert_eq!(result.ticks, recording.ticks);
        let (first, last) = recording.span.unwrap();
        let fault = recording.events.iter().rfind(|event| event.message.starts_with("fault")).unwrap().tick;
        println!(
            "{}: ticks {first} to {last}, fault in {fault}, {} commands",
            file.display(),
            recording.commands.len()
        );
        assert!(first <= fault && fault <= last);
        assert!(first == 1 || fault - first >= 2000, "two seconds before the fault: {first} {fault}");
        assert!(index > 0 || first == 1);
    }
    // A machine that skips periods may end the run before the second fault.
    let has_second = summary.ticks >= 7200;
    assert!(recordings.len() >= if has_second { 2 } else { 1 }, "{} ticks", summary.ticks);
}
