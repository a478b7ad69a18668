//! Protocols as pure state machines: a handshake, a receive half and a transmit half.
//!
//! None of them has a clock or a port: bytes and times are arguments, and bytes and samples are results. A protocol can
//! therefore be tested without a device and used both on serial lines and in HID reports.

use haptic_device::{Effort, FaultCode, Health, Identity, Limits, MonotonicNs, WriteError};
use nalgebra::Vector2;
use std::fmt;

/// Capacity of [`TxBytes`], bytes. Commands are at most 64 bytes long, the size of a full-speed USB packet; some
/// handshake messages are longer.
pub const TX_MAX: usize = 128;

/// Bytes to send, in a fixed-capacity buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxBytes {
    bytes: [u8; TX_MAX],
    length: usize,
}

impl TxBytes {
    /// No bytes.
    pub const EMPTY: Self = Self { bytes: [0; TX_MAX], length: 0 };

    /// Copies the given bytes, at most the first [`TX_MAX`].
    ///
    /// Real-time: one short copy.
    pub fn new(bytes: &[u8]) -> Self {
        let mut copy = Self::EMPTY;
        copy.append(bytes);
        copy
    }

    /// Appends as many bytes as fit.
    ///
    /// Real-time: one short copy.
    pub fn append(&mut self, bytes: &[u8]) {
        for (to, from) in self.bytes[self.length..].iter_mut().zip(bytes) {
            *to = *from;
        }
        self.length = (self.length + bytes.len()).min(TX_MAX);
    }

    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Write for TxBytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.append(text.as_bytes());
        Ok(())
    }
}

/// State of a device, as decoded by the receive half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Handle position, device frame, m.
    pub position_m: Vector2<f64>,
    /// Handle velocity, device frame, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Motor angles, rad, for linkages whose torques depend on them; zero otherwise.
    pub joints_rad: Vector2<f64>,
    /// Health of the device.
    pub health: Health,
    /// Earliest time at which the sample can have been taken: the time at which the command it answers was sent, or the
    /// time of reception if that is unknown.
    pub taken_at: MonotonicNs,
    /// Sequence number of the sample; wraps.
    pub sequence: u32,
    /// Faults up to this sample; counted by the reader thread.
    pub faults: FaultCount,
}

/// Count of the faults of a device and the newest one, so that the tick misses none that ends between two reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCount {
    count: u32,
    newest: Option<FaultCode>,
}

impl FaultCount {
    /// Returns the count after a sample with the health `after` that follows one with the health `before`.
    #[must_use]
    pub fn with(self, before: Health, after: Health) -> Self {
        match after {
            Health::Faulted(code) if after != before => Self { count: self.count.wrapping_add(1), newest: Some(code) },
            _ => self,
        }
    }

    /// Returns the fault that began after `read`, if any; only the newest one.
    ///
    /// Real-time: one comparison.
    pub fn since(&self, read: Self) -> Option<FaultCode> {
        self.newest.filter(|_| self.count != read.count)
    }
}

impl Default for Sample {
    /// Creates the placeholder used before the first sample.
    fn default() -> Self {
        Self {
            position_m: Vector2::zeros(),
            velocity_m_per_s: Vector2::zeros(),
            joints_rad: Vector2::zeros(),
            health: Health::Stale,
            taken_at: MonotonicNs(0),
            sequence: 0,
            faults: FaultCount::default(),
        }
    }
}

/// Reason a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// No bytes arrived.
    Silent {
        /// Time waited, s.
        within_s: u64,
    },
    /// The bytes received do not belong to this protocol.
    NotUnderstood {
        /// Number of bytes received.
        bytes: usize,
        /// Description of the expected answer for the error message.
        expected: &'static str,
    },
    /// The firmware uses an incompatible version of the protocol.
    Version {
        /// Protocol version of the firmware: major, minor.
        theirs: (u8, u8),
        /// Protocol version of this program: major, minor.
        ours: (u8, u8),
    },
    /// The board does not have the number of axes given in the device file.
    Axes {
        /// Number of axes in the device file.
        wanted: u8,
        /// Number of axes of the board.
        found: u8,
    },
    /// The board differs from the one in the first session.
    OtherBoard {
        /// Serial number of the board in the first session.
        wanted: String,
        /// Serial number of the board that answered.
        found: String,
    },
    /// The device rejected or did not answer a request. The text states the reason.
    Refused(String),
    /// The arm was not at its home stop during setup.
    NotHome {
        /// Angles reported by the encoders, in whole degrees.
        found_deg: (i32, i32),
        /// Angles at the home stop, in whole degrees.
        home_deg: (i32, i32),
    },
    /// The device lost the position of its arm during a run.
    PositionLost,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { within_s } => write!(
                f,
                "no answer within {within_s} s; check that it is powered, that this is its port, that no other program \
                 uses it, and that it runs the firmware for this kind of device"
            ),
            Self::NotUnderstood { bytes, expected } => write!(
                f,
                "it answered ({bytes} bytes), but not {expected}; check `kind` and `baud`, and the firmware on the \
                 board"
            ),
            Self::Version { theirs, ours } => write!(
                f,
                "the firmware uses protocol {}.{}, this program {}.{}; flash the firmware of this release",
                theirs.0, theirs.1, ours.0, ours.1
            ),
            Self::Axes { wanted, found } => {
                let axes = if *found == 1 { "axis" } else { "axes" };
                write!(f, "the board has {found} {axes}, the device file {wanted}; write axes = {found}")
            }
            Self::OtherBoard { wanted, found } => {
                write!(f, "another board answered: {found} instead of {wanted}; plug that one in, or restart hapticd")
            }
            Self::Refused(text) => write!(f, "the device rejected the session: {text}"),
            Self::PositionLost => write!(
                f,
                "the board lost the position of its arm, as after a loss of power, and gets no force; hold the arm \
                 against its home stop and restart hapticd"
            ),
            Self::NotHome { found_deg, home_deg } => write!(
                f,
                "the arm is at {}°, {}° and not at its home stop of {}°, {}°; hold it against the stop and restart \
                 hapticd",
                found_deg.0, found_deg.1, home_deg.0, home_deg.1
            ),
        }
    }
}

