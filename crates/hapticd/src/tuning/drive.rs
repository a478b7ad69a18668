//! Runs a measurement: a model in virtual time, motors on the wall clock from a real-time thread.

use super::console::Console;
use crate::daemon::PERIOD_NS;
use crate::daemon::rights::{Answer, Rights};
use crate::daemon::signals::Signals;
use crate::failure::Failure;
use haptic_device::{Device, Effort, MonotonicNs, PacedDevice};
use haptic_realtime::clock::MonotonicClock;
use haptic_realtime::runner::{Continue, Ended, Runner, Wake};
use haptic_realtime::thread::{Granted, ThreadRequest, spawn};
use haptic_tuning::measurement::{End, Measurement, run_in_virtual_time};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time to take the hand away, s.
const COUNTDOWN_S: u64 = 3;
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
    let console = Console::with_keys();
    if !hands_are_off(&console, &signals.stop) {
        device.close();
        return Ok((measurement, End::Aborted));
    }
    on_the_wall_clock(measurement, device, allow_no_rt, &console, &signals.stop)
}

/// The device at the pace it can keep.
pub fn paced(device: Box<dyn Device>) -> Box<dyn Device> {
    let every = (TICKS_PER_S / device.limits().rate_hz.max(1.0)).round().max(1.0) as u32;
    if every > 1 { Box::new(PacedDevice::new(device, every)) } else { device }
}

/// Counts down; false if somebody does not want it after all.
fn hands_are_off(console: &Console, stop: &AtomicBool) -> bool {
    let began = Instant::now();
    loop {
        let left_s = COUNTDOWN_S as f64 - began.elapsed().as_secs_f64();
        if left_s <= 0.0 {
            return true;
        }
        console.show(1.0 - left_s / COUNTDOWN_S as f64, &format!("hands off: the handle moves in {left_s:.0} s"));
        if console.was_key_pressed(BETWEEN_LOOKS) || stop.load(Ordering::Relaxed) {
            return false;
        }
    }
}

/// What the real-time thread works on.
struct Side<M> {
    measurement: M,
    device: Box<dyn Device>,
    /// Bits of the share that is done.
    share: Arc<AtomicU64>,
}

impl<M: Measurement> Side<M> {
    /// One period. Real-time: one reading, one step of the measurement, one effort.
    fn tick(&mut self, wake: Wake) -> Continue {
        let now = MonotonicNs(wake.now_ns);
        let periods = u32::try_from(wake.skipped).unwrap_or(u32::MAX).saturating_add(1);
        let effort = self.measurement.tick(&self.device.read(now), periods);
        let sent = self.device.write(effort, now);
        self.measurement.learn(sent);
        self.share.store(self.measurement.progress().0.to_bits(), Ordering::Relaxed);
        if self.measurement.end().is_some() { Continue::No } else { Continue::Yes }
    }

    /// The one way out: zero force, disarm, let go.
    fn let_go(&mut self, _ended: &Ended) {
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
    let share = Arc::new(AtomicU64::new(0));
    let side = Side { measurement, device, share: share.clone() };
    let rights = Rights { is_hardware: true, allow_no_rt };
    let stop_inside = stop.clone();
    let body = move |granted: &Granted| on_its_thread(side, rights, granted, &stop_inside);
    let request = ThreadRequest { name: "measurement".to_owned(), ..ThreadRequest::default() };
    let thread = spawn(request, body)
        .map_err(|error| Failure::WhileRunning(format!("the real-time thread cannot be started: {error}")))?;
    if let Answer::Warn(text) = rights.judge(thread.granted()) {
        tracing::warn!("{text}");
    }
    while !thread.is_finished() {
        console.show(f64::from_bits(share.load(Ordering::Relaxed)), "measuring");
        if console.was_key_pressed(BETWEEN_LOOKS) {
            stop.store(true, Ordering::Relaxed);
        }
    }
    let panicked = |text: String| Failure::WhileRunning(format!("the measurement panicked: {text}"));
    let (side, ended) = thread.join().map_err(panicked)??;
    match ended {
        Ended::Panicked(text) => Err(panicked(text)),
        Ended::Stopped | Ended::Finished => {
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
) -> Result<(Side<M>, Ended), Failure> {
    if let Answer::Refuse(text) = rights.judge(granted) {
        side.device.close();
        return Err(Failure::NoRealtime(text));
    }
    let period_ns = NonZeroU64::new(PERIOD_NS).unwrap_or(NonZeroU64::MIN);
    let mut runner = Runner::new(MonotonicClock, period_ns);
    let ended = runner.run_guarded(stop, &mut side, Side::tick, Side::let_go);
    Ok((side, ended))
}
