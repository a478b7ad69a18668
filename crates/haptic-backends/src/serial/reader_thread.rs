//! The thread that listens: it waits for bytes, hands on the newest sample, and when the link is lost finds it again.
//!
//! It owns the port until a session is agreed; then it shares it with the tick, which writes. Nothing here spins: it
//! sleeps in the kernel until bytes arrive.

use super::dead_man::{DeadMan, DeadManProgram};
use super::port::{Port, PortError};
use crate::handshake::{Link, now, run_handshake};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{HandshakeError, OpenSession, Protocol, ReceiveHalf, Sample, TransmitHalf};
use crate::reconnect::{Reconnect, log_lost, log_reconnected};
use haptic_device::{Health, Identity, Limits, MonotonicNs};
use haptic_realtime::exchange::{LatestWriter, RingReader, RingWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fmt, io};

/// How long it sleeps without bytes before it looks around.
const LISTEN_FOR: Duration = Duration::from_millis(20);

/// A lost port is tried every 50 ms; the same error is logged every 10 s or so.
const RECONNECT: Reconnect = Reconnect { every: Duration::from_millis(50), log_every: 200 };

/// Commands without an answer for so long mean that the device is gone, ns.
const GONE_AFTER_NS: u64 = 250_000_000;

/// And so many of them at least, so that a host that stalls does not blame the device.
const GONE_AFTER_COMMANDS: u64 = 20;

/// Why a device cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The port.
    Port(PortError),
    /// Who is on it.
    Handshake {
        /// The port's name.
        port: String,
        /// What is wrong.
        cause: HandshakeError,
    },
    /// The port went away in the middle, or no thread could be started.
    System {
        /// The port's name.
        port: String,
        /// The system's reason.
        reason: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(error) => error.fmt(f),
            Self::Handshake { port, cause } => write!(f, "{port}: {cause}"),
            Self::System { port, reason } => write!(f, "{port}: {reason}; plug the device in again"),
        }
    }
}

impl std::error::Error for OpenError {}

/// Where a device is plugged in; asked again after every loss, because names change.
pub type FindPort = Box<dyn Fn() -> Result<String, PortError> + Send>;

/// What the tick speaks with.
pub struct TxLink {
    /// Efforts to bytes.
    pub voice: Box<dyn TransmitHalf>,
    /// Where they go.
    pub port: Arc<Port>,
}

/// An agreed session on an open port.
pub struct Connection {
    /// Who it is.
    pub identity: Identity,
    /// What it can do.
    pub limits: Limits,
    /// The tick's half.
    pub line: TxLink,
    /// The listening half.
    pub ear: Box<dyn ReceiveHalf>,
    /// Who ends the force if this process cannot; none where the device does so itself.
    pub guardian: Option<DeadMan>,
}

/// How to get a connection, again and again.
pub struct SerialConnector {
    /// Where it is.
    pub find: FindPort,
    /// Bits a second.
    pub baud: u32,
    /// What is spoken.
    pub protocol: Box<dyn Protocol>,
    /// Who ends the force of a device without a watchdog if this process cannot.
    pub guardian: Option<DeadManProgram>,
}

impl SerialConnector {
    /// Opens the port and greets. Waits for the device, some seconds at most.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn dial(&mut self, stop: &AtomicBool) -> Result<Connection, OpenError> {
        let name = (self.find)().map_err(OpenError::Port)?;
        let port = Port::open(&name, self.baud).map_err(OpenError::Port)?;
        let mut greeting = self.protocol.greet(now());
        let session = run_handshake(&mut &port, greeting.as_mut(), stop)
            .map_err(|error| OpenError::System { port: name.clone(), reason: error.to_string() })?
            .map_err(|cause| OpenError::Handshake { port: name, cause })?;
        let OpenSession { identity, limits, voice, ear } = *session;
        let guardian = self.guard(&port);
        Ok(Connection { identity, limits, line: TxLink { voice, port: Arc::new(port) }, ear, guardian })
    }

    /// A guardian where the device needs one and there is a program for it.
    fn guard(&self, port: &Port) -> Option<DeadMan> {
        let (words, program) = (self.protocol.dead_man_frame()?, self.guardian.as_ref()?);
        let told = |error: &io::Error| {
            let name = port.name();
            tracing::warn!("{name}: if this program is killed the device keeps its force: no guardian ({error})");
        };
        DeadMan::start(program, port, &words).inspect_err(told).ok()
    }
}

impl Link for &Port {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        self.read_within(buffer, within)
    }
}

