//! What every serial protocol is made of: a greeting, an ear and a voice. None of them knows a clock or a port: bytes and
//! times come in, bytes and samples go out.

use haptic_device::{Effort, Health, Identity, Limits, MonotonicNs, WriteError};
use nalgebra::Vector2;
use std::fmt;

/// The most bytes said at once. Commands have at most 64, one full-speed USB packet; some greetings are longer.
pub const SPOKEN_MAX: usize = 128;

/// A few bytes to be sent, without a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxBytes {
    bytes: [u8; SPOKEN_MAX],
    length: usize,
}

impl TxBytes {
    /// Nothing to say.
    pub const fn nothing() -> Self {
        Self { bytes: [0; SPOKEN_MAX], length: 0 }
    }

    /// The first `SPOKEN_MAX` of some bytes.
    ///
    /// Real-time: one short copy.
    pub fn of(bytes: &[u8]) -> Self {
        let mut spoken = Self::nothing();
        spoken.append(bytes);
        spoken
    }

    /// Adds as many bytes as there is room for.
    ///
    /// Real-time: one short copy.
    pub fn append(&mut self, bytes: &[u8]) {
        for (place, byte) in self.bytes[self.length..].iter_mut().zip(bytes) {
            *place = *byte;
        }
        self.length = (self.length + bytes.len()).min(SPOKEN_MAX);
    }

    /// The bytes.
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

/// One state of the device, as the ear understood it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Handle position, device frame, m.
    pub position_m: Vector2<f64>,
    /// Handle velocity, device frame, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Angles of the motors, for linkages whose torques depend on them, rad; else zero.
    pub joints_rad: Vector2<f64>,
    /// How the device is.
    pub health: Health,
    /// The sample was taken no earlier than this: when the command that it answers went out.
    pub taken_at: MonotonicNs,
    /// Counts samples, wrapping.
    pub sequence: u32,
}

impl Sample {
    /// Nothing was heard yet.
    pub fn nothing_yet() -> Self {
        Self {
            position_m: Vector2::zeros(),
            velocity_m_per_s: Vector2::zeros(),
            joints_rad: Vector2::zeros(),
            health: Health::Stale,
            taken_at: MonotonicNs(0),
            sequence: 0,
        }
    }
}

/// Why a device cannot be talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// Nothing came back.
    Silent {
        /// How long was waited, s.
        within_s: u64,
    },
    /// Something came back that makes no sense.
    NotUnderstood {
        /// How many bytes.
        bytes: usize,
        /// What was expected, for people.
        expected: &'static str,
    },
    /// The firmware speaks another version of the protocol.
    Version {
        /// What the firmware speaks.
        theirs: (u8, u8),
        /// What is spoken here.
        ours: (u8, u8),
    },
    /// The device file says another number of axes.
    Axes {
        /// What the file says.
        wanted: u8,
        /// What the board has.
        found: u8,
    },
    /// The board is not the one that was there before.
    OtherBoard {
        /// The one that was there.
        wanted: String,
        /// The one that answers now.
        found: String,
    },
    /// The device refused, in its own words.
    Refused(String),
    /// The arm does not stand where it must when it is switched on.
    NotHome {
        /// What the encoders say, in whole degrees.
        found_deg: (i32, i32),
        /// What they must say.
        home_deg: (i32, i32),
    },
    /// The device forgot in the middle of a run where its arm stands.
    PlaceForgotten,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { within_s } => write!(
                f,
                "nothing answered within {within_s} s; is it powered, is this its port, does it run the firmware for this \
                 kind of device?"
            ),
            Self::NotUnderstood { bytes, expected } => write!(
                f,
                "something answers ({bytes} bytes), but not {expected}; check `kind` and `baud`, and the firmware on the board"
            ),
            Self::Version { theirs, ours } => write!(
                f,
                "the firmware speaks protocol {}.{}, this program {}.{}; flash the firmware of this release",
                theirs.0, theirs.1, ours.0, ours.1
            ),
            Self::Axes { wanted, found } => {
                write!(f, "the board has {found} axes, the device file says {wanted}; write axes = {found}")
            }
            Self::OtherBoard { wanted, found } => {
                write!(f, "another board answers: {found} in place of {wanted}; plug that one in, or start anew")
            }
            Self::Refused(text) => write!(f, "the device refused: {text}"),
            Self::PlaceForgotten => write!(
                f,
                "the board does not know any more where its arm stands, as after a loss of power, and gets no force; hold the arm \
                 against its home stop and start anew"
            ),
            Self::NotHome { found_deg, home_deg } => write!(
                f,
                "the arm stands at {}°, {}° and not at its home stop of {}°, {}°; hold it against the stop and start anew",
                found_deg.0, found_deg.1, home_deg.0, home_deg.1
            ),
        }
    }
}

