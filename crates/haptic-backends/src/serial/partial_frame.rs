//! Unsent rest of a frame. It must be sent before anything else, because a device without framing would interpret the
//! next frame as the rest of this one.
//!
//! After a while, the dead-man process may have completed the frame with its stop frame. The device would then interpret
//! the rest as the start of a frame, so bytes that suit both cases are sent in its place.

use super::port::{Port, WRITE_WITHIN, write_all_within};
use crate::protocol::{TransmitHalf, TxBytes};
use haptic_device::MonotonicNs;
use std::io;
use std::time::Duration;

/// Number of stop frames sent when the device is closed.
const STOP_FRAMES: u32 = 2;
/// Pause after each stop frame, so that the last one is transmitted before the port closes.
const STOP_GAP: Duration = Duration::from_millis(5);
/// Age of a frame after which the dead-man process may have completed it, ns. That process writes after 100 ms without a
/// heartbeat at the earliest, and heartbeats are 20 ms apart.
const COMPLETED_AFTER_NS: u64 = 50_000_000;

/// A destination for bytes.
pub trait Outlet {
    /// Writes as many bytes as fit into the buffer and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` if the buffer is full; another error if the port is gone.
    ///
    /// Real-time: one non-blocking system call.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Outlet for Port {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes)
    }
}

/// A frame, the number of its bytes already sent, and the time of the first of them.
pub struct PartialFrame {
    frame: TxBytes,
    sent: usize,
    begun_at: MonotonicNs,
}

impl PartialFrame {
    /// Creates a frame with nothing left to send.
    pub fn none() -> Self {
        Self::after(TxBytes::EMPTY, 0, MonotonicNs(0))
    }

    /// Creates the rest of a frame of which `sent` bytes were sent at `begun_at`.
    pub fn after(frame: TxBytes, sent: usize, begun_at: MonotonicNs) -> Self {
        Self { frame, sent, begun_at }
    }

    /// Replaces the rest of a frame that the dead-man process may have completed.
    ///
    /// Real-time: a short copy.
    pub fn realign(&mut self, transmit: &mut dyn TransmitHalf, now: MonotonicNs) {
        if !self.is_sent()
            && now.since(self.begun_at) >= COMPLETED_AFTER_NS
            && let Some(frame) = transmit.realign_frame()
        {
            *self = Self::after(frame, 0, now);
        }
    }

    /// Sends as much of the rest as the port accepts. Returns whether the frame is now complete.
    ///
    /// # Errors
    /// If the port is gone.
    ///
    /// Real-time: at most one non-blocking system call.
    pub fn send(&mut self, port: &impl Outlet) -> io::Result<bool> {
        if !self.is_sent() {
            match port.write(self.rest()) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.is_sent())
    }

    /// Sends the rest of this frame, followed by stop frames. Each stop frame is sent only if the frame before it is
    /// complete. Not real-time: waits while the buffer is full.
    ///
    /// # Errors
    /// If the port is gone.
    pub fn send_stop(&mut self, transmit: &mut dyn TransmitHalf, port: &impl Outlet) -> io::Result<()> {
        for _ in 0..STOP_FRAMES {
            if self.send_within(port)? {
                *self = Self::after(transmit.stop_frame(), 0, self.begun_at);
                self.send_within(port)?;
            }
            std::thread::sleep(STOP_GAP);
        }
        Ok(())
    }

    /// Sends the rest, waiting while the buffer is full. Returns whether the frame was completed within `WRITE_WITHIN`.
    fn send_within(&mut self, port: &impl Outlet) -> io::Result<bool> {
        self.sent += write_all_within(WRITE_WITHIN, self.rest(), |bytes| port.write(bytes))?;
        Ok(self.is_sent())
    }

    fn rest(&self) -> &[u8] {
        self.frame.bytes().get(self.sent..).unwrap_or_default()
    }

    fn is_sent(&self) -> bool {
        self.rest().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Sample;
    use haptic_device::{Effort, MonotonicNs, WriteError};
    use std::cell::{Cell, RefCell};

    /// A port whose buffer is full at every other write, and accepts a few bytes otherwise.
    struct Narrow {
        taken: RefCell<Vec<u8>>,
        tries: Cell<u32>,
        capacity: usize,
    }

    impl Narrow {
        fn with_capacity_for(capacity: usize) -> Self {
            Self { taken: RefCell::default(), tries: Cell::new(0), capacity }
        }
    }

    impl Outlet for Narrow {
        fn write(&self, bytes: &[u8]) -> io::Result<usize> {
            self.tries.set(self.tries.get() + 1);
            let count = bytes.len().min(self.capacity);
            if count == 0 || self.tries.get() % 2 == 1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.taken.borrow_mut().extend(&bytes[..count]);
            Ok(count)
        }
    }

    struct PushOrStop;

    impl TransmitHalf for PushOrStop {
        fn encode(&mut self, _: Effort, _: &Sample, _: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
            (TxBytes::new(b"push!"), Ok(()))
        }

        fn stop_frame(&mut self) -> TxBytes {
            TxBytes::new(b"stop.")
        }

        fn realign_frame(&mut self) -> Option<TxBytes> {
            Some(TxBytes::new(b"realign"))
        }
    }

    #[test]
    fn the_rest_of_a_frame_that_the_dead_man_process_may_have_completed_is_replaced() {
        let rest_at = |now_ns, sent| {
            let mut rest = PartialFrame::after(TxBytes::new(b"push!"), sent, MonotonicNs(7));
            rest.realign(&mut PushOrStop, MonotonicNs(now_ns));
            rest.rest().to_vec()
        };
        assert_eq!(rest_at(7, 2), b"sh!");
        assert_eq!(rest_at(6 + COMPLETED_AFTER_NS, 2), b"sh!");
        assert_eq!(rest_at(7 + COMPLETED_AFTER_NS, 2), b"realign");
        assert_eq!(rest_at(7 + COMPLETED_AFTER_NS, 5), b"", "the frame was complete");
    }

    #[test]
    fn stop_frames_are_whole_and_follow_the_rest_of_a_partial_frame() {
        for (sent, capacity) in (0..=5).flat_map(|sent| (1..=6).map(move |capacity| (sent, capacity))) {
            let port = Narrow::with_capacity_for(capacity);
            PartialFrame::after(TxBytes::new(b"push!"), sent, MonotonicNs(0))
                .send_stop(&mut PushOrStop, &port)
                .unwrap();
            let expected = [&b"push!"[sent..], b"stop.stop."].concat();
            assert_eq!(*port.taken.borrow(), expected, "{sent} bytes sent before, {capacity} bytes at a time");
        }
    }

    #[test]
    fn a_port_that_accepts_nothing_is_given_up_without_a_stop_frame() {
        let port = Narrow::with_capacity_for(0);
        PartialFrame::after(TxBytes::new(b"push!"), 2, MonotonicNs(0)).send_stop(&mut PushOrStop, &port).unwrap();
        assert_eq!((port.taken.borrow().len(), port.tries.get()), (0, STOP_FRAMES * WRITE_WITHIN.as_millis() as u32));
    }
}
