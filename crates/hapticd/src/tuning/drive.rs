//! Runs a measurement: a model in virtual time, motors on the wall clock from a real-time thread.

use super::console::Console;
use crate::daemon::PERIOD_NS;
use crate::daemon::rights::{RealtimeVerdict, Rights};
use crate::daemon::signals::Signals;
use crate::failure::Failure;
use haptic_device::{Device, Effort, Health, MonotonicNs, PacedDevice, Reading};
use haptic_realtime::clock::MonotonicClock;
use haptic_realtime::runner::{LoopExit, Runner, Wake};
use haptic_realtime::thread::{Granted, ThreadRequest, spawn};
use haptic_tuning::measurement::{End, Measurement, run_in_virtual_time};
use nalgebra::Vector2;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time to take the hand away, ticks.
const COUNTDOWN: u64 = 3000;
/// A device that is in trouble at the end of the countdown, as after a stall of the machine, has so long to come back, ticks.
const COME_BACK: u64 = 2000;
/// A device that says nothing for so long will not say anything, ms.
const LONGEST_SILENCE_MS: u32 = 2000;
/// How often the bar moves.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Ticks a second.
const TICKS_PER_S: f64 = 1000.0;

/// Runs a measurement to its end; the device is at zero force and closed afterwards, whatever happened.
///
/// # Errors
/// When the thread cannot be started or may not drive the device, or it panicked.
pub fn run<M: Measurement + Send + 'static>(
    mut measurement: M,
    mut device: Box<dyn Device>,
    allow_no_rt: bool,
) -> Result<(M, End), Failure> {
    if !device.identity().kind.is_hardware() {
        let end = run_in_virtual_time(&mut measurement, &mut device);
        return Ok((measurement, end));
    }
    let signals = Signals::watched()?;
    on_the_wall_clock(measurement, device, allow_no_rt, &Console::with_keys(), &signals.stop)
}

/// Where the handle is. Boards answer only when they are commanded, so zero force goes out until one does.
///
/// # Errors
/// When it does not answer; it is closed then.
pub fn place_of(device: &mut dyn Device) -> Result<Vector2<f64>, Failure> {
    for _ in 0..LONGEST_SILENCE_MS {
        let now = MonotonicNs(haptic_realtime::clock::monotonic_ns());
        let reading = device.read(now);
        if reading.fresh && reading.is_finite() {
            return Ok(reading.position_m);
        }
        // What became of it shows in the next reading.
        device.write(Effort::zero(), now);
        std::thread::sleep(Duration::from_millis(1));
    }
    device.close();
    Err(Failure::Runtime("the device gave no reading within 2 s; plug it in again, check cable and power".to_owned()))
}

/// The device at the pace it can keep.
pub fn paced(device: Box<dyn Device>) -> Box<dyn Device> {
    let every = (TICKS_PER_S / device.limits().rate_hz.max(1.0)).round().max(1.0) as u32;
    if every > 1 { Box::new(PacedDevice::new(device, every)) } else { device }
}

/// What the real-time thread works on.
struct Side<M> {
    measurement: M,
    device: Box<dyn Device>,
    /// Ticks since the start in which no force was given.
    waited: u64,
    is_measuring: bool,
    shown: Arc<Shown>,
}

/// What the terminal shows.
#[derive(Debug, Default)]
struct Shown {
    waited: AtomicU64,
    is_measuring: AtomicBool,
    /// Bits of the share that is done.
    share: AtomicU64,
}

impl Shown {
    fn show(&self, console: &Console) {
        if self.is_measuring.load(Ordering::Relaxed) {
            return console.show(f64::from_bits(self.share.load(Ordering::Relaxed)), "measuring");
        }
        let waited = self.waited.load(Ordering::Relaxed).min(COUNTDOWN);
        let left_s = (COUNTDOWN - waited) as f64 / TICKS_PER_S;
        console.show(waited as f64 / COUNTDOWN as f64, &format!("hands off: the handle moves in {left_s:.0} s"));
    }
}

impl<M: Measurement> Side<M> {
    /// One period. Real-time: one reading, one step of the measurement, one effort.
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
        self.measurement.learn(sent);
        self.shown.share.store(self.measurement.progress().0.to_bits(), Ordering::Relaxed);
        if self.measurement.end().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Counts down until hands are off, with no force; then until the device is well, within reason.
    fn wait(&mut self, reading: &Reading, periods: u32) {
        self.waited += u64::from(periods);
        let is_well = reading.fresh && reading.health == Health::Ready;
        self.is_measuring = self.waited >= COUNTDOWN && (is_well || self.waited >= COUNTDOWN + COME_BACK);
        self.shown.waited.store(self.waited, Ordering::Relaxed);
        self.shown.is_measuring.store(self.is_measuring, Ordering::Relaxed);
    }

    /// The one way out: zero force, disarm, let go.
    fn let_go(&mut self, _ended: &LoopExit) {
        self.measurement.abort();
        self.device.write(Effort::zero(), MonotonicNs(haptic_realtime::clock::monotonic_ns()));
        self.device.close();
    }
}

fn on_the_wall_clock<M: Measurement + Send + 'static>(
    measurement: M,
    device: Box<dyn Device>,
    allow_no_rt: bool,
    console: &Console,
    stop: &Arc<AtomicBool>,
) -> Result<(M, End), Failure> {
    let shown = Arc::new(Shown::default());
    let side = Side { measurement, device, waited: 0, is_measuring: false, shown: shown.clone() };
    let rights = Rights { is_hardware: true, allow_no_rt };
    let stop_inside = stop.clone();
    let body = move |granted: &Granted| on_its_thread(side, rights, granted, &stop_inside);
    let request = ThreadRequest { name: "measurement".to_owned(), ..ThreadRequest::default() };
    let thread = spawn(request, body)
        .map_err(|error| Failure::Runtime(format!("the real-time thread cannot be started: {error}")))?;
    if let Err(error) = thread.reserve_core() {
        tracing::warn!(%error, "the measurement shares its core with the rest of the program");
    }
    if let RealtimeVerdict::Warn(text) = rights.judge(thread.granted()) {
        tracing::warn!("{text}");
    }
    while !thread.is_finished() {
        shown.show(console);
        if console.was_key_pressed(BETWEEN_LOOKS) {
            stop.store(true, Ordering::Relaxed);
        }
    }
    let panicked = |text: String| Failure::Runtime(format!("the measurement panicked: {text}"));
    let (side, ended) = thread.join().map_err(panicked)??;
    match ended {
        LoopExit::Panicked(text) => Err(panicked(text)),
        LoopExit::Stopped | LoopExit::Finished => {
            let end = side.measurement.end().unwrap_or(End::Aborted);
            Ok((side.measurement, end))
        }
    }
}

fn on_its_thread<M: Measurement>(
    mut side: Side<M>,
    rights: Rights,
    granted: &Granted,
    stop: &AtomicBool,
) -> Result<(Side<M>, LoopExit), Failure> {
    if let RealtimeVerdict::Refuse(text) = rights.judge(granted) {
        side.device.close();
        return Err(Failure::NoRealtime(text));
    }
    let period_ns = NonZeroU64::new(PERIOD_NS).unwrap_or(NonZeroU64::MIN);
    let mut runner = Runner::new(MonotonicClock, period_ns);
    let ended = runner.run_guarded(stop, &mut side, Side::tick, Side::let_go);
    Ok((side, ended))
}
