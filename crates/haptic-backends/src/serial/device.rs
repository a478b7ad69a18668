//! A device on a serial line, as the tick sees it: reading is looking into a slot, writing is one call that does not wait.

use super::dead_man::DeadManProgram;
use super::in_flight_limit::InFlightLimit;
use super::partial_frame::PartialFrame;
use super::port::Port;
use super::reader_thread::{Connection, FindPort, OpenError, ReaderThread, SerialConnector, TxLink};
use crate::handshake::now;
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Protocol, ReceiveHalf, Sample};
use haptic_device::{
    Device, Effort, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use haptic_realtime::exchange::{LatestReader, RingReader, RingWriter, latest, ring};
use haptic_realtime::thread::{CpuChoice, RealtimeThread, ThreadRequest, spawn};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lines on their way between the threads: one is, at most; the rest is room.
const LINES: usize = 4;

/// How a serial device is opened.
pub struct SerialSettings {
    /// Where it is plugged in.
    pub find: FindPort,
    /// Bits a second.
    pub baud: u32,
    /// What is spoken there.
    pub protocol: Box<dyn Protocol>,
    /// What is counted; the protocol has the same one.
    pub ledger: Arc<LinkMonitor>,
    /// Who ends the force of a device without a watchdog if this process cannot.
    pub guardian: Option<DeadManProgram>,
    /// SCHED_FIFO priority of the listening thread, below that of the tick.
    pub priority: u8,
}

/// A device on a serial line.
pub struct SerialDevice {
    identity: Identity,
    limits: Limits,
    ledger: Arc<LinkMonitor>,
    line: Option<TxLink>,
    /// The end of a frame that found no room; it goes out before anything else.
    rest: PartialFrame,
    queue: InFlightLimit,
    samples: LatestReader<Sample>,
    newest: Sample,
    handed_out: u32,
    lines: RingReader<TxLink>,
    returned: RingWriter<TxLink>,
    stop: Arc<AtomicBool>,
    keeper: Option<RealtimeThread<()>>,
}

impl SerialDevice {
    /// Opens the port, greets the device and starts to listen. Waits for the device, some seconds at most.
    ///
    /// # Errors
    /// What stands in the way, with the remedy.
    pub fn open(settings: SerialSettings) -> Result<Self, OpenError> {
        let SerialSettings { find, baud, protocol, ledger, guardian, priority } = settings;
        let mut dialler = SerialConnector { find, baud, protocol, guardian };
        let stop = Arc::new(AtomicBool::new(false));
        let Connection { identity, limits, line, ear, guardian } = dialler.dial(&stop)?;
        let (sample_writer, samples) = latest(Sample::nothing_yet());
        let ((line_writer, lines), (return_writer, returned)) = (ring(LINES), ring(LINES));
        let keeper = ReaderThread {
            dialler,
            identity: identity.clone(),
            samples: sample_writer,
            lines: line_writer,
            returned,
            guardian,
            ledger: Arc::clone(&ledger),
            stop: Arc::clone(&stop),
            newest: Sample::nothing_yet(),
        };
        let keeper = Some(start(keeper, ear, Arc::clone(&line.port), priority)?);
        Ok(Self {
            identity,
            limits,
            ledger,
            line: Some(line),
            rest: PartialFrame::none(),
            queue: InFlightLimit::new(),
            samples,
            newest: Sample::nothing_yet(),
            handed_out: 0,
            lines,
            returned: return_writer,
            stop,
            keeper,
        })
    }

    /// Takes up the line of a new session; lets go of one that was lost. Closing is left to the other thread.
    fn change_line(&mut self) {
        let new = self.lines.pop();
        if new.is_some() || self.newest.health == Health::Lost {
            let old = std::mem::replace(&mut self.line, new);
            (self.rest, self.queue) = (PartialFrame::none(), InFlightLimit::new());
            if let Some(old) = old {
                self.returned.push(old);
            }
        }
    }

    fn say(&mut self, effort: Effort) -> WriteOutcome {
        let Some(line) = &mut self.line else { return WriteOutcome::Failed(WriteError::NotConnected) };
        let port = line.port.as_ref();
        match self.rest.send(port) {
            Ok(true) => {}
            Ok(false) => return WriteOutcome::Busy,
            Err(error) => return failed(&error),
        }
        let now = now();
        if !self.queue.admits(effort, self.ledger.open_commands(), now) {
            return WriteOutcome::Busy;
        }
        let (words, verdict) = line.voice.say(effort, &self.newest, now);
        match port.write(words.bytes()) {
            Ok(count) => {
                self.rest = PartialFrame::after(words, count);
                self.queue.note(effort, now);
                verdict.map_or_else(WriteOutcome::Failed, |()| WriteOutcome::Written)
            }
            Err(error) => {
                line.voice.cancel_last();
                if error.kind() == io::ErrorKind::WouldBlock { WriteOutcome::Busy } else { failed(&error) }
            }
        }
    }

    fn last_words(&mut self) {
        let Some(line) = &mut self.line else { return };
        // A device that is gone hears nothing; its own watchdog has ended the force.
        let _ = self.rest.send_stop(line.voice.as_mut(), line.port.as_ref());
    }
}

impl Device for SerialDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: two looks into slots, no system call.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        self.newest = *self.samples.read();
        self.change_line();
        let sample = &self.newest;
        let fresh = sample.sequence != std::mem::replace(&mut self.handed_out, sample.sequence);
        let health = if sample.health == Health::Ready && !fresh { Health::Stale } else { sample.health };
        Reading {
            position_m: sample.position_m,
            velocity_m_per_s: sample.velocity_m_per_s,
            health,
            age_ns: now.since(sample.taken_at),
            fresh,
            sequence: sample.sequence,
        }
    }

    /// Real-time: at most two system calls that do not wait.
    fn write(&mut self, effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        self.say(effort)
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        Some(self.ledger.statistics(self.limits.rate_hz))
    }

    fn close(&mut self) {
        // First, so that the listening thread does not take the device up again when it says that it was stopped.
        self.stop.store(true, Ordering::Relaxed);
        self.last_words();
        self.line = None;
        if let Some(keeper) = self.keeper.take()
            && let Err(text) = keeper.join()
        {
            tracing::error!("the listening thread panicked: {text}");
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
    keeper: ReaderThread,
    ear: Box<dyn ReceiveHalf>,
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
    spawn(request, move |_granted| keeper.keep(ear, port))
        .map_err(|error| OpenError::System { port: name, reason: error.to_string() })
}
