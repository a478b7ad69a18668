//! A device whose link can block: two threads of its own wait in the tick's place.
//!
//! The tick leaves the newest effort in a slot and takes the newest sample from another; neither side ever waits for the other.
//! The *receiving* thread waits for samples, and when the link is gone looks for the device again. The *sending* thread writes
//! efforts at the pace of the link. What a link is like, a backend says with [`Connect`], [`Receive`] and [`Send`].
//!
//! Two nets: the sending thread lets go when the tick has been silent for `TICK_SILENT_NS`, and a device that is closed or
//! dropped is let go in any case.

mod streaming;

use crate::link_monitor::LinkMonitor;
use haptic_device::velocity::AdaptiveWindow;
use haptic_device::{
    Device, Effort, FaultCode, Health, Identity, Limits, LinkStatistics, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::{LatestReader, LatestWriter, latest};
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use nalgebra::Vector2;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Thread;
use std::time::Duration;
use streaming::{ReportingModeDetector, STREAM_GAP_NS};

/// A tick that has left no effort for so long has died: no force is owed to it, ns.
const TICK_SILENT_NS: u64 = 50_000_000;
/// A device that only reports what changed is believed to be there for so long after its last sign of life, ns.
const BELIEVED_NS: u64 = 100_000_000;
/// Longest wait for a sample before the thread looks round.
const RECEIVE_WAIT: Duration = Duration::from_millis(20);
/// Between two attempts to find a lost device.
const SEARCH_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for the threads to let go.
const LET_GO_WITHIN: Duration = Duration::from_millis(500);

/// Finds, opens and arms a device, at the start and after every loss.
pub trait Connect: std::marker::Send {
    /// Both directions of a device that is armed with no force. `stop` interrupts it.
    ///
    /// # Errors
    /// In words for a person: what is missing or refused, and what would be right.
    fn connect(&mut self, stop: &AtomicBool) -> Result<Connection, String>;
}

/// Both directions of an open device.
pub struct Connection {
    /// Where samples come from.
    pub receiving: Box<dyn Receive>,
    /// Where efforts go.
    pub sending: Box<dyn Send>,
}

/// What a device said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// Nothing within the time, or nothing that matters.
    Nothing,
    /// Where the handle is, device frame, m, and what keeps the device from giving force, if anything does.
    Position(Vector2<f64>, Option<FaultCode>),
    /// A complete sample.
    Measurement(Measurement),
    /// What keeps the device from giving force now, if anything does; where the handle is, it did not say.
    Condition(Option<FaultCode>),
}

/// Measurement of the handle, device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// m.
    pub position_m: Vector2<f64>,
    /// m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Time of the sample on the monotonic clock, ns.
    pub taken_ns: u64,
    /// Why the device gives no force, if it gives none.
    pub fault: Option<FaultCode>,
}

/// The direction from the device.
pub trait Receive: std::marker::Send {
    /// Waits for the next message, at most so long.
    ///
    /// # Errors
    /// When the device is gone.
    fn receive(&mut self, wait: Duration) -> io::Result<Received>;

    /// Whether the device speaks also when nothing changed, so that its silence means something.
    fn habit(&self) -> ReportingMode {
        ReportingMode::Unknown
    }
}

/// When a device speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportingMode {
    /// Always.
    Streams,
    /// When something changed.
    TellsChanges,
    /// One of both; what it sends will show.
    Unknown,
}

/// What a sender wants to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// Something was written; there may be more.
    Again,
    /// Nothing is to be written before then, unless the effort changes.
    Idle {
        /// On the monotonic clock, ns.
        until_ns: u64,
    },
    /// Nothing may be written before then, whatever changes.
    Wait {
        /// On the monotonic clock, ns.
        until_ns: u64,
    },
}

/// The direction to the device.
pub trait Send: std::marker::Send {
    /// Writes at most one message that brings the device nearer to `force_n`, device frame. `is_new` tells that the tick has left a new
    /// effort since the last call.
    ///
    /// # Errors
    /// When the device is gone.
    fn send(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) -> io::Result<SendOutcome>;

    /// No force, and no more to come.
    fn let_go(&mut self);
}

/// Starts a thread of a device, in real time where that is granted: a priority of 0 asks for none.
fn start_thread(name: &str, priority: u8, body: impl FnOnce() + std::marker::Send + 'static) -> io::Result<()> {
    if priority == 0 {
        return std::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop);
    }
    // Memory is the loop's to lock, and a runaway here is not the loop's.
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

