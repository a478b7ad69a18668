//! An emulation whose trace cannot be written for a while.

use haptic_device::{DeviceModel, HandModel};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::{NativeBoard, ServeOptions, serve};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Serves a board until it has been unplugged and plugged in again, and returns the number of milliseconds.
fn serve_with_trace(trace: std::path::PathBuf, events: &Sender<String>) -> u64 {
    let handle = EmulatedHandle::new(2, &DeviceModel::default(), Some(&HandModel::default())).unwrap();
    let mut board = NativeBoard::new(NativeTraits::default(), handle);
    let options = ServeOptions {
        trace: Some(trace),
        dies_after: Some(Duration::from_millis(700)),
        dead_for: Duration::from_millis(100),
        ends_after: Some(Duration::from_millis(900)),
        ..ServeOptions::default()
    };
    let mut log = |_: f64, text: &str| events.send(text.to_owned()).unwrap();
    serve(&mut board, &options, &AtomicBool::new(false), &mut log).unwrap().ticks
}

#[test]
fn a_board_goes_on_while_its_trace_waits_for_the_disk() {
    let folder = std::env::temp_dir().join(format!("haptic-emulator-slow-disk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.csv");
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (sender, events) = channel();
    let written = path.clone();
    let serving = std::thread::spawn(move || serve_with_trace(written, &sender));
    // The pipe holds about 100 rows, which are not read yet.
    let mut pipe = File::open(&path).unwrap();
    fcntl_setpipe_size(&pipe, 4096).unwrap();
    let is_plugged_in_again =
        || events.recv_timeout(Duration::from_secs(20)).expect("the board stands still") == "plugged in again";
    while !is_plugged_in_again() {}
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    let ticks = serving.join().unwrap();
    assert_eq!(text.lines().count() as u64, 1 + ticks, "the header and a row for every millisecond");
    std::fs::remove_dir_all(&folder).unwrap();
}
