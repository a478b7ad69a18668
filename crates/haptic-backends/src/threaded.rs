//! A device whose link can block. Two threads wait for the link, so that the tick does not have to.
//!
//! The tick stores the newest effort in one slot and takes the newest sample from another; neither side waits for the
//! other. The *receiving* thread waits for samples and reconnects after a loss. The *sending* thread writes efforts at
//! the pace of the link. A backend implements [`Connector`], [`Receiver`] and [`Transmitter`].
//!
//! Two safety measures apply: the sending thread sends zero force if the tick has written nothing for `TICK_SILENT_NS`,
//! and a device that is closed or dropped is always disabled.

mod receiving;
pub(crate) mod reporting_mode;
mod sending;

use crate::link_monitor::LinkMonitor;
use crate::open_error::OpenError;
use haptic_device::velocity::AdaptiveWindow;
use haptic_device::{
    Device, Effort, FaultCode, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::{LatestReader, LatestWriter, latest};
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use nalgebra::Vector2;
use receiving::Receiving;
use reporting_mode::STREAM_GAP_NS;
use sending::Sending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, sync_channel};
use std::thread::Thread;
use std::time::Duration;

/// Time for which a device that reports only changes counts as present after the last successful read or write, ns.
const PRESENT_NS: u64 = 100_000_000;
/// Maximum time for which a thread waits before it checks again whether the device is being closed.
const CHECK_EVERY: Duration = Duration::from_millis(20);
/// Number of service periods for which one message may block before the link counts as busy.
const BUSY_PERIODS: f64 = 2.0;
/// Value of [`Shared::sending_ns`] while no message is being written.
const NOT_SENDING: u64 = 0;
/// Maximum wait for the threads to end when the device is closed.
const CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// Finds, opens and arms a device, initially and after every loss.
pub trait Connector: Send {
    /// Connects to the device and arms it with zero force. Setting `stop` interrupts the attempt.
    ///
    /// # Errors
    /// If the device is missing or rejects a request. The error message includes the remedy.
    fn connect(&mut self, stop: &AtomicBool) -> Result<Connection, OpenError>;
}

/// Both directions of the link to an open device.
pub struct Connection {
    /// Source of samples.
    pub receiving: Box<dyn Receiver>,
    /// Destination of efforts.
    pub sending: Box<dyn Transmitter>,
}

/// Contents of one message from a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// No message arrived in time, or the message contained neither a position nor a condition.
    Nothing,
    /// Position of the handle, device frame, m, the reason the device applies no force, if any, and the change since
    /// the previous message with a position. The time of reception is used as the sample time; the velocity is
    /// estimated.
    Position(Vector2<f64>, Option<FaultCode>, ReportChange),
    /// A complete sample.
    Measurement(Measurement),
    /// Reason the device currently applies no force, if any, from a message without a position.
    Condition(Option<FaultCode>),
}

/// Difference between a report with a position and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportChange {
    /// The whole report is repeated.
    Nothing,
    /// Only the axes of the handle have changed.
    Axes,
    /// Other fields have changed, such as buttons and pedals.
    Others,
}

/// A complete sample from a device. Position and velocity refer to the handle, device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Position, m.
    pub position_m: Vector2<f64>,
    /// Velocity, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Time of the sample on the monotonic clock, ns.
    pub taken_ns: u64,
    /// Reason the device applies no force, if any.
    pub fault: Option<FaultCode>,
}

/// Receiving direction of a link.
pub trait Receiver: Send {
    /// Waits at most `wait` for the next message and returns its contents.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self, wait: Duration) -> io::Result<Received>;

    /// Returns the reporting mode of the device. If a device streams, silence counts as a loss.
    fn reporting_mode(&self) -> ReportingMode {
        ReportingMode::Unknown
    }
}

/// Condition under which a device sends samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportingMode {
    /// The device sends samples continuously, even when nothing has changed.
    Streams,
    /// The device sends a sample only when something has changed.
    ReportsChanges,
    /// One of these two; the mode is detected from the samples.
    Unknown,
}

/// Result of [`Transmitter::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// A message was written; another may follow immediately.
    Again,
    /// Nothing to write before this time, unless the effort changes.
    Idle {
        /// Time on the monotonic clock, ns.
        until_ns: u64,
    },
    /// Nothing may be written before this time, even if the effort changes.
    Wait {
        /// Time on the monotonic clock, ns.
        until_ns: u64,
    },
}

/// Sending direction of a link.
pub trait Transmitter: Send {
    /// Writes at most one message that brings the device's force closer to `force_n`, device frame. `is_new` is true if
    /// the tick has written an effort since the last call.
    ///
    /// # Errors
    /// If the device is gone.
    fn send(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) -> io::Result<SendOutcome>;

    /// Ends all force and disarms the device.
    fn disable(&mut self);
}

