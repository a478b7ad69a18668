//! The daemon on the wall clock with failing devices: however it ends, the device is closed at zero force.
//!
//! No test here measures time; late ticks on a loaded machine do not change the outcome.

use haptic_config::setup::Setup;
use haptic_device::faulty::{FaultPlan, FaultyDevice, InjectedFault};
use haptic_device::{Device, Effort, FaultCode, Identity, Limits, MonotonicNs, Reading, WriteOutcome};
use haptic_testing::TestFolder;
use hapticd::cli::InputArguments;
use hapticd::daemon::{self, Options};
use hapticd::failure::Failure;
use hapticd::realtime_setup::signals::Signals;
use hapticd::status::Status;
use hapticd::summary::Summary;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Calls received by a device.
#[derive(Debug, Default)]
struct Log {
    efforts: Vec<Effort>,
    closed: bool,
}

type Shared = Arc<Mutex<Log>>;

/// A device whose log outlives it; every read also calls a function.
struct Watched<D> {
    device: D,
    log: Shared,
    reads: u64,
    on_read: fn(u64),
}

impl<D: Device> Device for Watched<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn limits(&self) -> &Limits {
        self.device.limits()
    }

    fn read(&mut self, now: MonotonicNs) -> Reading {
        self.reads += 1;
        (self.on_read)(self.reads);
        self.device.read(now)
    }

    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        self.log.lock().unwrap().efforts.push(effort);
        self.device.write(effort, now)
    }

    fn close(&mut self) {
        self.log.lock().unwrap().closed = true;
        self.device.close();
    }
}

struct Ran {
    result: Result<Summary, Failure>,
    log: Shared,
    black_boxes: Vec<String>,
}

/// Runs the default profile with faults at the given ticks, for a number of periods or until a signal ends the run.
fn run_with(faults: &[(u64, InjectedFault)], on_read: fn(u64), periods: Option<u64>, signals: &Signals) -> Ran {
    let setup = Setup::open(&InputArguments::default(), None).unwrap();
    let plan = FaultPlan { scheduled: faults.to_vec(), ..FaultPlan::default() };
    let log = Shared::default();
    let device = FaultyDevice::new(setup.simulated_device().unwrap(), plan);
    let device = Box::new(Watched { device, log: Arc::clone(&log), reads: 0, on_read });
    let folder = TestFolder::new();
    let options = Options { periods, black_box_folder: Some(folder.path().to_owned()), ..Options::default() };
    let result = daemon::run(setup, device, options, signals, Status::Silent);
    Ran { result, log, black_boxes: folder.names() }
}

fn nothing_else(_: u64) {}

#[track_caller]
fn assert_closed(log: &Shared) {
    assert!(log.lock().unwrap().closed, "the device was not closed");
}

#[test]
fn every_fault_gives_zero_force_is_reported_and_written_to_a_black_box() {
    let cases = [
        (InjectedFault::NotANumber, "reading-not-finite"),
        (InjectedFault::Jump { distance_m: 0.05 }, "over-speed"),
        (InjectedFault::Loss { ticks: 5 }, "lost"),
        (InjectedFault::WriteFailure, "not-sent"),
    ];
    for (fault, kind) in cases {
        let ran = run_with(&[(300, fault)], nothing_else, Some(1500), &Signals::default());
        let summary = ran.result.unwrap();
        let kinds: Vec<&str> = summary.faults.iter().map(|fault| fault.kind.as_str()).collect();
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        for ending in [".csv", ".mcap"] {
            assert!(ran.black_boxes.iter().any(|name| name.ends_with(ending)), "{kind}: {:?}", ran.black_boxes);
        }
        assert_closed(&ran.log);
        let at_fault = ran.log.lock().unwrap().efforts[if kind == "not-sent" { 300 } else { 299 }];
        assert_eq!(at_fault, Effort::zero(), "{kind}");
    }
}

#[test]
fn a_device_that_fails_for_good_gets_no_more_force() {
    let failure = InjectedFault::Failure(FaultCode::Watchdog);
    let ran = run_with(&[(300, failure)], nothing_else, Some(1500), &Signals::default());
    let log = ran.log.lock().unwrap();
    assert!(log.efforts[299..].iter().all(|effort| *effort == Effort::zero()));
    let reported = ran.result.unwrap().faults.iter().filter(|fault| fault.kind == "device").count();
    assert_eq!(reported, 1, "a lasting fault is reported once");
}

#[test]
fn a_black_box_cut_short_by_the_end_is_still_written() {
    let ran = run_with(&[(300, InjectedFault::NotANumber)], nothing_else, Some(310), &Signals::default());
    assert!(ran.result.is_ok());
    // A machine that skips periods may end the run before the fault; then there is no black box.
    if ran.log.lock().unwrap().efforts.len() >= 300 {
        assert!(!ran.black_boxes.is_empty());
    }
}

#[test]
fn a_panic_in_the_loop_closes_the_device_writes_a_black_box_and_is_a_failure() {
    let panics = |read| assert!(read != 200, "deliberate, in a test");
    let ran = run_with(&[], panics, Some(1000), &Signals::default());
    let failure = ran.result.unwrap_err();
    assert_eq!(failure.exit_code(), 1);
    assert!(
        failure.to_string().contains("deliberate, in a test, at crates/hapticd/tests/daemon/device_faults.rs:"),
        "{failure}"
    );
    assert_closed(&ran.log);
    assert_eq!(ran.log.lock().unwrap().efforts.len(), 199);
    let mut endings: Vec<&str> = ran.black_boxes.iter().filter_map(|name| name.rsplit('.').next()).collect();
    endings.sort_unstable();
    assert_eq!(endings, ["csv", "mcap"]);
}

#[test]
fn ticks_that_are_always_late_are_a_fault() {
    // Thirty ticks take two and a half periods each; twenty late ticks in a row are a fault.
    let dawdles = |read| {
        if (100..130).contains(&read) {
            let since = Instant::now();
            while since.elapsed() < Duration::from_micros(2500) {
                std::hint::spin_loop();
            }
        }
    };
    let ran = run_with(&[], dawdles, Some(400), &Signals::default());
    let summary = ran.result.unwrap();
    assert!(summary.faults.iter().any(|fault| fault.kind == "overruns"), "{:?}", summary.faults);
    assert!(summary.overruns >= 30 && summary.skipped >= 30);
}

#[test]
fn a_raised_stop_flag_ends_the_run_with_the_device_closed() {
    let signals = Signals::default();
    let stop = Arc::clone(&signals.stop);
    let raise = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
    });
    let ran = run_with(&[], nothing_else, None, &signals);
    raise.join().unwrap();
    assert!(ran.result.is_ok());
    assert_closed(&ran.log);
}

#[test]
fn the_requested_time_is_covered_by_ticks_run_and_skipped() {
    let ran = run_with(&[], nothing_else, Some(150), &Signals::default());
    let summary = ran.result.unwrap();
    assert!(summary.ticks + summary.skipped >= 150);
    assert!(summary.wake_ns.is_some() && summary.compute_ns.is_some());
    assert_eq!(ran.log.lock().unwrap().efforts.len() as u64, summary.ticks);
}
