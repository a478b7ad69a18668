//! The path of an emergency stop from any thread, or from a signal handler, to the loop.
//!
//! It is not a queue, so it cannot be full: requests are counted, and the loop compares the count in every tick. A
//! release takes the request queue like any other request. It carries the number of the newest stop at the time of its
//! request, and the loop ignores it if there has been another stop since.

use super::{LoopRequest, send};
use haptic_loop::control::ControlError;
use haptic_realtime::exchange::CommandSender;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests emergency stops. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct EmergencyStop {
    /// Set by the handler of a signal, which cannot count.
    signalled: Arc<AtomicBool>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Number of stops requested so far.
    requested: AtomicU64,
    /// Number of the newest stop after which a tick has sent zero force.
    effective: AtomicU64,
}

impl EmergencyStop {
    /// Creates the emergency stop of a loop. The handler of a signal may set `signalled` to request one.
    pub fn new(signalled: Arc<AtomicBool>) -> Self {
        Self { signalled, counts: Arc::default() }
    }

    /// Requests a stop and returns its number. The stop takes effect in the next tick.
    pub fn request(&self) -> u64 {
        self.counts.requested.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Whether a tick has sent zero force since the stop with this number was requested.
    pub fn is_effective(&self, number: u64) -> bool {
        self.counts.effective.load(Ordering::Acquire) >= number
    }

    /// Requests the release of all stops requested so far.
    ///
    /// # Errors
    /// If the request queue is full or the loop has ended.
    pub fn release(&self, requests: &CommandSender<LoopRequest>) -> Result<(), ControlError> {
        send(requests, LoopRequest::Release { stop: self.newest() })
    }

    fn newest(&self) -> u64 {
        self.counts.requested.load(Ordering::Acquire)
    }
}

/// The loop's end of the emergency stop.
#[derive(Debug, Default)]
pub struct StopReceiver {
    stop: EmergencyStop,
    /// Number of the newest stop that the loop has seen.
    seen: u64,
}

impl StopReceiver {
    /// Creates the loop's end of an emergency stop.
    pub fn new(stop: EmergencyStop) -> Self {
        Self { stop, seen: 0 }
    }

    /// Returns whether a stop was requested since the last call. Real-time: constant.
    pub fn poll(&mut self) -> bool {
        if self.stop.signalled.load(Ordering::Relaxed) && self.stop.signalled.swap(false, Ordering::AcqRel) {
            self.stop.request();
        }
        let newest = self.stop.newest();
        std::mem::replace(&mut self.seen, newest) != newest
    }

    /// Reports that a tick has sent zero force for the stops seen so far. Real-time: constant.
    pub fn confirm(&self) {
        self.stop.counts.effective.store(self.seen, Ordering::Release);
    }

    /// Whether a release of the stop with this number is still valid: no stop was requested after it. Real-time:
    /// constant.
    pub fn permits_release(&self, stop: u64) -> bool {
        stop == self.stop.newest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_seen_once_and_effective_after_its_tick() {
        let stop = EmergencyStop::default();
        let mut receiver = StopReceiver::new(stop.clone());
        assert!(!receiver.poll());
        let number = stop.request();
        assert!(!stop.is_effective(number));
        assert!(receiver.poll() && !receiver.poll());
        receiver.confirm();
        assert!(stop.is_effective(number) && !stop.is_effective(number + 1));
    }

    #[test]
    fn a_signal_is_a_request() {
        let signalled = Arc::new(AtomicBool::new(true));
        let mut receiver = StopReceiver::new(EmergencyStop::new(signalled.clone()));
        assert!(receiver.poll() && !receiver.poll());
        signalled.store(true, Ordering::Relaxed);
        assert!(receiver.poll());
    }

    #[test]
    fn a_release_is_void_once_another_stop_is_requested_by_any_path() {
        let signalled = Arc::new(AtomicBool::new(false));
        let stop = EmergencyStop::new(signalled.clone());
        let mut receiver = StopReceiver::new(stop.clone());
        let first = stop.request();
        assert!(receiver.poll() && receiver.permits_release(first));
        let second = stop.request();
        assert!(!receiver.permits_release(first) && receiver.permits_release(second));
        signalled.store(true, Ordering::Relaxed);
        assert!(receiver.poll() && !receiver.permits_release(second));
    }
}