/// What the listening thread works on.
pub struct ReaderThread {
    /// How to find the device again.
    pub dialler: SerialConnector,
    /// The board that was opened; another one is not driven in its place.
    pub identity: Identity,
    /// Where the newest sample goes.
    pub samples: LatestWriter<Sample>,
    /// Where the tick's half of a new session goes.
    pub lines: RingWriter<TxLink>,
    /// Where the tick's half of a lost one comes back.
    pub returned: RingReader<TxLink>,
    /// Who ends the force of this session if this process cannot.
    pub guardian: Option<DeadMan>,
    /// What is counted.
    pub ledger: Arc<LinkMonitor>,
    /// Set when all shall end.
    pub stop: Arc<AtomicBool>,
    /// The newest sample.
    pub newest: Sample,
}

impl ReaderThread {
    /// Listens until told to stop.
    pub fn keep(mut self, ear: Box<dyn ReceiveHalf>, port: Arc<Port>) {
        let (mut ear, mut port) = (ear, port);
        while let Some(reason) = self.listen(ear.as_mut(), &port) {
            log_lost(port.name(), reason);
            self.lose();
            drop((ear, port));
            let Some(connection) = self.reconnect() else { return };
            (ear, port) = self.take_up(connection);
        }
    }

    /// Listens until the link is lost, for the reason returned, or until told to stop.
    fn listen(&mut self, ear: &mut dyn ReceiveHalf, port: &Port) -> Option<String> {
        let base = self.newest.sequence;
        let mut buffer = [0; 256];
        let mut silence = Silence::from(now(), self.ledger.commands());
        while !self.stop.load(Ordering::Relaxed) {
            let count = match port.read_within(&mut buffer, LISTEN_FOR) {
                Ok(count) => count,
                Err(error) => return Some(format!("the device was unplugged ({error})")),
            };
            let heard = ear.hear(&buffer[..count], now());
            if let Some(guardian) = &mut self.guardian {
                guardian.heartbeat(self.ledger.commands(), now());
            }
            if let Some(sample) = heard.sample {
                self.newest = Sample { sequence: base.wrapping_add(sample.sequence), ..sample };
                self.samples.publish(self.newest);
                silence = Silence::from(now(), self.ledger.commands());
            }
            if let Some(reply) = heard.reply
                && !self.stop.load(Ordering::Relaxed)
                && let Err(error) = port.write_all(reply.bytes())
            {
                return Some(format!("the device takes nothing any more ({error})"));
            }
            if silence.is_too_long(now(), self.ledger.commands()) {
                return Some("the device does not answer any more".to_owned());
            }
        }
        None
    }

    fn lose(&mut self) {
        self.newest.health = Health::Lost;
        self.samples.publish(self.newest);
        self.ledger.forget_all();
        self.guardian = None;
    }

    fn reconnect(&mut self) -> Option<Connection> {
        let stop = Arc::clone(&self.stop);
        RECONNECT.run(&stop, || {
            // The transmit half of the old session holds the old port open. It is dropped here, where closing may block.
            self.returned.drain().for_each(drop);
            Some(self.dial_the_same())
        })
    }

    fn dial_the_same(&mut self) -> Result<Connection, OpenError> {
        let connection = self.dialler.dial(&self.stop)?;
        let (wanted, found) = (&self.identity, &connection.identity);
        if (found.serial_number.as_str(), found.axes) == (wanted.serial_number.as_str(), wanted.axes) {
            return Ok(connection);
        }
        let cause =
            HandshakeError::OtherBoard { wanted: wanted.serial_number.clone(), found: found.serial_number.clone() };
        Err(OpenError::Handshake { port: connection.line.port.name().to_owned(), cause })
    }

    fn take_up(&mut self, connection: Connection) -> (Box<dyn ReceiveHalf>, Arc<Port>) {
        let Connection { line, ear, guardian, .. } = connection;
        self.guardian = guardian;
        log_reconnected(line.port.name());
        self.ledger.note_reconnect();
        self.newest.health = Health::Stale;
        self.samples.publish(self.newest);
        let port = Arc::clone(&line.port);
        self.lines.push(line);
        (ear, port)
    }
}

/// Since when nothing was heard, and how many commands had gone out by then.
struct Silence {
    since: MonotonicNs,
    commands: u64,
}

impl Silence {
    fn from(since: MonotonicNs, commands: u64) -> Self {
        Self { since, commands }
    }

    fn is_too_long(&self, now: MonotonicNs, commands: u64) -> bool {
        now.since(self.since) > GONE_AFTER_NS && commands.saturating_sub(self.commands) > GONE_AFTER_COMMANDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_without_an_answer_make_a_silence() {
        let silence = Silence::from(MonotonicNs(0), 100);
        let later = MonotonicNs(GONE_AFTER_NS + 1);
        assert!(!silence.is_too_long(later, 100), "nobody asked");
        assert!(!silence.is_too_long(MonotonicNs(GONE_AFTER_NS), 1000), "it may still answer");
        assert!(silence.is_too_long(later, 1000));
    }
}
