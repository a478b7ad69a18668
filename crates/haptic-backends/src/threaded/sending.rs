//! The sending thread: writes the newest effort at the pace of the link.

use super::{CHECK_EVERY, NOT_SENDING, SendOutcome, Shared, Transmitter};
use haptic_device::Effort;
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::LatestReader;
use nalgebra::Vector2;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Time without an effort from the tick after which zero force is sent, ns, because the loop has ended or hung.
const TICK_SILENT_NS: u64 = 50_000_000;

/// Body of the sending thread.
pub struct Sending {
    pub(super) shared: Arc<Shared>,
    pub(super) efforts: LatestReader<Effort>,
    /// Transmitters of new connections.
    pub(super) transmitters: Receiver<Box<dyn Transmitter>>,
    pub(super) transmitter: Option<Box<dyn Transmitter>>,
}

impl Sending {
    /// Runs until the device is closed.
    pub fn run(mut self) {
        let mut written_ns = monotonic_ns();
        while !self.shared.is_closing.load(Relaxed) {
            if !self.shared.is_connected.load(Relaxed) {
                self.disable();
            }
            if let Ok(transmitter) = self.transmitters.try_recv() {
                self.transmitter = Some(transmitter);
                self.shared.is_held.store(true, Relaxed);
            }
            let now_ns = monotonic_ns();
            let is_new = self.efforts.read_if_new().is_some();
            if is_new {
                written_ns = now_ns;
            }
            let is_tick_alive = now_ns - written_ns < TICK_SILENT_NS;
            let force_n = if is_tick_alive { self.efforts.read().force_n } else { Vector2::zeros() };
            self.step(force_n, is_new, now_ns);
        }
        self.disable();
    }

    /// Disables and drops the transmitter, if any. If only reading failed, the device may still accept messages.
    fn disable(&mut self) {
        if let Some(mut transmitter) = self.transmitter.take() {
            transmitter.disable();
        }
        self.shared.is_held.store(false, Release);
    }

    fn step(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) {
        let Some(transmitter) = &mut self.transmitter else { return std::thread::park_timeout(CHECK_EVERY) };
        self.shared.sending_ns.store(now_ns, Relaxed);
        let sent = transmitter.send(force_n, is_new, now_ns);
        self.shared.sending_ns.store(NOT_SENDING, Relaxed);
        match sent {
            Ok(SendOutcome::Again) => self.shared.alive_ns.store(monotonic_ns(), Relaxed),
            Ok(SendOutcome::Idle { until_ns }) => std::thread::park_timeout(left(until_ns)),
            Ok(SendOutcome::Wait { until_ns }) => std::thread::sleep(left(until_ns)),
            Err(_) => {
                self.shared.is_connected.store(false, Relaxed);
                // The device rejects messages, and each further one could block for seconds.
                self.transmitter = None;
            }
        }
    }
}

/// Returns the time remaining until `until_ns`, at most [`CHECK_EVERY`].
fn left(until_ns: u64) -> Duration {
    Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())).min(CHECK_EVERY)
}
