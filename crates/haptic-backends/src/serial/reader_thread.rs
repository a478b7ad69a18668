//! The reader thread: receives bytes, publishes the newest sample, and reconnects after a loss.
//!
//! During a handshake only this thread uses the port; afterwards the tick writes to it as well. The thread does not
//! spin; it sleeps in the kernel until bytes arrive.

use super::dead_man::{DeadManProgram, DeadManSupervisor};
use super::port::Port;
use crate::handshake::{Link, now, run_handshake};
use crate::link_monitor::LinkMonitor;
use crate::open_error::{OpenError, PortError};
use crate::protocol::{HandshakeError, OpenSession, Protocol, ReceiveHalf, Sample, TransmitHalf};
use crate::reconnect::{Reconnect, log_lost, log_reconnected};
use haptic_device::{FaultCode, Health, Identity, Limits, MonotonicNs};
use haptic_realtime::exchange::{LatestWriter, RingReader, RingWriter};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum wait for bytes before the stop flag and the receive half are checked again.
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// Reconnection timing: one attempt every 50 ms; a persistent error is logged about every 10 s.
const RECONNECT: Reconnect = Reconnect { every: Duration::from_millis(50), log_every: 200 };

/// Time without a sample after which the device is considered lost, ns, provided that more than [`LOST_AFTER_COMMANDS`]
/// commands were sent in that time.
const LOST_AFTER_NS: u64 = 250_000_000;

/// Number of unanswered commands above which a silent device is considered lost. With fewer commands, the host itself
/// may have stalled.
const LOST_AFTER_COMMANDS: u64 = 20;

/// Function that returns the name of the device's port. Called again after every loss, because port names change.
pub type FindPort = Box<dyn Fn() -> Result<String, PortError> + Send>;

/// Transmit half and port, used by the tick for writing.
pub struct TxLink {
    /// Encodes efforts as bytes.
    pub transmit: Box<dyn TransmitHalf>,
    /// Destination of the bytes.
    pub port: Arc<Port>,
}

/// An open session on an open port.
pub struct Connection {
    /// Identity of the device.
    pub identity: Identity,
    /// Limits of the device.
    pub limits: Limits,
    /// Transmit link, for the tick.
    pub tx_link: TxLink,
    /// Receive half, for the reader thread.
    pub receive: Box<dyn ReceiveHalf>,
    /// Dead-man process; `None` if the device has a watchdog or no program is configured.
    pub dead_man: Option<DeadManSupervisor>,
}

/// Opens the port and the session, initially and after every loss.
pub struct SerialConnector {
    /// Function that finds the port.
    pub find: FindPort,
    /// Speed of the line, bits per second.
    pub baud: u32,
    /// Protocol of the device.
    pub protocol: Box<dyn Protocol>,
    /// Program of the dead-man process, for devices without a watchdog.
    pub dead_man: Option<DeadManProgram>,
}

impl SerialConnector {
    /// Opens the port and runs the handshake, which takes at most a few seconds. Setting `stop` interrupts the
    /// handshake.
    ///
    /// # Errors
    /// If the port cannot be opened or the handshake fails. The error includes the remedy.
    pub fn connect(&mut self, stop: &AtomicBool) -> Result<Connection, OpenError> {
        let name = (self.find)()?;
        let port = Port::open(&name, self.baud)?;
        let mut handshake = self.protocol.start_handshake(now());
        let session = run_handshake(&mut &port, handshake.as_mut(), stop)
            .map_err(|error| OpenError::System(error.to_string()).of(&name))?
            .map_err(|error| OpenError::from(error).of(&name))?;
        for warning in handshake.warnings() {
            tracing::warn!("{name}: {warning}");
        }
        let OpenSession { identity, limits, transmit, receive } = *session;
        let dead_man = self.start_dead_man(&port);
        Ok(Connection { identity, limits, tx_link: TxLink { transmit, port: Arc::new(port) }, receive, dead_man })
    }