/// Starts a device thread, with real-time priority if the system grants it. A priority of 0 requests an ordinary
/// thread.
fn start_thread(name: &str, priority: u8, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    if priority == 0 {
        return std::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop);
    }
    // Memory locking and the limit for runaway threads are left to the loop.
    let request = ThreadRequest {
        name: name.to_owned(),
        priority,
        cpu: CpuChoice::Any,
        lock_memory: false,
        runaway_limit: None,
        ..ThreadRequest::default()
    };
    spawn(request, |_| body()).map(drop)
}

/// Newest state of the device, passed from the receiving thread to the tick.
#[derive(Clone, Copy, Debug)]
struct Sample {
    position_m: Vector2<f64>,
    velocity_m_per_s: Vector2<f64>,
    /// Time of the sample on the monotonic clock, ns; 0 before the first one.
    at_ns: u64,
    /// Reason the device currently applies no force, if any.
    fault: Option<FaultCode>,
    /// Newest fault, even if it has ended.
    newest_fault: Option<FaultCode>,
    /// Number of faults so far; wraps.
    faults: u32,
    /// Whether the device sends samples even when nothing has changed.
    streams: bool,
}

impl Sample {
    const EMPTY: Self = Self {
        position_m: Vector2::new(0.0, 0.0),
        velocity_m_per_s: Vector2::new(0.0, 0.0),
        at_ns: 0,
        fault: None,
        newest_fault: None,
        faults: 0,
        streams: false,
    };

    /// Returns the sample with the current fault, which may have started, continued or ended.
    fn with_fault(self, fault: Option<FaultCode>) -> Self {
        let is_another = fault.is_some() && fault != self.fault;
        let faults = self.faults.wrapping_add(u32::from(is_another));
        Self { fault, newest_fault: fault.or(self.newest_fault), faults, ..self }
    }

    /// Whether the silence since this sample means that nothing moved: the device may report only changes, and its last
    /// successful read or write, at `alive_ns`, is recent.
    fn is_confirmed(&self, alive_ns: u64, now: MonotonicNs) -> bool {
        !self.streams && self.at_ns > 0 && now.0.saturating_sub(alive_ns) < PRESENT_NS
    }

    /// Returns the age of the position, ns.
    fn age_ns(&self, alive_ns: u64, now: MonotonicNs) -> u64 {
        if self.is_confirmed(alive_ns, now) { 0 } else { now.0.saturating_sub(self.at_ns) }
    }
}

/// State shared by the device and both threads.
#[derive(Debug, Default)]
struct Shared {
    is_connected: AtomicBool,
    is_closing: AtomicBool,
    /// Whether the sending thread holds a transmitter. If so, nothing else may write to the device.
    is_held: AtomicBool,
    /// Time of the last successful read or write, monotonic clock, ns.
    alive_ns: AtomicU64,
    /// Time at which the sending thread began to write a message, monotonic clock, ns, or [`NOT_SENDING`].
    sending_ns: AtomicU64,
}

impl Shared {
    /// Whether a message has been blocked for longer than `busy_ns`. Real-time: one atomic load.
    fn is_blocked(&self, busy_ns: u64, now: MonotonicNs) -> bool {
        let sending_ns = self.sending_ns.load(Relaxed);
        sending_ns != NOT_SENDING && now.0.saturating_sub(sending_ns) > busy_ns
    }
}

/// A device with a receiving and a sending thread.
pub struct ThreadedDevice {
    identity: Identity,
    limits: Limits,
    monitor: Arc<LinkMonitor>,
    shared: Arc<Shared>,
    efforts: LatestWriter<Effort>,
    samples: LatestReader<Sample>,
    sender: Thread,
    /// Time for which one message may block before the link counts as busy, ns.
    busy_ns: u64,
    /// Channel that is disconnected once both threads have ended, because each thread drops its sender when it ends.
    ended: mpsc::Receiver<()>,
    sequence: u32,
    /// Value of [`Sample::faults`] last read by the tick.
    faults_read: u32,
    /// Whether the last write found no device. Until a write succeeds, the device counts as lost: the failed write would
    /// otherwise be a second fault when the device is back.
    is_gone: bool,
    is_closed: bool,
}

