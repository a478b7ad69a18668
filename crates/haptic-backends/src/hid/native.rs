//! The `hid-native` backend: boards with USB HID that use the native protocol, one message per report.
//!
//! One report per millisecond in each direction carries both axes, so two axes run at 1 kHz. Commands act on the motors
//! directly, not through effects. [`crate::native`] implements the session, and the sending thread of
//! [`crate::threaded`] writes commands and ARM messages.

use super::descriptor::Descriptor;
use super::field::{ReportKind, Usage};
use super::layout::PidLayout;
use super::link::{HidLink, HidPort, Opened};
use super::report::{Report, Shape};
use crate::handshake::{Link, now, run_handshake};
use crate::link_monitor::LinkMonitor;
use crate::native::NativeProtocol;
pub use crate::native::NativeSettings;
use crate::native::framing::HidReport;
use crate::open_error::OpenError;
use crate::protocol::{OpenSession, Protocol, ReceiveHalf, Sample, TransmitHalf, TxBytes};
use crate::threaded::{
    Connection, Connector, Measurement, Received, Receiver, ReportingMode, SendOutcome, ThreadedDevice, Transmitter,
};
use haptic_device::{Effort, FaultCode, Health, Identity, Limits, MonotonicNs};
use haptic_wire::report::{REPORT_BYTES, USAGE, USAGE_PAGE};
use nalgebra::Vector2;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::time::Duration;

/// Maximum interval between commands, ns. After this time a command is sent even if the tick has not written a new
/// effort.
const KEEP_ALIVE_NS: u64 = 2_000_000;
/// Time after which the session of a silent or disarmed board is considered lost, ns. The handshake is then repeated.
const SESSION_LOST_NS: u64 = 1_000_000_000;
/// Maximum rate of reports, Hz: one per millisecond.
const MAX_RATE_HZ: f64 = 1000.0;

/// Encoder step passed to [`ThreadedDevice`], m. It is unused, because the samples already contain a velocity.
const NO_ENCODER_STEP: f64 = 0.0;

/// Whether the descriptor belongs to a board with the native protocol.
pub fn is_native(descriptor: &[u8]) -> bool {
    let Ok(descriptor) = Descriptor::parse(descriptor) else { return false };
    let has_usage = descriptor.applications().any(|usage| usage == Usage::new(USAGE_PAGE, USAGE));
    let bytes = |kind| descriptor.report_bytes(kind, 0);
    has_usage && [ReportKind::Input, ReportKind::Output].iter().all(|kind| bytes(*kind) == Some(REPORT_BYTES))
}

/// Creates the error for a device without the native protocol. The message suggests the kind that can drive the device,
/// or another remedy.
fn not_native(descriptor: &[u8]) -> OpenError {
    let remedy = if PidLayout::find(descriptor, 1).is_ok() {
        "it has force feedback of the HID specification, write kind = \"hid-pid\""
    } else {
        "flash the firmware of this release, or choose another device with `path` or `vendor_id`: \
         `hapticd devices` lists them"
    };
    OpenError::Unsupported(format!("its descriptor is not that of a board with the native protocol; {remedy}"))
}

/// Opens a board, arms it with zero force and starts its threads with the given priority.
///
/// # Errors
/// If no device matches, permission is denied, the board does not answer or has another protocol version or number of
/// axes, or a thread cannot be started.
pub fn open(
    port: Box<dyn HidPort>,
    settings: NativeSettings,
    nonce: u32,
    priority: u8,
) -> Result<ThreadedDevice, OpenError> {
    let monitor = Arc::new(LinkMonitor::default());
    let protocol = NativeProtocol::new(settings, Arc::clone(&monitor), nonce);
    let mut connector = NativeConnector { port, protocol, monitor: Arc::clone(&monitor) };
    let opened = connector.port.open()?;
    let (name, serial_number) = (opened.name.clone(), opened.serial_number.clone());
    let session = connector.open_session(opened, &AtomicBool::new(false));
    let (connection, board, limits) = session.map_err(|error| error.of(&name))?;
    let identity = Identity { name: name.clone(), serial_number, ..board };
    let limits = Limits { rate_hz: limits.rate_hz.min(MAX_RATE_HZ), ..limits };
    ThreadedDevice::start(identity, limits, NO_ENCODER_STEP, monitor, connection, Box::new(connector), priority)
        .map_err(|error| OpenError::System(format!("no thread for its reports: {error}")).of(&name))
}