#[derive(Clone, Copy, Debug)]
struct Sample {
    position_m: Vector2<f64>,
    velocity_m_per_s: Vector2<f64>,
    at_ns: u64,
    /// What keeps the device from giving force now.
    fault: Option<FaultCode>,
    /// The newest fault, also when it is over, and how many there have been.
    newest_fault: Option<FaultCode>,
    faults: u32,
    /// The device reports also when nothing changed, so that its silence means something.
    streams: bool,
}

impl Sample {
    /// The same with a fault that is, goes on, or is over.
    fn with_fault(self, fault: Option<FaultCode>) -> Self {
        let is_another = fault.is_some() && fault != self.fault;
        let faults = self.faults.wrapping_add(u32::from(is_another));
        Self { fault, newest_fault: fault.or(self.newest_fault), faults, ..self }
    }
}

/// What both threads and the device know.
#[derive(Debug, Default)]
struct Shared {
    is_connected: AtomicBool,
    is_closing: AtomicBool,
    /// The sending thread has a link: as long as it does, nothing else may be told to the device.
    is_held: AtomicBool,
    /// Last sign of life of the device, ns.
    alive_ns: AtomicU64,
}

/// A device that is served by threads.
pub struct ThreadedDevice {
    identity: Identity,
    limits: Limits,
    monitor: Arc<LinkMonitor>,
    shared: Arc<Shared>,
    efforts: LatestWriter<Effort>,
    samples: LatestReader<Sample>,
    sender: Thread,
    /// Each thread drops its end when it has ended.
    ended: Receiver<()>,
    sequence: u32,
    /// So many faults has the tick been told of.
    faults_told: u32,
    is_closed: bool,
}

impl ThreadedDevice {
    /// Serves a device that is already connected, by threads of that priority.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        identity: Identity,
        limits: Limits,
        encoder_step_m: f64,
        monitor: Arc<LinkMonitor>,
        connection: Connection,
        connector: Box<dyn Connect>,
        priority: u8,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.is_connected.store(true, Relaxed);
        shared.is_held.store(true, Relaxed);
        shared.alive_ns.store(monotonic_ns(), Relaxed);
        let (efforts, effort_output) = latest(Effort::zero());
        let (sample_input, samples) = latest(nothing_yet());
        let (hand_over, senders) = sync_channel(1);
        let (has_ended, ended) = sync_channel::<()>(1);
        let (tell_thread, threads) = sync_channel(1);
        let sending =
            Sending { shared: shared.clone(), efforts: effort_output, senders, link: Some(connection.sending) };
        let ends = has_ended.clone();
        start_thread("haptic-send", priority, move || {
            let _ = tell_thread.send(std::thread::current());
            sending.run();
            drop(ends);
        })?;
        let sender = threads.recv().map_err(|_| io::Error::other("the sending thread died at its start"))?;
        let receiving = Receiving {
            shared: shared.clone(),
            monitor: Arc::clone(&monitor),
            samples: sample_input,
            connector,
            hand_over,
            sender: sender.clone(),
            window: AdaptiveWindow::new(encoder_step_m),
            encoder_step_m,
            newest: Sample { streams: connection.receiving.habit() == ReportingMode::Streams, ..nothing_yet() },
            stream_test: stream_test(connection.receiving.habit(), encoder_step_m),
        };
        let link = connection.receiving;
        start_thread("haptic-receive", priority, move || {
            receiving.run(link);
            drop(has_ended);
        })?;
        Ok(Self {
            identity,
            limits,
            monitor,
            shared,
            efforts,
            samples,
            sender,
            ended,
            sequence: 0,
            faults_told: 0,
            is_closed: false,
        })
    }

    /// What keeps the device from giving force. A fault that is over before the tick looked is told once all the same: the motors have
    /// been off, and the force must not come back at once.
    ///
    /// Real-time: two comparisons.
    fn fault_to_tell(&mut self, sample: &Sample) -> Option<FaultCode> {
        let is_untold = std::mem::replace(&mut self.faults_told, sample.faults) != sample.faults;
        sample.fault.or(sample.newest_fault.filter(|_| is_untold))
    }
}