impl ThreadedDevice {
    /// Starts the threads of a connected device with the given priority. `encoder_step_m` is used to estimate the
    /// velocity of devices that report only positions.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(
        identity: Identity,
        limits: Limits,
        encoder_step_m: f64,
        monitor: Arc<LinkMonitor>,
        connection: Connection,
        connector: Box<dyn Connector>,
        priority: u8,
    ) -> io::Result<Self> {
        let Connection { receiving: receiver, sending: transmitter } = connection;
        let shared = Arc::new(Shared::default());
        shared.is_connected.store(true, Relaxed);
        shared.is_held.store(true, Relaxed);
        shared.alive_ns.store(monotonic_ns(), Relaxed);
        let (efforts, effort_output) = latest(Effort::zero());
        let (sample_input, samples) = latest(Sample::EMPTY);
        let (transmitter_input, transmitters) = sync_channel(1);
        let (has_ended, ended) = sync_channel::<()>(1);
        let (thread_input, threads) = sync_channel(1);
        let sending =
            Sending { shared: shared.clone(), efforts: effort_output, transmitters, transmitter: Some(transmitter) };
        let sending_ended = has_ended.clone();
        start_thread("haptic-send", priority, move || {
            let _ = thread_input.send(std::thread::current());
            sending.run();
            drop(sending_ended);
        })?;
        let sender = threads.recv().map_err(|_| io::Error::other("the sending thread ended at its start"))?;
        let receiving = Receiving {
            name: identity.name.clone(),
            shared: shared.clone(),
            monitor: Arc::clone(&monitor),
            samples: sample_input,
            connector,
            sender: sender.clone(),
            transmitters: transmitter_input,
            encoder_step_m,
            velocity: AdaptiveWindow::new(encoder_step_m),
            newest: Sample::EMPTY,
            detector: None,
        };
        start_thread("haptic-receive", priority, move || {
            receiving.run(receiver);
            drop(has_ended);
        })?;
        Ok(Self {
            identity,
            busy_ns: (BUSY_PERIODS / limits.rate_hz * 1e9) as u64,
            limits,
            monitor,
            shared,
            efforts,
            samples,
            sender,
            ended,
            sequence: 0,
            faults_read: 0,
            is_gone: false,
            is_closed: false,
        })
    }

    /// Returns the reason the device applies no force, if any. A fault that ended before the tick read it is still
    /// reported once: the motors were off, so the force must ramp up again.
    ///
    /// Real-time: two comparisons.
    fn fault_to_report(&mut self, sample: &Sample) -> Option<FaultCode> {
        let is_unread = std::mem::replace(&mut self.faults_read, sample.faults) != sample.faults;
        sample.fault.or(sample.newest_fault.filter(|_| is_unread))
    }
}

impl Device for ThreadedDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: one slot swap and two atomic loads.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        let newer = self.samples.read_if_new().copied();
        let is_new = newer.is_some();
        let sample = newer.unwrap_or_else(|| *self.samples.read());
        let is_connected = self.shared.is_connected.load(Relaxed) && !self.is_gone;
        let alive_ns = self.shared.alive_ns.load(Relaxed);
        let fresh = is_connected && (is_new || sample.is_confirmed(alive_ns, now)) && sample.at_ns > 0;
        self.sequence = self.sequence.wrapping_add(u32::from(fresh));
        let fault = self.fault_to_report(&sample);
        Reading {
            position_m: sample.position_m,
            velocity_m_per_s: if is_new || sample.streams { sample.velocity_m_per_s } else { settled(&sample, now) },
            health: health(is_connected, fault, fresh),
            age_ns: sample.age_ns(alive_ns, now),
            fresh,
            sequence: self.sequence,
        }
    }

    /// If the sending thread is blocked, this effort has not been sent; it is sent when the link accepts messages
    /// again, unless a newer one replaces it.
    ///
    /// Real-time: one slot swap, and one system call to wake the sending thread if it is asleep.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        let force_n = effort.force_n;
        let is_finite = (force_n.x.abs() + force_n.y.abs()).is_finite();
        self.efforts.publish(if is_finite { effort } else { Effort::zero() });
        self.sender.unpark();
        self.is_gone = !self.shared.is_connected.load(Relaxed);
        match (is_finite, !self.is_gone) {
            (_, false) => WriteOutcome::Failed(WriteError::NotConnected),
            (false, true) => WriteOutcome::Failed(WriteError::NotFinite),
            (true, true) if self.shared.is_blocked(self.busy_ns, now) => WriteOutcome::Busy,
            (true, true) => WriteOutcome::Written,
        }
    }

    fn link_statistics(&self) -> Option<LinkStatistics> {
        Some(self.monitor.statistics(self.limits.rate_hz))
    }

    fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        self.efforts.publish(Effort::zero());
        self.shared.is_closing.store(true, Relaxed);
        self.sender.unpark();
        // Returns when both threads have ended. If one is stuck in the kernel, the device's own watchdog ends the
        // force.
        let _ = self.ended.recv_timeout(CLOSE_WITHIN);
    }
}

impl Drop for ThreadedDevice {
    fn drop(&mut self) {
        self.close();
    }
}

/// Returns the velocity of a device that has reported no change since the newest sample: the velocity of the sample, or
/// zero once the sample is old.
fn settled(sample: &Sample, now: MonotonicNs) -> Vector2<f64> {
    let is_old = now.0.saturating_sub(sample.at_ns) > STREAM_GAP_NS;
    if is_old { Vector2::zeros() } else { sample.velocity_m_per_s }
}

fn health(is_connected: bool, fault: Option<FaultCode>, fresh: bool) -> Health {
    match (is_connected, fault, fresh) {
        (false, _, _) => Health::Lost,
        (true, Some(code), _) => Health::Faulted(code),
        (true, None, true) => Health::Ready,
        (true, None, false) => Health::Stale,
    }
}
