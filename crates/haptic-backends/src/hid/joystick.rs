//! The `hid-pid` backend: joysticks, wheels and boards with standard HID force feedback.
//!
//! Arming creates one constant effect for each axis and starts it with zero force. Afterwards only magnitudes are
//! streamed, one report at a time and no faster than the endpoint accepts them. Effects end by themselves after 200 ms
//! and are restarted every 25 ms, so that the force ends if the host dies.

mod arm;
mod effort_stream;

use super::field::{CENTIMETRE, DEGREE, Field, INCH, RADIAN};
use super::force::PidEncoder;
use super::layout::{LayoutError, PidLayout};
use super::link::{HidLink, HidPort, Opened};
use super::usages::is_axis;
use crate::open_error::OpenError;
use crate::scale::{AxisScale, encoder_step_m, limits};
use crate::threaded::{
    Connection, Connector, Received, Receiver, ReportChange, SendOutcome, ThreadedDevice, Transmitter,
};
use arm::{arm, send_command};
use effort_stream::{Act, EffortStream};
use haptic_device::{FaultCode, Identity, KindSpec, MAX_AXES};
use nalgebra::Vector2;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Settings of a joystick, from its device file.
#[derive(Clone, Debug, PartialEq)]
pub struct JoystickSettings {
    /// Number of axes, 1 or 2.
    pub axes: usize,
    /// Travel of each axis at the handle, m; `None` for the travel given in the descriptor.
    pub travel_m: Option<[f64; MAX_AXES]>,
    /// Handle displacement per radian, m, for descriptors that give an angle.
    pub lever_m: f64,
    /// Count of each axis at the centre of its travel; `None` for the middle of its range.
    pub centre_counts: Option<[f64; MAX_AXES]>,
    /// Force of each axis at maximum magnitude, N.
    pub full_scale_n: [f64; MAX_AXES],
}

/// Travel assumed if neither the device file nor the descriptor specifies it, m; typical of a joystick.
pub(super) const ASSUMED_TRAVEL_M: f64 = 0.1;

impl JoystickSettings {
    /// Returns the scale of an axis with the given range of counts. `described_m` is the travel given in the
    /// descriptor, if any.
    pub fn scale(&self, axis: usize, range_counts: (f64, f64), described_m: Option<f64>) -> AxisScale {
        let given_m = self.travel_m.map(|travel_m| travel_m[axis]);
        let travel_m = given_m.or(described_m).unwrap_or(ASSUMED_TRAVEL_M);
        let middle = (range_counts.0 + range_counts.1) / 2.0;
        let centre_counts = self.centre_counts.map_or(middle, |centres| centres[axis]);
        // In the HID specification and in the kernel, y increases towards the user; in the device frame, it increases
        // away from the user.
        let direction = if axis == 1 { -1.0 } else { 1.0 };
        AxisScale::from_range(range_counts, centre_counts, direction * travel_m, self.full_scale_n[axis])
    }
}

/// Range of a travel at the handle that a device can have, m.
const POSSIBLE_TRAVEL_M: RangeInclusive<f64> = 1e-3..=10.0;

/// Returns the travel of an axis according to its descriptor, m: a length, or an angle times the lever. `None` if the
/// descriptor gives neither, or only with the unit or range of another control, which some descriptors leave standing.
pub(crate) fn described_travel_m(field: &Field, lever_m: f64) -> Option<f64> {
    let (from, to) = field.physical;
    let span = (to - from) as f64 * libm::pow(10.0, f64::from(field.exponent));
    let metres = match field.unit {
        CENTIMETRE => span * 0.01,
        INCH => span * 0.0254,
        RADIAN => span * lever_m,
        DEGREE => span.to_radians() * lever_m,
        _ => return None,
    };
    let is_own = [field.unit_of, field.physical_of].iter().all(|first| first.is_none_or(is_axis));
    (is_own && POSSIBLE_TRAVEL_M.contains(&metres)).then_some(metres)
}

/// Device kind of joysticks with HID force feedback.
pub static HID_PID: KindSpec = KindSpec {
    name: "hid-pid",
    about: "USB force-feedback joysticks, wheels and boards, as described by their report descriptors",
    is_hardware: true,
    axes: None,
    keys: JOYSTICK_KEYS,
    variants: &[],
    linkage: None,
};

