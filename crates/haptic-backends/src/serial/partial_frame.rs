//! The end of a frame that found no room. Nothing else may be said before it: a device without framing would take the next
//! frame for the rest of this one.

use super::port::Port;
use crate::protocol::{TransmitHalf, TxBytes};
use std::io;
use std::time::Duration;

/// The last words go out so often, this far apart, and have as long to be heard before the port closes.
const LAST_WORDS: u32 = 2;
const LAST_WORDS_APART: Duration = Duration::from_millis(5);

/// At the end a port that has no room is tried so often, this far apart: it is closed afterwards, so that this must end.
const PATIENT_TRIES: u32 = 100;
const PATIENCE: Duration = Duration::from_millis(1);

/// Where bytes go.
pub trait Outlet {
    /// Sends what there is room for and returns how many bytes that was.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, else what the system says of a port that is gone.
    ///
    /// Real-time: one system call that does not wait.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Outlet for Port {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes)
    }
}

/// What of a frame is still to be sent.
pub struct PartialFrame {
    words: TxBytes,
    sent: usize,
}

impl PartialFrame {
    /// Nothing.
    pub fn none() -> Self {
        Self::after(TxBytes::nothing(), 0)
    }

    /// What follows the first bytes of a frame.
    pub fn after(words: TxBytes, sent: usize) -> Self {
        Self { words, sent }
    }

    /// Sends the rest; false if there is still no room for all of it.
    ///
    /// # Errors
    /// When the port is gone.
    ///
    /// Real-time: at most one system call that does not wait.
    pub fn send(&mut self, port: &impl Outlet) -> io::Result<bool> {
        let left = self.words.bytes().get(self.sent..).unwrap_or_default();
        if left.is_empty() {
            return Ok(true);
        }
        match port.write(left) {
            Ok(count) => self.sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(self.sent == self.words.bytes().len())
    }

    /// Sends the rest, waiting a little where there is no room; false if it took too long. Not for the tick.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn send_patiently(&mut self, port: &impl Outlet) -> io::Result<bool> {
        for _ in 0..PATIENT_TRIES {
            if self.send(port)? {
                return Ok(true);
            }
            std::thread::sleep(PATIENCE);
        }
        Ok(false)
    }

    /// Ends all force: whole frames only, what was begun before anything else. Not for the tick.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn send_stop(&mut self, voice: &mut dyn TransmitHalf, port: &impl Outlet) -> io::Result<()> {
        for _ in 0..LAST_WORDS {
            if self.send_patiently(port)? {
                *self = Self::after(voice.stop_frame(), 0);
                self.send_patiently(port)?;
            }
            std::thread::sleep(LAST_WORDS_APART);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Sample;
    use haptic_device::{Effort, MonotonicNs, WriteError};
    use std::cell::{Cell, RefCell};

    /// A port that has no room at every other try, and little at the others.
    struct Narrow {
        taken: RefCell<Vec<u8>>,
        tries: Cell<u32>,
        room: usize,
    }

    impl Narrow {
        fn with_room_for(room: usize) -> Self {
            Self { taken: RefCell::default(), tries: Cell::new(0), room }
        }
    }

    impl Outlet for Narrow {
        fn write(&self, bytes: &[u8]) -> io::Result<usize> {
            self.tries.set(self.tries.get() + 1);
            let count = bytes.len().min(self.room);
            if count == 0 || self.tries.get() % 2 == 1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.taken.borrow_mut().extend(&bytes[..count]);
            Ok(count)
        }
    }

    struct Laconic;

    impl TransmitHalf for Laconic {
        fn say(&mut self, _: Effort, _: &Sample, _: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
            (TxBytes::of(b"push!"), Ok(()))
        }

        fn stop_frame(&mut self) -> TxBytes {
            TxBytes::of(b"stop.")
        }
    }

    #[test]
    fn the_last_words_come_after_the_whole_of_what_was_begun_and_are_whole_themselves() {
        for (begun, room) in (0..=5).flat_map(|begun| (1..=6).map(move |room| (begun, room))) {
            let port = Narrow::with_room_for(room);
            PartialFrame::after(TxBytes::of(b"push!"), begun).send_stop(&mut Laconic, &port).unwrap();
            let expected = [&b"push!"[begun..], b"stop.stop."].concat();
            assert_eq!(*port.taken.borrow(), expected, "{begun} bytes sent before, room for {room}");
        }
    }

    #[test]
    fn a_port_that_takes_nothing_is_given_up_and_gets_no_words_without_their_beginning() {
        let port = Narrow::with_room_for(0);
        PartialFrame::after(TxBytes::of(b"push!"), 2).send_stop(&mut Laconic, &port).unwrap();
        assert_eq!((port.taken.borrow().len(), port.tries.get()), (0, LAST_WORDS * PATIENT_TRIES));
    }
}