struct NativeConnector {
    port: Box<dyn HidPort>,
    protocol: NativeProtocol<HidReport>,
    monitor: Arc<LinkMonitor>,
}

impl Connector for NativeConnector {
    fn connect(&mut self, stop: &AtomicBool) -> Result<Connection, OpenError> {
        let opened = self.port.open()?;
        self.open_session(opened, stop).map(|(connection, ..)| connection)
    }
}

impl NativeConnector {
    fn open_session(&mut self, opened: Opened, stop: &AtomicBool) -> Result<(Connection, Identity, Limits), OpenError> {
        if !is_native(&opened.descriptor) {
            return Err(not_native(&opened.descriptor));
        }
        self.monitor.forget_all();
        let mut link = ReportLink { reading: opened.reading, writing: opened.writing };
        let mut handshake = self.protocol.start_handshake(now());
        let session =
            run_handshake(&mut link, handshake.as_mut(), stop).map_err(|error| OpenError::System(error.to_string()))?;
        let OpenSession { identity, limits, transmit, receive } = *session?;
        let (reply_sender, replies) = sync_channel(1);
        let receiving = NativeReceiver::new(link.reading, receive, reply_sender, now());
        let sending = NativeSender { link: link.writing, transmit, replies, sent_ns: 0 };
        Ok((Connection { receiving: Box::new(receiving), sending: Box::new(sending) }, identity, limits))
    }
}

/// Both directions of the link to a board during the handshake.
struct ReportLink {
    reading: Box<dyn HidLink>,
    writing: Box<dyn HidLink>,
}

impl Link for ReportLink {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writing.write(&report(bytes))
    }

    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        self.reading.read(buffer, within)
    }
}

/// Creates an output report for a device that does not use ids.
fn report(bytes: &[u8]) -> Report {
    let Some(shape) = Shape::new(ReportKind::Output, 0, REPORT_BYTES) else { unreachable!("64 bytes are a report") };
    let mut report = shape.empty();
    for (to, from) in report.bytes_mut()[1..].iter_mut().zip(bytes) {
        *to = *from;
    }
    report
}

struct NativeSender {
    link: Box<dyn HidLink>,
    transmit: Box<dyn TransmitHalf>,
    /// ARM messages from the receive half, to be sent.
    replies: mpsc::Receiver<TxBytes>,
    sent_ns: u64,
}

impl Transmitter for NativeSender {
    fn send(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) -> io::Result<SendOutcome> {
        let due_ns = self.sent_ns + KEEP_ALIVE_NS;
        let bytes = match self.replies.try_recv() {
            Ok(reply) => reply,
            Err(_) if !is_new && now_ns < due_ns => return Ok(SendOutcome::Idle { until_ns: due_ns }),
            Err(_) => {
                self.sent_ns = now_ns;
                self.transmit.encode(Effort { force_n }, &Sample::default(), MonotonicNs(now_ns)).0
            }
        };
        self.link.write(&report(bytes.bytes())).map(|()| SendOutcome::Again)
    }

    fn disable(&mut self) {
        // If the stop frame does not arrive, the board's watchdog ends the effort.
        let _ = self.link.write(&report(self.transmit.stop_frame().bytes()));
    }
}

struct NativeReceiver {
    link: Box<dyn HidLink>,
    receive: Box<dyn ReceiveHalf>,
    replies: SyncSender<TxBytes>,
    /// Sequence number of the newest sample.
    newest: u32,
    received_at: MonotonicNs,
    disarmed_since: Option<MonotonicNs>,
}

impl Receiver for NativeReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        let mut bytes = [0; REPORT_BYTES];
        let length = self.link.read(&mut bytes, wait)?;
        self.on_report(&bytes[..length], now())
    }

    /// Returns `Streams`, because the board answers every command and commands are sent continuously.
    fn reporting_mode(&self) -> ReportingMode {
        ReportingMode::Streams
    }
}