fn nothing_yet() -> Sample {
    Sample {
        position_m: Vector2::zeros(),
        velocity_m_per_s: Vector2::zeros(),
        at_ns: 0,
        fault: None,
        newest_fault: None,
        faults: 0,
        streams: false,
    }
}

impl Device for ThreadedDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Real-time: a swap of two slots and two atomic loads.
    fn read(&mut self, now: MonotonicNs) -> Reading {
        let newer = self.samples.read_if_new().copied();
        let is_new = newer.is_some();
        let sample = newer.unwrap_or_else(|| *self.samples.read());
        let is_connected = self.shared.is_connected.load(Relaxed);
        let silence_ns = now.0.saturating_sub(self.shared.alive_ns.load(Relaxed));
        // A device that reports only changes has said by its silence that nothing moved, as long as it takes efforts.
        let is_confirmed = !sample.streams && sample.at_ns > 0 && silence_ns < BELIEVED_NS;
        let fresh = is_connected && (is_new || is_confirmed) && sample.at_ns > 0;
        self.sequence = self.sequence.wrapping_add(u32::from(fresh));
        let fault = self.fault_to_tell(&sample);
        Reading {
            position_m: sample.position_m,
            velocity_m_per_s: if is_new || sample.streams { sample.velocity_m_per_s } else { settled(&sample, now) },
            health: health(is_connected, fault, fresh),
            age_ns: if is_confirmed { 0 } else { now.0.saturating_sub(sample.at_ns) },
            fresh,
            sequence: self.sequence,
        }
    }

    /// Real-time: a swap of two slots, and one system call that wakes the sending thread if it sleeps.
    fn write(&mut self, effort: Effort, _now: MonotonicNs) -> WriteOutcome {
        let force_n = effort.force_n;
        let is_finite = (force_n.x.abs() + force_n.y.abs()).is_finite();
        self.efforts.publish(if is_finite { effort } else { Effort::zero() });
        self.sender.unpark();
        match (is_finite, self.shared.is_connected.load(Relaxed)) {
            (_, false) => WriteOutcome::Failed(WriteError::NotConnected),
            (false, true) => WriteOutcome::Failed(WriteError::NotFinite),
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
        // Both threads end their side and hang up; a thread that is stuck in the kernel is left to the device's own watchdog.
        let _ = self.ended.recv_timeout(LET_GO_WITHIN);
    }
}

impl Drop for ThreadedDevice {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the velocity is when the newest sample is old and nothing has changed since: none.
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

struct Sending {
    shared: Arc<Shared>,
    efforts: LatestReader<Effort>,
    senders: Receiver<Box<dyn Send>>,
    link: Option<Box<dyn Send>>,
}

impl Sending {
    fn run(mut self) {
        let mut heard_ns = monotonic_ns();
        while !self.shared.is_closing.load(Relaxed) {
            if !self.shared.is_connected.load(Relaxed) {
                self.let_go();
            }
            if let Ok(link) = self.senders.try_recv() {
                self.link = Some(link);
                self.shared.is_held.store(true, Relaxed);
            }
            let now_ns = monotonic_ns();
            let is_new = self.efforts.read_if_new().is_some();
            if is_new {
                heard_ns = now_ns;
            }
            let is_heard = now_ns - heard_ns < TICK_SILENT_NS;
            let force_n = if is_heard { self.efforts.read().force_n } else { Vector2::zeros() };
            self.step(force_n, is_new, now_ns);
        }
        self.let_go();
    }

    /// Drops the link, if there is one, without leaving a force behind: when only reading failed, the device may still listen. If it does
    /// not, nothing is lost by telling it.
    fn let_go(&mut self) {
        if let Some(mut link) = self.link.take() {
            link.let_go();
        }
        self.shared.is_held.store(false, Release);
    }

    fn step(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) {
        let Some(link) = &mut self.link else { return std::thread::park_timeout(RECEIVE_WAIT) };
        match link.send(force_n, is_new, now_ns) {
            Ok(SendOutcome::Again) => self.shared.alive_ns.store(monotonic_ns(), Relaxed),
            Ok(SendOutcome::Idle { until_ns }) => std::thread::park_timeout(left(until_ns)),
            Ok(SendOutcome::Wait { until_ns }) => std::thread::sleep(left(until_ns)),
            Err(_) => {
                self.shared.is_connected.store(false, Relaxed);
                // It refuses what it is told. Telling it more could block for seconds, report by report.
                self.link = None;
            }
        }
    }
}

/// The time until an instant, but never so long that a hang-up goes unseen.
fn left(until_ns: u64) -> Duration {
    Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())).min(RECEIVE_WAIT)
}