/// Device-file keys of joysticks, including those with a kernel driver.
pub(crate) const JOYSTICK_KEYS: &[&str] =
    &["path", "vendor_id", "product_id", "serial_number", "lever_m", "travel_m", "centre_counts"];

/// Opens a joystick, arms it with zero force and starts its threads with the given priority.
///
/// # Errors
/// If no device matches, permission is denied, the device has no force feedback or no free effect, or a thread cannot
/// be started.
pub fn open(mut port: Box<dyn HidPort>, settings: JoystickSettings, priority: u8) -> Result<ThreadedDevice, OpenError> {
    let opened = port.open()?;
    let name = opened.name.clone();
    let unsupported = |error: LayoutError| OpenError::Unsupported(error.to_string()).of(&name);
    let identity = Identity {
        name: opened.name.clone(),
        kind: &HID_PID,
        serial_number: opened.serial_number.clone(),
        firmware: String::new(),
        axes: settings.axes as u8,
    };
    let descriptor = opened.descriptor.clone();
    let interval_ns = opened.interval_ns;
    let layout = PidLayout::find(&descriptor, settings.axes).map_err(unsupported)?;
    let scales: Vec<AxisScale> =
        layout.axes.iter().enumerate().map(|(axis, field)| scale(axis, field, &settings)).collect();
    let limits = limits(&scales, rate_hz(interval_ns, settings.axes));
    let step_m = encoder_step_m(&scales);
    let code = PidEncoder::new(layout, settings.full_scale_n).map_err(unsupported)?;
    let mut connector = JoystickConnector { port, descriptor, code, scales };
    let connection = connector.arm(opened).map_err(|error| error.of(&name))?;
    ThreadedDevice::start(identity, limits, step_m, Arc::default(), connection, Box::new(connector), priority)
        .map_err(|error| OpenError::System(format!("no thread for its reports: {error}")).of(&name))
}

fn scale(axis: usize, field: &Field, settings: &JoystickSettings) -> AxisScale {
    let range_counts = (field.logical.0 as f64, field.logical.1 as f64);
    settings.scale(axis, range_counts, described_travel_m(field, settings.lever_m))
}

/// Returns the rate at which every axis can receive a new force, Hz: an integer fraction of 1 kHz. Each axis needs its
/// own report.
pub fn rate_hz(interval_ns: u64, axes: usize) -> f64 {
    const TICK_NS: u64 = 1_000_000;
    let ticks = (interval_ns * axes as u64).div_ceil(TICK_NS).max(1);
    1000.0 / ticks as f64
}

/// Finds and arms the device. Rejects a device whose descriptor differs from the first one.
struct JoystickConnector {
    port: Box<dyn HidPort>,
    descriptor: Vec<u8>,
    code: PidEncoder,
    scales: Vec<AxisScale>,
}

impl Connector for JoystickConnector {
    fn connect(&mut self, _stop: &AtomicBool) -> Result<Connection, OpenError> {
        let opened = self.port.open()?;
        if opened.descriptor != self.descriptor {
            let text = "another device answers; plug the first one in again, or restart hapticd";
            return Err(OpenError::Unsupported(text.to_owned()).of(&opened.name));
        }
        self.arm(opened)
    }
}

impl JoystickConnector {
    fn arm(&mut self, opened: Opened) -> Result<Connection, OpenError> {
        let Opened { reading, mut writing, interval_ns, .. } = opened;
        let blocks = arm(writing.as_mut(), &self.code)?;
        let layout = self.code.layout();
        let mut receiving = JoystickReceiver {
            link: reading,
            axes: layout.axes.clone(),
            actuators_enabled: layout.actuators_enabled.clone(),
            scales: self.scales.clone(),
            are_actuators_off: false,
            newest: InputReport::default(),
            first: None,
        };
        receiving.wait_for_first().map_err(|error| OpenError::rejected("a first read of its axes", &error))?;
        let sending =
            JoystickSender { link: writing, code: self.code.clone(), stream: EffortStream::new(blocks, interval_ns) };
        Ok(Connection { receiving: Box::new(receiving), sending: Box::new(sending) })
    }
}

struct JoystickSender {
    link: Box<dyn HidLink>,
    code: PidEncoder,
    stream: EffortStream,
}