impl std::error::Error for HandshakeError {}

/// Next step of a handshake.
pub enum Step {
    /// Send these bytes, then call [`Handshake::step`] again.
    Send(TxBytes),
    /// Receive until the given time at the latest, then call [`Handshake::step`] again.
    Wait {
        /// Latest time of the next step.
        until: MonotonicNs,
    },
    /// The session is open.
    Done(Box<OpenSession>),
    /// The session cannot be opened.
    Failed(HandshakeError),
}

/// Opens a session with a device on a newly opened link.
pub trait Handshake: Send {
    /// Handles received bytes.
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs);

    /// Returns the step to take at `now`.
    fn step(&mut self, now: MonotonicNs) -> Step;

    /// Returns what limits the device in use, as texts for the user; meaningful once the session is open.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// An open session with a device that is ready for commands.
pub struct OpenSession {
    /// Identity of the device, such as its name and serial number.
    pub identity: Identity,
    /// Limits of the device: force, travel and rate.
    pub limits: Limits,
    /// Encodes efforts as bytes.
    pub transmit: Box<dyn TransmitHalf>,
    /// Decodes bytes into samples.
    pub receive: Box<dyn ReceiveHalf>,
}

/// Transmit half of a protocol: encodes efforts as bytes.
pub trait TransmitHalf: Send {
    /// Encodes an effort as a command to be sent at `now`. `newest` is the newest sample from the device.
    ///
    /// # Errors
    /// If the effort is not finite; the command then requests zero force.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn encode(&mut self, effort: Effort, newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>);

    /// Withdraws the last encoded command, because it will not be sent.
    ///
    /// Real-time: constant.
    fn cancel_last(&mut self) {}

    /// Returns the stop frame: the bytes that end all force.
    fn stop_frame(&mut self) -> TxBytes;

    /// Returns bytes that end all force wherever a frame was cut short, and whether or not the dead-man process has
    /// completed it since. `None` for a device without a dead-man process, whose frames only this process completes.
    ///
    /// Real-time: a short copy.
    fn realign_frame(&mut self) -> Option<TxBytes> {
        None
    }
}

/// Result of handling received bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Received {
    /// Newest sample in the received bytes, if any.
    pub sample: Option<Sample>,
    /// Newest fault in the received bytes, if any, which may have ended before `sample`.
    pub fault: Option<FaultCode>,
    /// Bytes to send immediately, if any, such as an arm request after a fault.
    pub reply: Option<TxBytes>,
}

impl Received {
    /// Adds a later sample, if any.
    pub fn add(&mut self, sample: Option<Sample>) {
        self.sample = sample.or(self.sample);
        if let Some(Health::Faulted(code)) = sample.map(|sample| sample.health) {
            self.fault = Some(code);
        }
    }
}

/// Receive half of a protocol: decodes bytes into samples.
pub trait ReceiveHalf: Send {
    /// Handles received bytes. Also called with an empty slice when no bytes arrive.
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) -> Received;

    /// Time at which [`Self::receive`] is to be called even if no bytes arrive; `None` if there is no hurry.
    fn wake_at(&self) -> Option<MonotonicNs> {
        None
    }
}

/// A protocol with its settings. It opens a session at the start and after every loss of the link.
pub trait Protocol: Send {
    /// Starts a handshake on a newly opened link.
    fn start_handshake(&mut self, now: MonotonicNs) -> Box<dyn Handshake>;

    /// Returns the bytes that the dead-man process sends to end all force; `None` for devices that have a watchdog.
    fn dead_man_frame(&self) -> Option<TxBytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_the_capacity_are_dropped() {
        let mut bytes = TxBytes::new(&[1; TX_MAX - 4]);
        bytes.append(&[2; 10]);
        assert_eq!((bytes.bytes().len(), bytes.bytes()[TX_MAX - 1]), (TX_MAX, 2));
    }

    #[test]
    fn faults_that_begin_are_counted_and_the_newest_is_kept() {
        let faulted = |code| Health::Faulted(code);
        let (watchdog, stop) = (faulted(FaultCode::Watchdog), faulted(FaultCode::EmergencyStop));
        let none = FaultCount::default();
        let one = none.with(Health::Ready, watchdog).with(watchdog, watchdog).with(watchdog, Health::Ready);
        assert_eq!((one.since(none), one.since(one)), (Some(FaultCode::Watchdog), None));
        let two = one.with(watchdog, stop).with(stop, Health::Ready);
        assert_eq!((two.since(none), two.since(one)), (Some(FaultCode::EmergencyStop), Some(FaultCode::EmergencyStop)));
    }

    #[test]
    fn every_error_message_has_a_remedy() {
        let errors = [
            HandshakeError::Silent { within_s: 5 },
            HandshakeError::NotUnderstood { bytes: 9, expected: "in this protocol" },
            HandshakeError::Version { theirs: (2, 0), ours: (1, 0) },
            HandshakeError::Axes { wanted: 2, found: 1 },
            HandshakeError::PositionLost,
        ];
        let remedies = ["powered", "`kind`", "flash", "axes = 1", "against its home stop and restart hapticd"];
        for (error, remedy) in errors.iter().zip(remedies) {
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }
}
