//! The receiving thread: publishes the newest sample and reconnects after a loss.

use super::reporting_mode::ReportingModeDetector;
use super::{
    CHECK_EVERY, Connection, Connector, Measurement, Received, Receiver, ReportChange, ReportingMode, Sample, Shared,
    Transmitter,
};
use crate::link_monitor::LinkMonitor;
use crate::reconnect::{Reconnect, log_lost, log_reconnected};
use haptic_device::FaultCode;
use haptic_device::velocity::AdaptiveWindow;
use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::exchange::LatestWriter;
use nalgebra::Vector2;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::SyncSender;
use std::thread::Thread;
use std::time::Duration;

/// Reconnection timing: one attempt every 100 ms; a persistent error is logged about every 10 s.
const RECONNECT: Reconnect = Reconnect { every: Duration::from_millis(100), log_every: 100 };

/// Body of the receiving thread.
pub struct Receiving {
    pub(super) name: String,
    pub(super) shared: Arc<Shared>,
    pub(super) monitor: Arc<LinkMonitor>,
    pub(super) samples: LatestWriter<Sample>,
    pub(super) connector: Box<dyn Connector>,
    /// Handle that wakes the sending thread.
    pub(super) sender: Thread,
    /// Passes the transmitter of a new connection to the sending thread.
    pub(super) transmitters: SyncSender<Box<dyn Transmitter>>,
    pub(super) encoder_step_m: f64,
    pub(super) velocity: AdaptiveWindow,
    pub(super) newest: Sample,
    /// Detects the reporting mode; `None` if the mode is known.
    pub(super) detector: Option<ReportingModeDetector>,
}

impl Receiving {
    /// Runs until the device is closed.
    pub fn run(mut self, mut receiver: Box<dyn Receiver>) {
        self.restart(receiver.reporting_mode());
        while let Some(reason) = self.receive(receiver.as_mut()) {
            log_lost(&self.name, reason);
            drop(receiver);
            let Some(connection) = self.reconnect() else { return };
            receiver = self.take_over(connection);
        }
    }

    /// Discards the samples of the previous connection and sets the reporting mode of the new one.
    fn restart(&mut self, mode: ReportingMode) {
        // The count of faults is kept; otherwise a past fault would be reported again.
        let Sample { newest_fault, faults, .. } = self.newest;
        let streams = mode == ReportingMode::Streams;
        self.newest = Sample { newest_fault, faults, streams, ..Sample::EMPTY };
        self.velocity = AdaptiveWindow::new(self.encoder_step_m);
        let is_unknown = mode == ReportingMode::Unknown;
        self.detector = is_unknown.then(|| ReportingModeDetector::new(self.encoder_step_m));
    }

    /// Receives until the device is closed or the link is lost. Returns the reason for the loss, or `None` if the
    /// device is closed.
    fn receive(&mut self, receiver: &mut dyn Receiver) -> Option<String> {
        while !self.shared.is_closing.load(Relaxed) {
            let received = receiver.receive(CHECK_EVERY);
            let reason = match received {
                Err(error) => Some(error.to_string()),
                Ok(_) if !self.shared.is_connected.load(Relaxed) => Some("it accepts no messages".to_owned()),
                Ok(received) => {
                    self.on_message(received);
                    None
                }
            };
            if reason.is_some() {
                self.shared.is_connected.store(false, Relaxed);
                self.sender.unpark();
                return reason;
            }
        }
        None
    }

    fn on_message(&mut self, received: Received) {
        match received {
            Received::Nothing => {}
            Received::Position(position_m, fault, change) => self.on_position(position_m, fault, change),
            Received::Measurement(measurement) => self.on_measurement(measurement, monotonic_ns()),
            Received::Condition(fault) => self.publish(self.newest.with_fault(fault)),
        }
    }

    fn on_position(&mut self, position_m: Vector2<f64>, fault: Option<FaultCode>, change: ReportChange) {
        let now_ns = monotonic_ns();
        let elapsed_ns = now_ns.saturating_sub(self.newest.at_ns);
        let velocity_m_per_s = self.velocity.update(position_m, elapsed_ns as f64 * 1e-9);
        if let Some(detector) = &mut self.detector {
            self.newest.streams = detector.update(position_m, change, elapsed_ns);
        }
        self.on_measurement(Measurement { position_m, velocity_m_per_s, taken_ns: now_ns, fault }, now_ns);
    }

    fn on_measurement(&mut self, measurement: Measurement, now_ns: u64) {
        self.shared.alive_ns.store(now_ns, Relaxed);
        let Measurement { position_m, velocity_m_per_s, taken_ns, fault } = measurement;
        let sample = Sample { position_m, velocity_m_per_s, at_ns: taken_ns, ..self.newest };
        self.publish(sample.with_fault(fault));
    }

    fn publish(&mut self, sample: Sample) {
        self.newest = sample;
        self.samples.publish(sample);
    }

    /// Tries to connect until it succeeds or the device is closed. Returns `None` if the device is closed.
    fn reconnect(&mut self) -> Option<Connection> {
        let Self { name, shared, connector, .. } = self;
        RECONNECT.run(&shared.is_closing, || {
            // The old transmitter may still have to send its stop message, which must not reach a device that was just
            // armed.
            let is_held = shared.is_held.load(Acquire);
            let connect = || connector.connect(&shared.is_closing).map_err(|error| format!("{name}: {error}"));
            (!is_held).then(connect)
        })
    }

    fn take_over(&mut self, connection: Connection) -> Box<dyn Receiver> {
        let Connection { receiving, sending } = connection;
        log_reconnected(&self.name);
        self.restart(receiving.reporting_mode());
        self.samples.publish(self.newest);
        self.shared.alive_ns.store(monotonic_ns(), Relaxed);
        // Set before the transmitter is passed on, because the sending thread drops its transmitter while nothing is
        // connected.
        self.shared.is_connected.store(true, Relaxed);
        self.shared.is_held.store(true, Relaxed);
        // The channel is empty: the sending thread has taken the transmitter of the previous connection.
        let _ = self.transmitters.send(sending);
        self.monitor.record_reconnect();
        self.sender.unpark();
        receiving
    }
}