impl Transmitter for JoystickSender {
    fn send(&mut self, force_n: Vector2<f64>, _is_new: bool, now_ns: u64) -> io::Result<SendOutcome> {
        let report = match self.stream.next(self.code.magnitudes(force_n), now_ns) {
            Act::Start { block } => self.code.start(block),
            Act::Set { block, magnitude } => self.code.set_magnitude(block, magnitude),
            Act::Idle { until_ns } => return Ok(SendOutcome::Idle { until_ns }),
            Act::Wait { until_ns } => return Ok(SendOutcome::Wait { until_ns }),
        };
        self.link.write(&report).map(|()| SendOutcome::Again)
    }

    fn disable(&mut self) {
        let layout = self.code.layout();
        // If this fails, the effects end by themselves. The first command, if the device has it, ends all of them at
        // once.
        let _ = send_command(self.link.as_mut(), layout.control.stop_all.as_ref());
        for block in self.stream.blocks.clone() {
            let _ = self.link.write(&self.code.set_magnitude(block, 0));
            let _ = self.link.write(&self.code.stop(block));
            if let Some((shape, field)) = &layout.free {
                let _ = self.link.write(&shape.empty().with(field, block));
            }
        }
        let _ = send_command(self.link.as_mut(), layout.control.disable.as_ref());
    }
}

struct JoystickReceiver {
    link: Box<dyn HidLink>,
    axes: Vec<Field>,
    actuators_enabled: Option<Field>,
    scales: Vec<AxisScale>,
    /// Whether a switch on the device, or the device itself, has cut the motor power. Many devices never report this.
    are_actuators_off: bool,
    /// Newest report with the axes.
    newest: InputReport,
    /// First position, which arrived while the device was being armed.
    first: Option<Received>,
}

impl Receiver for JoystickReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let mut bytes = [0; MAX_INPUT_BYTES];
        let length = self.link.read(&mut bytes, wait)?;
        Ok(if length == 0 { Received::Nothing } else { self.interpret(&bytes[..length]) })
    }
}

impl JoystickReceiver {
    /// Waits for the first position. A device that reports only changes sends it late if the handle is at rest, and
    /// there is no valid reading until then.
    fn wait_for_first(&mut self) -> io::Result<()> {
        let start = Instant::now();
        while self.first.is_none() && start.elapsed() < FIRST_POSITION_WITHIN {
            let received = self.receive(CHECK_FIRST_EVERY)?;
            self.first = matches!(received, Received::Position(..)).then_some(received);
        }
        Ok(())
    }

    /// Interprets a report, which may contain the axes, the state of the motors, or both.
    fn interpret(&mut self, bytes: &[u8]) -> Received {
        let has_switched = self.update_actuators(bytes);
        let fault = self.are_actuators_off.then_some(FaultCode::Disarmed);
        match self.position_m(bytes) {
            Some(position_m) => Received::Position(position_m, fault, self.newest.replace(bytes, &self.axes)),
            None if has_switched => Received::Condition(fault),
            None => Received::Nothing,
        }
    }

    /// Updates the motor state if the report contains it. Returns whether the motors were switched on or off since the
    /// last such report.
    fn update_actuators(&mut self, bytes: &[u8]) -> bool {
        let reported = self.actuators_enabled.as_ref().and_then(|field| Some((field, content(field, bytes)?)));
        let Some((field, report)) = reported else { return false };
        let are_off = field.get(report) != 1;
        std::mem::replace(&mut self.are_actuators_off, are_off) != are_off
    }

    fn position_m(&self, bytes: &[u8]) -> Option<Vector2<f64>> {
        let mut position_m = Vector2::zeros();
        for (axis, (field, scale)) in self.axes.iter().zip(&self.scales).enumerate() {
            position_m[axis] = scale.position_m(field.get(content(field, bytes)?) as f64);
        }
        Some(position_m)
    }
}

/// Maximum wait for the first position; OpenFFBoard repeats an unchanged report after 100 ms. A device that sends none
/// is ready when its handle moves.
const FIRST_POSITION_WITHIN: Duration = Duration::from_millis(250);
/// Maximum time for which one read waits for the first position.
const CHECK_FIRST_EVERY: Duration = Duration::from_millis(20);

