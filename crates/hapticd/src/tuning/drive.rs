//! Runs a measurement: in virtual time on a simulated device, in real time on hardware.

use crate::failure::Failure;
use crate::figures::TICKS_PER_SECOND;
use crate::realtime_setup::rights::Rights;
use crate::realtime_setup::signals::Signals;
use crate::realtime_setup::{Periodic, RealtimeLoop, runner};
use haptic_device::{Device, Effort, Health, MonotonicNs, PacedDevice, Reading};
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::runner::{LoopExit, Wake};
use haptic_realtime::thread::ThreadRequest;
use haptic_terminal::console::Console;
use haptic_tuning::measurement::{End, Measurement, run_in_virtual_time};
use nalgebra::Vector2;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time for the user to release the handle before a measurement, ticks.
const COUNTDOWN: u64 = 3000;
/// Time after the countdown for a device to recover from a fault, for example one caused by a stall of the machine,
/// ticks.
const RECOVERY: u64 = 2000;
/// Maximum time to wait for the first reading, ms.
const FIRST_READING_TIMEOUT_MS: u32 = 2000;
/// Update interval of the progress bar.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a measurement and returns it with the reason it ended. However it ends, the device is at zero force and closed
/// afterwards.
///
/// # Errors
/// If the real-time thread cannot be started, lacks the necessary rights or panics.
pub fn run<M: Measurement + Send + 'static>(
    mut measurement: M,
    mut device: Box<dyn Device>,
    allow_no_rt: bool,
) -> Result<(M, End), Failure> {
    if !device.identity().kind.is_hardware {
        let end = run_in_virtual_time(&mut measurement, &mut device);
        return Ok((measurement, end));
    }
    let signals = Signals::register_without_stop()?;
    run_on_the_wall_clock(measurement, device, allow_no_rt, &Console::with_keys(), &signals.stop)
}

/// Returns the position of the handle, m, device frame. Sends zero force until a reading arrives, because boards only
/// reply to commands.
///
/// # Errors
/// If no reading arrives within 2 s; the device is then closed.
pub fn handle_position(device: &mut dyn Device) -> Result<Vector2<f64>, Failure> {
    for _ in 0..FIRST_READING_TIMEOUT_MS {
        let now = MonotonicNs(monotonic_ns());
        let reading = device.read(now);
        if reading.fresh && reading.is_finite() {
            return Ok(reading.position_m);
        }
        // The next reading shows whether the write succeeded.
        device.write(Effort::zero(), now);
        std::thread::sleep(Duration::from_millis(1));
    }
    device.close();
    Err(Failure::Runtime("the device sent no reading within 2 s; check cable and power, then reconnect it".to_owned()))
}

/// Wraps a device that does not support 1 kHz, so that it is served at a rate it supports. Returns other devices
/// unchanged.
pub fn paced(device: Box<dyn Device>) -> Box<dyn Device> {
    let every = (TICKS_PER_SECOND / device.limits().rate_hz.max(1.0)).round().max(1.0) as u32;
    if every > 1 { Box::new(PacedDevice::new(device, every)) } else { device }
}

/// State of the real-time thread that runs a measurement.
struct MeasurementBody<M> {
    measurement: M,
    device: Box<dyn Device>,
    /// Number of periods waited so far, before the measurement.
    waited: u64,
    is_measuring: bool,
    progress: Arc<Progress>,
}

/// Progress of a measurement, for the terminal.
#[derive(Debug, Default)]
struct Progress {
    waited: AtomicU64,
    is_measuring: AtomicBool,
    /// Bits of the completed fraction, an `f64` from 0 to 1.
    fraction: AtomicU64,
}

impl Progress {
    fn show(&self, console: &Console) {
        if self.is_measuring.load(Ordering::Relaxed) {
            return console.show(f64::from_bits(self.fraction.load(Ordering::Relaxed)), "measuring");
        }
        let waited = self.waited.load(Ordering::Relaxed).min(COUNTDOWN);
        let left_s = (COUNTDOWN - waited) as f64 / TICKS_PER_SECOND;
        console.show(waited as f64 / COUNTDOWN as f64, &format!("hands off: the handle moves in {left_s:.0} s"));
    }
}

impl<M: Measurement> MeasurementBody<M> {
    /// Counts the periods waited. Starts the measurement after the countdown, once the device is ready or the recovery
    /// time has elapsed.
    fn wait(&mut self, reading: &Reading, periods: u32) {
        self.waited += u64::from(periods);
        let is_ready = reading.fresh && reading.health == Health::Ready;
        self.is_measuring = self.waited >= COUNTDOWN && (is_ready || self.waited >= COUNTDOWN + RECOVERY);
        self.progress.waited.store(self.waited, Ordering::Relaxed);
        self.progress.is_measuring.store(self.is_measuring, Ordering::Relaxed);
    }
}

impl<M: Measurement + Send + 'static> Periodic for MeasurementBody<M> {
    /// Real-time: one reading, one step of the measurement, one effort.
    fn tick(&mut self, wake: Wake) -> ControlFlow<()> {
        let now = MonotonicNs(wake.now_ns);
        let periods = u32::try_from(wake.skipped).unwrap_or(u32::MAX).saturating_add(1);
        let reading = self.device.read(now);
        if !self.is_measuring {
            self.wait(&reading, periods);
            self.device.write(Effort::zero(), now);
            return ControlFlow::Continue(());
        }
        let effort = self.measurement.tick(&reading, periods);
        let sent = self.device.write(effort, now);
        self.measurement.acknowledge(sent);
        self.progress.fraction.store(self.measurement.progress().0.to_bits(), Ordering::Relaxed);
        if self.measurement.end().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(&mut self, _exit: &LoopExit) {
        self.measurement.abort();
        self.device.write(Effort::zero(), MonotonicNs(monotonic_ns()));
        self.device.close();
    }

    fn close(&mut self) {
        self.device.close();
    }
}

fn run_on_the_wall_clock<M: Measurement + Send + 'static>(
    measurement: M,
    device: Box<dyn Device>,
    allow_no_rt: bool,
    console: &Console,
    stop: &Arc<AtomicBool>,
) -> Result<(M, End), Failure> {
    let progress = Arc::new(Progress::default());
    let body = MeasurementBody { measurement, device, waited: 0, is_measuring: false, progress: progress.clone() };
    let request = ThreadRequest { name: "measurement".to_owned(), ..ThreadRequest::default() };
    let rights = Rights { is_hardware: true, allow_no_rt };
    let running = RealtimeLoop::start(body, request, rights, runner(), stop.clone())?;
    while !running.has_ended() {
        progress.show(console);
        if console.is_aborted(PROGRESS_INTERVAL) {
            stop.store(true, Ordering::Relaxed);
        }
    }
    let result = running.join()?;
    match result.exit {
        LoopExit::Panicked(text) => Err(Failure::Runtime(format!("the measurement panicked: {text}"))),
        LoopExit::Stopped | LoopExit::Finished => {
            let end = result.body.measurement.end().unwrap_or(End::Aborted);
            Ok((result.body.measurement, end))
        }
    }
}