impl std::error::Error for HandshakeError {}

/// What a greeting wants next.
pub enum Step {
    /// Send this.
    Say(TxBytes),
    /// Listen until then, then ask again.
    Wait {
        /// Until when.
        until: MonotonicNs,
    },
    /// All is agreed.
    Done(Box<OpenSession>),
    /// It cannot be.
    Failed(HandshakeError),
}

/// Getting to know a device on a port that was just opened.
pub trait Handshake: Send {
    /// Takes what arrived.
    fn hear(&mut self, bytes: &[u8], now: MonotonicNs);

    /// Says what to do next.
    fn step(&mut self, now: MonotonicNs) -> Step;
}

/// A device that was greeted, ready for commands.
pub struct OpenSession {
    /// Who it is.
    pub identity: Identity,
    /// What it can do, and how often.
    pub limits: Limits,
    /// The tick's half.
    pub voice: Box<dyn TransmitHalf>,
    /// The listening thread's half.
    pub ear: Box<dyn ReceiveHalf>,
}

/// From efforts to bytes, on the tick.
pub trait TransmitHalf: Send {
    /// The bytes that ask for an effort, sent at `now`; `newest` is the newest sample there is.
    ///
    /// # Errors
    /// An effort that is not a number; zero is asked for instead.
    ///
    /// Real-time: no allocation, lock, wait or log.
    fn say(&mut self, effort: Effort, newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>);

    /// The last bytes asked for did not go out and never will.
    ///
    /// Real-time: constant.
    fn cancel_last(&mut self) {}

    /// The bytes that end all force.
    fn stop_frame(&mut self) -> TxBytes;
}

/// What the ear made of some bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// The newest sample among them.
    pub sample: Option<Sample>,
    /// What to answer at once, such as arming again after a fault.
    pub reply: Option<TxBytes>,
}

/// From bytes to samples, on the listening thread.
pub trait ReceiveHalf: Send {
    /// Takes what arrived, which may be nothing.
    fn hear(&mut self, bytes: &[u8], now: MonotonicNs) -> Received;
}

/// One protocol with its settings: begins a conversation, again after every loss.
pub trait Protocol: Send {
    /// Begins anew on a port that was just opened.
    fn greet(&mut self, now: MonotonicNs) -> Box<dyn Handshake>;

    /// What another process must say when this one dies: the bytes that end all force, for devices that have no watchdog.
    fn dead_man_frame(&self) -> Option<TxBytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_to_say_is_cut() {
        let mut spoken = TxBytes::of(&[1; SPOKEN_MAX - 4]);
        spoken.append(&[2; 10]);
        assert_eq!((spoken.bytes().len(), spoken.bytes()[SPOKEN_MAX - 1]), (SPOKEN_MAX, 2));
    }

    #[test]
    fn every_reason_comes_with_a_remedy() {
        let reasons = [
            HandshakeError::Silent { within_s: 5 },
            HandshakeError::NotUnderstood { bytes: 9, expected: "in this protocol" },
            HandshakeError::Version { theirs: (2, 0), ours: (1, 0) },
            HandshakeError::Axes { wanted: 2, found: 1 },
            HandshakeError::PlaceForgotten,
        ];
        let remedies = ["powered", "`kind`", "flash", "axes = 1", "against its home stop and start anew"];
        for (reason, remedy) in reasons.iter().zip(remedies) {
            assert!(reason.to_string().contains(remedy), "{reason}");
        }
    }
}
