//! Reading and writing do not allocate, whatever goes wrong.

use haptic_backends::protocol::Protocol;
use haptic_backends::serial::{
    HaplyProtocol, HaplyVariant, LinkMonitor, NativeProtocol, NativeSettings, OdriveProtocol, OdriveSettings,
    SerialDevice, SerialSettings,
};
use haptic_device::{Device, DeviceModel, Effort, MonotonicNs, Pantograph};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::{
    Board, HaplyBoard, LineFaults, NativeBoard, OdriveBoard, OdriveFirmware, ServeOptions, serve,
};
use haptic_realtime::clock::monotonic_ns;
use haptic_testing::{allocator_calls_in, assert_no_allocator_calls};
use nalgebra::Vector2;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn linkage_kinematics_do_not_allocate() {
    let work = || {
        for step in 0..1000 {
            let handle = Vector2::new(0.019, 0.0002 * f64::from(step));
            let torques = Pantograph::HAPLY_V3
                .angles_rad(handle)
                .and_then(|angles| Pantograph::HAPLY_V3.torques_n_m(angles, Vector2::new(1.0, 2.0)));
            std::hint::black_box(torques).ok();
        }
    };
    assert_no_allocator_calls(work);
}

/// Upper bound on every wait, long enough for any machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Number of fresh readings after which the device is unplugged.
const FRESH_BEFORE_LOSS: u32 = 500;

/// Reads and writes on this thread until the device has been unplugged and reconnected and has given 200 fresh
/// readings. Returns the number of allocations on this thread.
fn allocations_on_a_line(
    name: &str,
    faults: LineFaults,
    board: impl FnOnce() -> Box<dyn Board> + Send + 'static,
    protocol: impl FnOnce(Arc<LinkMonitor>) -> Box<dyn Protocol>,
) -> u64 {
    let link = std::env::temp_dir().join(format!("hapticd-{}-{name}", std::process::id()));
    let stop = Arc::new(AtomicBool::new(false));
    let unplug = Arc::new(AtomicBool::new(false));
    let (stop_inside, life) = (Arc::clone(&stop), bad_life(&link, faults, Arc::clone(&unplug)));
    let emulator = std::thread::spawn(move || serve(board().as_mut(), &life, &stop_inside, &mut |_, _| {}).unwrap());
    let start = Instant::now();
    while !link.exists() {
        assert!(start.elapsed() < TIMEOUT, "no port");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (monitor, port) = (Arc::new(LinkMonitor::default()), link.to_str().unwrap().to_owned());
    let (find, protocol) = (Box::new(move || Ok(port.clone())), protocol(Arc::clone(&monitor)));
    let (baud, dead_man) = (1_000_000, None);
    let settings = SerialSettings { find, baud, protocol, monitor: Arc::clone(&monitor), dead_man, priority: 79 };
    let mut device = SerialDevice::open(settings).unwrap();
    let (mut allocations, mut fresh, mut fresh_after_loss) = (0, 0, 0);
    while fresh_after_loss < 200 {
        assert!(start.elapsed() < TIMEOUT, "{name}: {fresh_after_loss} readings after the loss");
        let mut is_fresh = false;
        allocations += allocator_calls_in(|| {
            let now = MonotonicNs(monotonic_ns());
            is_fresh = device.read(now).fresh;
            device.write(Effort { force_n: Vector2::new(0.1, -0.05) }, now);
        });
        fresh += u32::from(is_fresh);
        unplug.store(fresh >= FRESH_BEFORE_LOSS, Ordering::Relaxed);
        fresh_after_loss += u32::from(is_fresh && device.link_statistics().unwrap().reconnects > 0);
        std::thread::sleep(Duration::from_millis(1));
    }
    device.close();
    stop.store(true, Ordering::Relaxed);
    emulator.join().unwrap();
    allocations
}

/// Lost, damaged and late messages.
const FAULTS: LineFaults = LineFaults { drop: 0.02, garbage: 0.02, delay_ns: 2_000_000, seed: 5 };

/// Options for a board that is unplugged on request and has these faults, so that reading and writing take every path.
fn bad_life(link: &std::path::Path, faults: LineFaults, unplug: Arc<AtomicBool>) -> ServeOptions {
    ServeOptions {
        link: Some(link.to_owned()),
        faults,
        unplug: Some(unplug),
        dead_for: Duration::from_millis(200),
        ..ServeOptions::default()
    }
}

fn body(axes: u8) -> EmulatedHandle {
    EmulatedHandle::new(axes, &DeviceModel::default(), None).unwrap()
}

#[test]
fn a_board_on_a_bad_line_is_read_and_written_without_allocation() {
    let settings = NativeSettings { axes: None, lever_m: 0.05, max_force_n: 4.0, watchdog_ms: 100, baud: None };
    let board = || Box::new(NativeBoard::new(NativeTraits::default(), body(2))) as Box<dyn Board>;
    let found =
        allocations_on_a_line("native", FAULTS, board, |monitor| Box::new(NativeProtocol::new(settings, monitor, 1)));
    assert_eq!(found, 0);
}

#[test]
fn an_odrive_on_a_bad_line_is_read_and_written_without_allocation() {
    let settings =
        OdriveSettings { lever_m: 0.05, max_torque_n_m: 0.2, max_speed_m_per_s: 3.0, watchdog_s: 0.1, baud: None };
    let board = || Box::new(OdriveBoard::new(&OdriveFirmware::V0_5, 0.05, body(1))) as Box<dyn Board>;
    let found =
        allocations_on_a_line("odrive", FAULTS, board, |monitor| Box::new(OdriveProtocol::new(settings, monitor)));
    assert_eq!(found, 0);
}

/// A Haply whose cable is unplugged while its power stays on. A Haply that loses power is rejected.
struct Powered(HaplyBoard);

impl Board for Powered {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.0.receive(bytes, out);
    }

    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.0.tick(out);
    }

    fn host_left(&mut self) {
        self.0.host_left();
    }

    fn force_n(&self) -> Vector2<f64> {
        self.0.force_n()
    }

    fn handle(&self) -> &EmulatedHandle {
        self.0.handle()
    }

    fn handle_mut(&mut self) -> &mut EmulatedHandle {
        self.0.handle_mut()
    }

    fn next_event(&mut self) -> Option<String> {
        self.0.next_event()
    }
}

/// The line does not damage bytes: USB detects damage, but the Haply protocol cannot.
#[test]
fn a_haply_on_a_bad_line_is_read_and_written_without_allocation() {
    let model = DeviceModel::default();
    let board = move || Box::new(Powered(HaplyBoard::new(HaplyVariant::V3, &model, None).unwrap())) as Box<dyn Board>;
    let protocol = |monitor| Box::new(HaplyProtocol::new(HaplyVariant::V3, monitor)) as Box<dyn Protocol>;
    assert_eq!(allocations_on_a_line("haply", LineFaults { garbage: 0.0, ..FAULTS }, board, protocol), 0);
}