impl NativeReceiver {
    /// Creates the receiver for a newly armed board.
    fn new(
        link: Box<dyn HidLink>,
        receive: Box<dyn ReceiveHalf>,
        replies: SyncSender<TxBytes>,
        now: MonotonicNs,
    ) -> Self {
        Self { link, receive, replies, newest: 0, received_at: now, disarmed_since: None }
    }

    /// Handles a report; an empty one means that none arrived.
    fn on_report(&mut self, report: &[u8], now: MonotonicNs) -> io::Result<Received> {
        let received = self.receive.receive(report, now);
        if let Some(reply) = received.reply {
            // If the queue is full, an ARM message is already waiting.
            let _ = self.replies.try_send(reply);
        }
        let received = received.sample.map_or(Received::Nothing, |sample| self.on_sample(&sample, now));
        if self.is_session_lost(now) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the board does not answer, or cannot be armed"));
        }
        Ok(received)
    }

    fn on_sample(&mut self, sample: &Sample, now: MonotonicNs) -> Received {
        self.received_at = now;
        let fault = match sample.health {
            Health::Faulted(code) => Some(code),
            _ => None,
        };
        // A stopped board has kept its session: it answers ARM with this fault until a person releases it.
        let disarmed = fault.filter(|fault| *fault != FaultCode::EmergencyStop);
        self.disarmed_since = disarmed.and(self.disarmed_since.or(Some(now)));
        if std::mem::replace(&mut self.newest, sample.sequence) == sample.sequence {
            return Received::Condition(fault);
        }
        let Sample { position_m, velocity_m_per_s, taken_at, .. } = *sample;
        Received::Measurement(Measurement { position_m, velocity_m_per_s, taken_ns: taken_at.0, fault })
    }

    fn is_session_lost(&self, now: MonotonicNs) -> bool {
        let is_long_past = |since: MonotonicNs| now.since(since) >= SESSION_LOST_NS;
        is_long_past(self.received_at) || self.disarmed_since.is_some_and(is_long_past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hid::link::tests::NoLink;
    use crate::protocol;

    const MS: u64 = 1_000_000;

    /// Decodes every report as a sample with the health given by the first byte: 1 is ready, 2 is stopped.
    struct Healths(u32);

    impl ReceiveHalf for Healths {
        fn receive(&mut self, bytes: &[u8], _now: MonotonicNs) -> protocol::Received {
            let sample = bytes.first().map(|byte| {
                self.0 += 1;
                let health = match *byte {
                    1 => Health::Ready,
                    2 => Health::Faulted(FaultCode::EmergencyStop),
                    _ => Health::Faulted(FaultCode::Disarmed),
                };
                Sample { health, sequence: self.0, ..Sample::default() }
            });
            protocol::Received { sample, ..protocol::Received::default() }
        }
    }

    #[test]
    fn a_board_that_stays_silent_or_disarmed_for_a_second_has_lost_the_session() {
        let mut receiver =
            NativeReceiver::new(Box::new(NoLink), Box::new(Healths(0)), sync_channel(1).0, MonotonicNs(0));
        let mut is_lost = |report: &[u8], at_ms: u64| receiver.on_report(report, MonotonicNs(at_ms * MS)).is_err();
        assert!(!is_lost(&[1], 10));
        assert!(!is_lost(&[], 1009) && is_lost(&[], 1010));
        assert!(!is_lost(&[0], 1020));
        assert!(!is_lost(&[0], 1900));
        assert!(!is_lost(&[], 2019) && is_lost(&[], 2020));
        assert!(!is_lost(&[1], 2021));
        assert!(!is_lost(&[], 2022));
    }

    #[test]
    fn a_stopped_board_keeps_its_session_however_long_the_stop_is_pressed() {
        let mut receiver =
            NativeReceiver::new(Box::new(NoLink), Box::new(Healths(0)), sync_channel(1).0, MonotonicNs(0));
        let mut is_lost = |report: &[u8], at_ms: u64| receiver.on_report(report, MonotonicNs(at_ms * MS)).is_err();
        assert!((1..100_000).all(|at_ms| !is_lost(&[2], at_ms)));
        assert!(!is_lost(&[0], 100_000) && !is_lost(&[0], 100_999) && is_lost(&[0], 101_000));
    }
}