/// Maximum number of bytes that are read of an input report; the rest is cut off.
const MAX_INPUT_BYTES: usize = 256;

/// The whole of an input report, to be compared with the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct InputReport {
    bytes: [u8; MAX_INPUT_BYTES],
    length: usize,
}

impl Default for InputReport {
    fn default() -> Self {
        Self { bytes: [0; MAX_INPUT_BYTES], length: 0 }
    }
}

impl InputReport {
    /// Stores a newer report and returns its difference to the previous one.
    fn replace(&mut self, bytes: &[u8], axes: &[Field]) -> ReportChange {
        let mut newer = Self { length: bytes.len(), ..Self::default() };
        newer.bytes[..bytes.len()].copy_from_slice(bytes);
        let before = std::mem::replace(self, newer);
        match before {
            before if before == newer => ReportChange::Nothing,
            before if before.without(axes) == newer.without(axes) => ReportChange::Axes,
            _ => ReportChange::Others,
        }
    }

    fn without(mut self, axes: &[Field]) -> Self {
        let id_bytes = |field: &Field| usize::from(field.report_id != 0);
        axes.iter().for_each(|field| field.put(&mut self.bytes[id_bytes(field)..], 0));
        self
    }
}

/// Returns the contents of a report without its id; `None` if the field belongs to another report.
fn content<'a>(field: &Field, bytes: &'a [u8]) -> Option<&'a [u8]> {
    match field.report_id {
        0 => Some(bytes),
        id => bytes.strip_prefix(&[id]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hid::field::Usage;
    use crate::hid::link::tests::NoLink;
    use crate::hid::usages::X;
    use crate::threaded::reporting_mode::ReportingModeDetector;
    use haptic_emulator::gadget::Gadget;
    use haptic_emulator::handle::EmulatedHandle;
    use haptic_emulator::style::{OPEN_FFBOARD, Style};

    const HAT: Usage = Usage::new(1, 0x39);

    const MS: u64 = 1_000_000;

    /// Creates the receiver of a wheel with one 8-bit axis. If both ids are equal, the motor state follows the axis in
    /// the same report.
    fn wheel(axis_id: u8, state_id: u8) -> JoystickReceiver {
        let field = super::super::field::tests::field;
        let state_at = if axis_id == state_id { 8 } else { 0 };
        JoystickReceiver {
            link: Box::new(NoLink),
            axes: vec![Field { report_id: axis_id, ..field(0, 8, (-128, 127)) }],
            actuators_enabled: Some(Field { report_id: state_id, ..field(state_at, 1, (0, 1)) }),
            scales: vec![AxisScale { m_per_count: 0.001, ..AxisScale::default() }],
            are_actuators_off: false,
            newest: InputReport::default(),
            first: None,
        }
    }

    #[test]
    fn axes_are_read_from_a_report_that_also_has_the_state_of_the_motors() {
        let at = |x_m: f64, fault| Received::Position(Vector2::new(x_m, 0.0), fault, ReportChange::Others);
        let mut without_ids = wheel(0, 0);
        assert_eq!(without_ids.interpret(&[10, 1]), at(0.01, None));
        assert_eq!(without_ids.interpret(&[20, 0]), at(0.02, Some(FaultCode::Disarmed)));
        let mut with_ids = wheel(3, 3);
        assert_eq!(with_ids.interpret(&[3, 10, 0]), at(0.01, Some(FaultCode::Disarmed)));
        assert_eq!(with_ids.interpret(&[3, 20, 1]), at(0.02, None));
    }

    #[test]
    fn motors_stay_off_through_all_positions_until_a_report_has_them_on() {
        let mut wheel = wheel(1, 2);
        let off = Some(FaultCode::Disarmed);
        assert_eq!(wheel.interpret(&[2, 0]), Received::Condition(off));
        let at_ten = |fault, change| Received::Position(Vector2::new(0.01, 0.0), fault, change);
        for change in [ReportChange::Others, ReportChange::Nothing, ReportChange::Nothing] {
            assert_eq!(wheel.interpret(&[1, 10]), at_ten(off, change));
            assert_eq!(wheel.interpret(&[2, 0]), Received::Nothing);
        }
        assert_eq!(wheel.interpret(&[2, 1]), Received::Condition(None));
        assert_eq!(wheel.interpret(&[1, 10]), at_ten(None, ReportChange::Nothing));
    }

    #[test]
    fn a_report_is_compared_with_the_previous_one_as_a_whole() {
        let axes = wheel(1, 2).axes;
        let mut newest = InputReport::default();
        let mut change = |bytes: &[u8]| newest.replace(bytes, &axes);
        assert_eq!(change(&[1, 10, 7]), ReportChange::Others);
        assert_eq!(change(&[1, 10, 7]), ReportChange::Nothing);
        assert_eq!(change(&[1, 11, 7]), ReportChange::Axes);
        assert_eq!(change(&[1, 11, 8]), ReportChange::Others);
        assert_eq!(change(&[1, 11, 8, 0]), ReportChange::Others);
    }

    /// Whether a device with a still handle is taken for a stream at any time in 20 s, in which its pedals move in this
    /// fraction of the milliseconds.
    fn is_ever_a_stream(style: Style, fraction: f64) -> bool {
        let settings =
            JoystickSettings { axes: 2, travel_m: None, lever_m: 0.05, centre_counts: None, full_scale_n: [4.0; 2] };
        let axes = PidLayout::find(&style.descriptor(), 2).unwrap().axes;
        let scales: Vec<_> = axes.iter().enumerate().map(|(axis, field)| scale(axis, field, &settings)).collect();
        let mut detector = ReportingModeDetector::new(encoder_step_m(&scales));
        let mut receiver = JoystickReceiver { axes, scales, ..wheel(1, 2) };
        let handle = EmulatedHandle::still().unwrap();
        let mut gadget = Gadget::joystick(style, None, 4.0, handle).with_moving_pedals(fraction);
        let (mut before_ms, mut is_stream) = (0, false);
        for ms in 1..=20_000 {
            let Some(report) = gadget.advance(ms * 1000) else { continue };
            let Received::Position(position_m, None, change) = receiver.interpret(&report) else {
                panic!("{report:?}")
            };
            is_stream |= detector.update(position_m, change, (ms - before_ms) * MS);
            before_ms = ms;
        }
        is_stream
    }

    #[test]
    fn a_board_that_reports_changes_is_no_stream_beside_jittering_pedals_and_its_streaming_twin_is_one() {
        let twin = Style { reports_changes: false, ..OPEN_FFBOARD };
        for fraction in [0.0, 0.05, 0.1, 0.3, 0.6] {
            assert!(!is_ever_a_stream(OPEN_FFBOARD, fraction), "{fraction}");
            assert!(is_ever_a_stream(twin, fraction), "{fraction}");
        }
    }

    #[test]
    fn the_rate_is_what_the_endpoint_and_the_axes_allow() {
        assert_eq!(
            [rate_hz(MS, 1), rate_hz(MS, 2), rate_hz(8 * MS, 1), rate_hz(125_000, 2)],
            [1000.0, 500.0, 125.0, 1000.0]
        );
    }

    #[test]
    fn travel_comes_from_a_length_or_an_angle_in_the_descriptor() {
        let wheel =
            Field { physical: (-450, 450), unit: 0x14, ..super::super::field::tests::field(0, 16, (-32768, 32767)) };
        let travel_m = described_travel_m(&wheel, 0.15).unwrap();
        assert!((travel_m - 900f64.to_radians() * 0.15).abs() < 1e-12);
        let slider = Field { physical: (0, 80), unit: 0x11, exponent: -1, ..wheel.clone() };
        assert!((described_travel_m(&slider, 0.15).unwrap() - 0.08).abs() < 1e-12);
        assert_eq!(described_travel_m(&Field { unit: 0, ..wheel }, 0.15), None);
    }

    #[test]
    fn a_unit_left_standing_by_a_hat_is_not_that_of_the_axis() {
        let own = Field {
            physical: (0, 315),
            unit: 0x14,
            unit_of: Some(X),
            physical_of: Some(X),
            ..super::super::field::tests::field(0, 16, (0, 65535))
        };
        assert!(described_travel_m(&own, 0.05).is_some());
        let of_hat = Field { unit_of: Some(HAT), ..own.clone() };
        assert_eq!(described_travel_m(&of_hat, 0.05), None);
        assert_eq!(described_travel_m(&Field { physical_of: Some(HAT), ..own }, 0.05), None);
    }
}
