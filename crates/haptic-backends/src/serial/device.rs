//! A device on a serial line. A read takes the newest sample from a slot, and a write does not wait.

use super::dead_man::DeadManProgram;
use super::in_flight_limit::InFlightLimit;
use super::partial_frame::PartialFrame;
use super::port::Port;
use super::reader_thread::{Connection, FindPort, ReaderThread, SerialConnector, TxLink};
use crate::handshake::now;
use crate::link_monitor::LinkMonitor;
use crate::open_error::OpenError;
use crate::protocol::{FaultCount, Protocol, ReceiveHalf, Sample};
use haptic_device::{
    Device, Effort, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use haptic_realtime::exchange::{LatestReader, RingReader, RingWriter, latest, ring};
use haptic_realtime::thread::{CpuChoice, RealtimeThread, ThreadRequest, spawn};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Capacity of the rings that pass transmit links between the threads. Each ring contains at most one link at a time.
const TX_LINKS: usize = 4;

/// Settings of a serial device.
pub struct SerialSettings {
    /// Function that finds the port.
    pub find: FindPort,
    /// Speed of the line, bits per second.
    pub baud: u32,
    /// Protocol of the device.
    pub protocol: Box<dyn Protocol>,
    /// Statistics of the link, shared with the protocol.
    pub monitor: Arc<LinkMonitor>,
    /// Program of the dead-man process, for devices without a watchdog.
    pub dead_man: Option<DeadManProgram>,
    /// SCHED_FIFO priority of the reader thread, lower than the tick's priority.
    pub priority: u8,
}

/// A device on a serial line.
pub struct SerialDevice {
    identity: Identity,
    limits: Limits,
    monitor: Arc<LinkMonitor>,
    tx_link: Option<TxLink>,
    /// Unsent rest of a frame; sent before anything else.
    rest: PartialFrame,
    in_flight_limit: InFlightLimit,
    samples: LatestReader<Sample>,
    newest: Sample,
    /// Sequence number of the sample last read by the tick.
    sequence_read: u32,
    /// Faults up to the sample last read by the tick.
    faults_read: FaultCount,
    /// Whether the last write found no device, which the tick can notice before the reader thread does. Until a write
    /// succeeds, the device counts as lost: the failed write would otherwise be a second fault beside the loss.
    is_gone: bool,
    tx_links: RingReader<TxLink>,
    returned: RingWriter<TxLink>,
    stop: Arc<AtomicBool>,
    reader: Option<RealtimeThread<()>>,
}

impl SerialDevice {
    /// Opens the port, runs the handshake, which takes at most a few seconds, and starts the reader thread.
    ///
    /// # Errors
    /// If the port cannot be opened, the handshake fails or the thread cannot be started. The error includes the
    /// remedy.
    pub fn open(settings: SerialSettings) -> Result<Self, OpenError> {
        let SerialSettings { find, baud, protocol, monitor, dead_man, priority } = settings;
        let mut connector = SerialConnector { find, baud, protocol, dead_man };
        let stop = Arc::new(AtomicBool::new(false));
        let Connection { identity, limits, tx_link, receive, dead_man } = connector.connect(&stop)?;
        let (sample_writer, samples) = latest(Sample::default());
        let ((tx_link_writer, tx_links), (return_writer, returned)) = (ring(TX_LINKS), ring(TX_LINKS));
        let reader = ReaderThread {
            connector,
            identity: identity.clone(),
            samples: sample_writer,
            tx_links: tx_link_writer,
            returned,
            dead_man,
            monitor: Arc::clone(&monitor),
            stop: Arc::clone(&stop),
            newest: Sample::default(),
        };
        let reader = Some(start(reader, receive, Arc::clone(&tx_link.port), priority)?);
        Ok(Self {
            identity,
            limits,
            monitor,
            tx_link: Some(tx_link),
            rest: PartialFrame::none(),
            in_flight_limit: InFlightLimit::new(),
            samples,
            newest: Sample::default(),
            sequence_read: 0,
            faults_read: FaultCount::default(),
            is_gone: false,
            tx_links,
            returned: return_writer,
            stop,
            reader,
        })
    }

    /// Adopts the transmit link of a new session, and returns the link of a lost session to the reader thread, which
    /// closes it.
    fn update_tx_link(&mut self) {
        let new = self.tx_links.pop();
        if new.is_some() || self.newest.health == Health::Lost {
            let old = std::mem::replace(&mut self.tx_link, new);
            (self.rest, self.in_flight_limit) = (PartialFrame::none(), InFlightLimit::new());
            if let Some(old) = old {
                self.returned.push(old);
            }
        }
    }

    fn send(&mut self, effort: Effort) -> WriteOutcome {
        let Some(TxLink { transmit, port }) = &mut self.tx_link else {
            return WriteOutcome::Failed(WriteError::NotConnected);
        };
        let (port, now) = (port.as_ref(), now());
        self.monitor.record_attempt();
        self.rest.realign(transmit.as_mut(), now);
        match self.rest.send(port) {
            Ok(true) => {}
            Ok(false) => return WriteOutcome::Busy,
            Err(error) => return failed(&error),
        }
        if !self.in_flight_limit.admits(effort, &self.monitor, now) {
            return WriteOutcome::Busy;
        }
        let (frame, verdict) = transmit.encode(effort, &self.newest, now);
        match port.write(frame.bytes()) {
            Ok(count) => {
                self.rest = PartialFrame::after(frame, count, now);
                self.in_flight_limit.record(effort, now);
                verdict.map_or_else(WriteOutcome::Failed, |()| WriteOutcome::Written)
            }
            Err(error) => {
                transmit.cancel_last();
                if error.kind() == io::ErrorKind::WouldBlock { WriteOutcome::Busy } else { failed(&error) }
            }
        }
    }

    fn send_stop(&mut self) {
        let Some(TxLink { transmit, port }) = &mut self.tx_link else { return };
        // Nothing more can be sent to a device that is gone.
        let _ = self.rest.send_stop(transmit.as_mut(), port.as_ref());
    }
}

impl Device for SerialDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A fault that ended before the tick read it is still reported once: the motors were off, so the force must ramp
    /// up again.
    ///
    /// Real-time: one slot and two rings; no system call.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        self.newest = *self.samples.read();
        self.update_tx_link();
        let sample = &self.newest;
        let fresh = sample.sequence != std::mem::replace(&mut self.sequence_read, sample.sequence);
        let unread = sample.faults.since(std::mem::replace(&mut self.faults_read, sample.faults));
        let health = match (sample.health, unread) {
            (Health::Ready | Health::Stale, _) if self.is_gone => Health::Lost,
            (Health::Ready | Health::Stale, Some(code)) => Health::Faulted(code),
            (Health::Ready, None) if !fresh => Health::Stale,
            (health, _) => health,
        };
        Reading {
            position_m: sample.position_m,
            velocity_m_per_s: sample.velocity_m_per_s,
            health,
            age_ns: now.since(sample.taken_at),
            fresh,
            sequence: sample.sequence,
        }
    }

    /// Real-time: at most two non-blocking system calls.
    fn write(&mut self, effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        let outcome = self.send(effort);
        self.is_gone = matches!(outcome, WriteOutcome::Failed(WriteError::Os { .. } | WriteError::NotConnected));
        outcome
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        Some(self.monitor.statistics(self.limits.rate_hz))
    }

    fn close(&mut self) {
        // The flag is set first, so that the reader thread does not re-arm the device when it reports that it is
        // disarmed.
        self.stop.store(true, Ordering::Relaxed);
        self.send_stop();
        self.tx_link = None;
        if let Some(reader) = self.reader.take()
            && let Err(text) = reader.join()
        {
            tracing::error!("the reader thread panicked: {text}");
        }
    }
}

impl Drop for SerialDevice {
    fn drop(&mut self) {
        self.close();
    }
}

fn failed(error: &io::Error) -> WriteOutcome {
    WriteOutcome::Failed(WriteError::Os { errno: error.raw_os_error().unwrap_or(0) })
}

fn start(
    reader: ReaderThread,
    receive: Box<dyn ReceiveHalf>,
    port: Arc<Port>,
    priority: u8,
) -> Result<RealtimeThread<()>, OpenError> {
    let request = ThreadRequest {
        name: "haptic-serial".to_owned(),
        priority,
        cpu: CpuChoice::Any,
        lock_memory: false,
        ..ThreadRequest::default()
    };
    let name = port.name().to_owned();
    spawn(request, move |_granted| reader.run(receive, port))
        .map_err(|error| OpenError::System(error.to_string()).of(&name))
}