struct Receiving {
    shared: Arc<Shared>,
    monitor: Arc<LinkMonitor>,
    samples: LatestWriter<Sample>,
    connector: Box<dyn Connect>,
    hand_over: SyncSender<Box<dyn Send>>,
    sender: Thread,
    window: AdaptiveWindow,
    encoder_step_m: f64,
    newest: Sample,
    /// None if there is nothing to find out.
    stream_test: Option<ReportingModeDetector>,
}

fn stream_test(habit: ReportingMode, encoder_step_m: f64) -> Option<ReportingModeDetector> {
    (habit == ReportingMode::Unknown).then(|| ReportingModeDetector::new(encoder_step_m))
}

impl Receiving {
    fn run(mut self, link: Box<dyn Receive>) {
        let mut link = Some(link);
        while !self.shared.is_closing.load(Relaxed) {
            link = match link {
                Some(link) => self.receive(link),
                None => self.search(),
            };
        }
    }

    /// Takes one message; the link, if it is still there.
    fn receive(&mut self, mut link: Box<dyn Receive>) -> Option<Box<dyn Receive>> {
        let received = link.receive(RECEIVE_WAIT);
        if received.is_err() || !self.shared.is_connected.load(Relaxed) {
            self.shared.is_connected.store(false, Relaxed);
            self.sender.unpark();
            return None;
        }
        match received {
            Ok(Received::Position(position_m, fault)) => self.take(position_m, fault),
            Ok(Received::Measurement(measurement)) => self.publish_measurement(measurement, monotonic_ns()),
            Ok(Received::Condition(fault)) => self.publish(self.newest.with_fault(fault)),
            _ => {}
        }
        Some(link)
    }

    fn take(&mut self, position_m: Vector2<f64>, fault: Option<FaultCode>) {
        let now_ns = monotonic_ns();
        let elapsed_ns = now_ns.saturating_sub(self.newest.at_ns);
        let velocity_m_per_s = self.window.update(position_m, elapsed_ns as f64 * 1e-9);
        let has_passed = self.stream_test.as_mut().is_some_and(|test| test.is_passed_by(position_m, elapsed_ns));
        self.newest.streams |= has_passed;
        self.publish_measurement(Measurement { position_m, velocity_m_per_s, taken_ns: now_ns, fault }, now_ns);
    }

    fn publish_measurement(&mut self, measurement: Measurement, now_ns: u64) {
        self.shared.alive_ns.store(now_ns, Relaxed);
        let Measurement { position_m, velocity_m_per_s, taken_ns, fault } = measurement;
        let sample = Sample { position_m, velocity_m_per_s, at_ns: taken_ns, ..self.newest };
        self.publish(sample.with_fault(fault));
    }

    fn publish(&mut self, sample: Sample) {
        self.newest = sample;
        self.samples.publish(sample);
    }

    /// Looks for the device once; waits a while if it is not there.
    fn search(&mut self) -> Option<Box<dyn Receive>> {
        std::thread::sleep(SEARCH_EVERY);
        // What the old link still has to say, "stop" above all, must not reach a device that was just armed.
        if self.shared.is_held.load(Acquire) {
            return None;
        }
        let connection = self.connector.connect(&self.shared.is_closing).ok()?;
        self.window = AdaptiveWindow::new(self.encoder_step_m);
        // Faults are counted on, or one that is over would be told again.
        let Sample { newest_fault, faults, .. } = self.newest;
        let streams = connection.receiving.habit() == ReportingMode::Streams;
        self.newest = Sample { newest_fault, faults, streams, ..nothing_yet() };
        self.stream_test = stream_test(connection.receiving.habit(), self.encoder_step_m);
        self.samples.publish(self.newest);
        self.shared.alive_ns.store(monotonic_ns(), Relaxed);
        // Before the link is handed over: the sending thread drops what it has as long as nothing is connected.
        self.shared.is_connected.store(true, Relaxed);
        self.shared.is_held.store(true, Relaxed);
        self.hand_over.send(connection.sending).ok()?;
        self.monitor.note_reconnect();
        self.sender.unpark();
        Some(connection.receiving)
    }
}