    /// Starts the dead-man process if the device needs one and a program is configured.
    fn start_dead_man(&self, port: &Port) -> Option<DeadManSupervisor> {
        let (stop_frame, program) = (self.protocol.dead_man_frame()?, self.dead_man.clone()?);
        Some(DeadManSupervisor::start(program, port, stop_frame))
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

/// Body of the reader thread.
pub struct ReaderThread {
    /// Connector that reconnects after a loss.
    pub connector: SerialConnector,
    /// Identity of the device opened first. Other devices are rejected.
    pub identity: Identity,
    /// Publishes the newest sample to the tick.
    pub samples: LatestWriter<Sample>,
    /// Passes the transmit link of a new session to the tick.
    pub tx_links: RingWriter<TxLink>,
    /// Transmit links of lost sessions, returned by the tick.
    pub returned: RingReader<TxLink>,
    /// Dead-man process of the current session, if any.
    pub dead_man: Option<DeadManSupervisor>,
    /// Statistics of the link.
    pub monitor: Arc<LinkMonitor>,
    /// Flag that ends the thread.
    pub stop: Arc<AtomicBool>,
    /// The newest sample.
    pub newest: Sample,
}

impl ReaderThread {
    /// Runs until `stop` is set.
    pub fn run(mut self, mut receive: Box<dyn ReceiveHalf>, mut port: Arc<Port>) {
        while let Some(reason) = self.receive(receive.as_mut(), &port) {
            log_lost(port.name(), reason);
            self.report_loss();
            drop((receive, port));
            let Some(connection) = self.reconnect() else { return };
            (receive, port) = self.take_over(connection);
        }
    }

    /// Receives until `stop` is set or the link is lost. Returns the reason for the loss, or `None` if `stop` is set.
    fn receive(&mut self, receive: &mut dyn ReceiveHalf, port: &Port) -> Option<String> {
        let base = self.newest.sequence;
        let mut buffer = [0; 256];
        let mut silence = Silence::new(now(), self.monitor.commands());
        while !self.stop.load(Ordering::Relaxed) {
            let count = match port.read_within(&mut buffer, wait_until(receive.wake_at(), now())) {
                Ok(count) => count,
                Err(error) => return Some(format!("the device was unplugged ({error})")),
            };
            let received = receive.receive(&buffer[..count], now());
            if let Some(code) = received.fault {
                self.newest.faults = self.newest.faults.with(self.newest.health, Health::Faulted(code));
                self.newest.health = Health::Faulted(code);
            }
            let has_dead_man = self.watch_dead_man(port);
            if let Some(sample) = received.sample {
                let health = if has_dead_man { sample.health } else { without_dead_man(sample.health) };
                self.publish(Sample { sequence: base.wrapping_add(sample.sequence), health, ..sample });
                silence = Silence::new(now(), self.monitor.commands());
            }
            if let Some(reply) = received.reply
                && !self.stop.load(Ordering::Relaxed)
                && let Err(error) = port.write_all(reply.bytes())
            {
                return Some(format!("the device accepts no data ({error})"));
            }
            if silence.is_loss(now(), self.monitor.commands()) {
                return Some("the device does not answer".to_owned());
            }
        }
        None
    }

    /// Publishes a sample, with the faults up to it.
    fn publish(&mut self, sample: Sample) {
        let faults = self.newest.faults.with(self.newest.health, sample.health);
        self.newest = Sample { faults, ..sample };
        self.samples.publish(self.newest);
    }

    /// Sends a heartbeat to the dead-man process. If it has ended, reports that to the tick before starting it again.
    /// Returns whether it runs, or the device needs none.
    fn watch_dead_man(&mut self, port: &Port) -> bool {
        let Some(dead_man) = &mut self.dead_man else { return true };
        if dead_man.is_running() {
            dead_man.heartbeat(self.monitor.attempts(), now());
            return true;
        }
        let health = without_dead_man(self.newest.health);
        self.publish(Sample { health, ..self.newest });
        if let Some(dead_man) = &mut self.dead_man {
            dead_man.restart_if_due(port, now());
        }
        false
    }

    fn report_loss(&mut self) {
        self.publish(Sample { health: Health::Lost, ..self.newest });
        self.monitor.forget_all();
        self.dead_man = None;
    }

    fn reconnect(&mut self) -> Option<Connection> {
        let stop = Arc::clone(&self.stop);
        RECONNECT.run(&stop, || {
            // The transmit link of the old session keeps the old port open. It is dropped on this thread, where closing
            // may block.
            self.returned.drain().for_each(drop);
            Some(self.connect_to_the_same_device())
        })
    }

    fn connect_to_the_same_device(&mut self) -> Result<Connection, OpenError> {
        let connection = self.connector.connect(&self.stop)?;
        let (wanted, found) = (&self.identity, &connection.identity);
        if (found.serial_number.as_str(), found.axes) == (wanted.serial_number.as_str(), wanted.axes) {
            return Ok(connection);
        }
        let cause =
            HandshakeError::OtherBoard { wanted: wanted.serial_number.clone(), found: found.serial_number.clone() };
        Err(OpenError::from(cause).of(connection.tx_link.port.name()))
    }

    fn take_over(&mut self, connection: Connection) -> (Box<dyn ReceiveHalf>, Arc<Port>) {
        let Connection { tx_link, receive, dead_man, .. } = connection;
        self.dead_man = dead_man;
        log_reconnected(tx_link.port.name());
        self.monitor.record_reconnect();
        self.newest.health = Health::Stale;
        self.samples.publish(self.newest);
        let port = Arc::clone(&tx_link.port);
        self.tx_links.push(tx_link);
        (receive, port)
    }
}

/// Returns the health of a device whose dead-man process does not run. A fault of the device itself remains.
fn without_dead_man(health: Health) -> Health {
    match health {
        Health::Ready | Health::Stale => Health::Faulted(FaultCode::DeadMan),
        Health::Lost | Health::Faulted(_) => health,
    }
}

/// Returns how long to wait for bytes if the receive half is to be called at `wake_at`.
fn wait_until(wake_at: Option<MonotonicNs>, now: MonotonicNs) -> Duration {
    wake_at.map_or(CHECK_EVERY, |wake_at| CHECK_EVERY.min(Duration::from_nanos(wake_at.since(now))))
}

/// A period without samples: its start, and the number of commands sent before it.
struct Silence {
    since: MonotonicNs,
    commands: u64,
}

impl Silence {
    fn new(since: MonotonicNs, commands: u64) -> Self {
        Self { since, commands }
    }

    fn is_loss(&self, now: MonotonicNs, commands: u64) -> bool {
        now.since(self.since) > LOST_AFTER_NS && commands.saturating_sub(self.commands) > LOST_AFTER_COMMANDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_a_loss_only_if_commands_stay_unanswered() {
        let silence = Silence::new(MonotonicNs(0), 100);
        let later = MonotonicNs(LOST_AFTER_NS + 1);
        assert!(!silence.is_loss(later, 100), "no command was sent");
        assert!(!silence.is_loss(MonotonicNs(LOST_AFTER_NS), 1000), "it may still answer");
        assert!(silence.is_loss(later, 1000));
    }
}
