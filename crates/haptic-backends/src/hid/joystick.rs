//! The `hid-pid` backend: joysticks, wheels and boards whose force feedback is that of the HID specification.
//!
//! Arming makes one constant effect for each axis and starts it with no force. From then on only magnitudes are
//! streamed, one report at a time and no faster than the endpoint takes them. Effects end by themselves after 200 ms
//! and are started again every 50 ms, so that a device whose host has died lets go.

use super::field::Field;
use super::force::{ForceScale, Magnitudes, PidEncoder};
use super::layout::{Choice, PidLayout};
use super::link::{HidLink, HidPort, Opened};
use super::report::{Report, Shape};
use crate::scale::{AxisScale, encoder_step_m, limits};
use crate::threaded::{Connection, Connector, Received, Receiver, SendOutcome, ThreadedDevice, Transmitter};
use haptic_device::{FaultCode, Identity, KindSpec, MAX_AXES};
use nalgebra::Vector2;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Effects are started again so often, ns: a quarter of how long they last.
const RESTART_NS: u64 = 50_000_000;
/// How often the outcome of making an effect is asked for, and how long between.
const LOAD_ATTEMPTS: u32 = 20;
const LOAD_WAIT: Duration = Duration::from_millis(5);
/// Time that a device gets to forget everything.
const RESET_WAIT: Duration = Duration::from_millis(10);

/// What the device file says of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct JoystickSettings {
    /// 1 or 2.
    pub axes: usize,
    /// From one end of each axis to the other, at the handle, m; where nothing is given, what the descriptor says.
    pub travel_m: Option<[f64; MAX_AXES]>,
    /// Metres per radian, for descriptors that give an angle.
    pub lever_m: f64,
    /// The count of each axis where the handle is in its middle; the middle of its range if not given.
    pub centre_counts: Option<[f64; MAX_AXES]>,
    /// Forces at the largest magnitude and their signs.
    pub force: ForceScale,
}

/// From end to end where neither the device file nor the descriptor says, m: a joystick's.
const ASSUMED_TRAVEL_M: f64 = 0.1;

impl JoystickSettings {
    /// Scale of an axis with this range of counts. `described_m` is the travel in the descriptor, if it has one.
    pub fn scale(&self, axis: usize, range_counts: (f64, f64), described_m: Option<f64>) -> AxisScale {
        let given_m = self.travel_m.map(|travel_m| travel_m[axis]);
        let travel_m = given_m.or(described_m).unwrap_or(ASSUMED_TRAVEL_M);
        let middle = (range_counts.0 + range_counts.1) / 2.0;
        let centre_counts = self.centre_counts.map_or(middle, |centres| centres[axis]);
        // In the HID specification and in the kernel y grows towards the user, in the device frame away from the user.
        let direction = if axis == 1 { -1.0 } else { 1.0 };
        AxisScale::from_range(range_counts, centre_counts, direction * travel_m, self.force.full_scale_n[axis])
    }
}

/// The travel that a descriptor gives: a length, or an angle at a lever.
fn described_travel_m(field: &Field, lever_m: f64) -> Option<f64> {
    /// Units of the specification: system in the low nibble, length or angle in the next.
    const CENTIMETRE: u32 = 0x11;
    const RADIAN: u32 = 0x12;
    const INCH: u32 = 0x13;
    const DEGREE: u32 = 0x14;
    let (from, to) = field.physical;
    let span = (to - from) as f64 * libm::pow(10.0, f64::from(field.exponent));
    let metres = match field.unit {
        CENTIMETRE => span * 0.01,
        INCH => span * 0.0254,
        RADIAN => span * lever_m,
        DEGREE => span.to_radians() * lever_m,
        _ => return None,
    };
    (metres > 0.0 && metres.is_finite()).then_some(metres)
}

/// Joysticks with HID force feedback.
pub static HID_PID: KindSpec = KindSpec {
    name: "hid-pid",
    about: "USB force-feedback joysticks, wheels and boards, based on their report descriptors",
    is_hardware: true,
    axes: None,
    keys: JOYSTICK_KEYS,
    variants: &[],
};

/// Keys of joysticks, also of those that the kernel drives.
pub(crate) const JOYSTICK_KEYS: &[&str] = &[
    "path",
    "vendor_id",
    "product_id",
    "serial_number",
    "lever_m",
    "travel_m",
    "centre_counts",
    "reverse_force_x",
    "reverse_force_y",
];

/// Opens a joystick, arms it with no force and starts to serve it by threads of that priority.
///
/// # Errors
/// In words: nothing there, not permitted, no force feedback, no room for an effect.
pub fn open(mut port: Box<dyn HidPort>, settings: JoystickSettings, priority: u8) -> Result<ThreadedDevice, String> {
    let opened = port.open()?;
    let name = opened.name.clone();
    let about = |error: String| format!("{name}: {error}");
    let identity = Identity {
        name: opened.name.clone(),
        kind: &HID_PID,
        serial_number: opened.serial_number.clone(),
        firmware: String::new(),
        axes: settings.axes as u8,
    };
    let descriptor = opened.descriptor.clone();
    let interval_ns = opened.interval_ns;
    let layout = PidLayout::find(&descriptor, settings.axes).map_err(|error| about(error.to_string()))?;
    let scales: Vec<AxisScale> =
        layout.axes.iter().enumerate().map(|(axis, field)| scale(axis, field, &settings)).collect();
    let limits = limits(&scales, rate_hz(interval_ns, settings.axes));
    let step_m = encoder_step_m(&scales);
    let code = PidEncoder::new(layout, settings.force).map_err(|error| about(error.to_string()))?;
    let mut connector = JoystickConnector { port, descriptor, code, scales };
    let connection = connector.arm(opened).map_err(about)?;
    ThreadedDevice::start(identity, limits, step_m, Arc::default(), connection, Box::new(connector), priority)
        .map_err(|error| format!("{name}: no thread for its reports: {error}"))
}

fn scale(axis: usize, field: &Field, settings: &JoystickSettings) -> AxisScale {
    let range_counts = (field.logical.0 as f64, field.logical.1 as f64);
    settings.scale(axis, range_counts, described_travel_m(field, settings.lever_m))
}

/// How often a second every axis can get a new force: one report each, at most 1 kHz, and a whole part of it.
pub fn rate_hz(interval_ns: u64, axes: usize) -> f64 {
    const TICK_NS: u64 = 1_000_000;
    let ticks = (interval_ns * axes as u64).div_ceil(TICK_NS).max(1);
    1000.0 / ticks as f64
}

/// Finds and arms one make of device, again and again.
struct JoystickConnector {
    port: Box<dyn HidPort>,
    descriptor: Vec<u8>,
    code: PidEncoder,
    scales: Vec<AxisScale>,
}

impl Connector for JoystickConnector {
    fn connect(&mut self, _stop: &AtomicBool) -> Result<Connection, String> {
        let opened = self.port.open()?;
        if opened.descriptor != self.descriptor {
            return Err(format!(
                "another device answers ({}); plug the first one in again, or restart hapticd",
                opened.name
            ));
        }
        self.arm(opened)
    }
}

impl JoystickConnector {
    fn arm(&mut self, opened: Opened) -> Result<Connection, String> {
        let Opened { reading, mut writing, interval_ns, .. } = opened;
        let blocks = arm(writing.as_mut(), &self.code)?;
        let layout = self.code.layout();
        let receiving = JoystickReceiver {
            link: reading,
            axes: layout.axes.clone(),
            actuators_enabled: layout.actuators_enabled.clone(),
            scales: self.scales.clone(),
            are_actuators_off: false,
        };
        let sending =
            JoystickSender { link: writing, code: self.code.clone(), stream: EffortStream::new(blocks, interval_ns) };
        Ok(Connection { receiving: Box::new(receiving), sending: Box::new(sending) })
    }
}

/// Makes and starts one effect for each axis; their blocks.
fn arm(link: &mut dyn HidLink, code: &PidEncoder) -> Result<Vec<i64>, String> {
    let layout = code.layout();
    let axes = layout.axes.len();
    give_order(link, layout.control.reset.as_ref())?;
    std::thread::sleep(RESET_WAIT);
    check_room(link, layout, axes)?;
    give_order(link, layout.control.enable.as_ref())?;
    if let Some((shape, gain)) = &layout.gain {
        write(link, &shape.empty().with(gain, gain.logical.1))?;
    }
    let mut blocks = Vec::new();
    for axis in 0..axes {
        let block = create(link, code).map_err(|error| format!("{error}, for axis {} of {axes}", axis + 1))?;
        for report in [code.set_effect(axis, block), code.set_magnitude(block, 0), code.start(block)] {
            write(link, &report)?;
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn write(link: &mut dyn HidLink, report: &Report) -> Result<(), String> {
    link.write(report).map_err(|error| format!("it refused report {}: {error}", report.bytes()[0]))
}

fn give_order(link: &mut dyn HidLink, order: Option<&(Shape, Choice)>) -> Result<(), String> {
    order.map_or(Ok(()), |(shape, choice)| write(link, &shape.empty().with(&choice.field, choice.value)))
}

/// A pool that tells its size is believed when it is too small. Devices that do not answer are tried all the same.
fn check_room(link: &mut dyn HidLink, layout: &PidLayout, axes: usize) -> Result<(), String> {
    let Some((shape, field)) = &layout.simultaneous else { return Ok(()) };
    let mut report = shape.empty();
    if link.get_feature(&mut report).is_err() {
        return Ok(());
    }
    match report.get(field) {
        room if room > 0 && room < axes as i64 => {
            Err(format!("it plays {room} effects at once, {axes} axes need {axes}; write axes = 1"))
        }
        _ => Ok(()),
    }
}

/// Makes one constant effect; its block.
fn create(link: &mut dyn HidLink, code: &PidEncoder) -> Result<i64, String> {
    let load = &code.layout().load;
    link.set_feature(&code.create()).map_err(|error| format!("it refused to make an effect: {error}"))?;
    for _ in 0..LOAD_ATTEMPTS {
        let mut report = load.shape.empty();
        link.get_feature(&mut report).map_err(|error| format!("it does not tell what became of an effect: {error}"))?;
        let (block, status) = (report.get(&load.block_index), report.get(&load.success.field));
        if status == load.success.value && block > 0 {
            return Ok(block);
        }
        if Some(status) == load.full {
            return Err("it has no room for an effect; unplug it, or end the program that uses it".to_owned());
        }
        std::thread::sleep(LOAD_WAIT);
    }
    Err("it made no effect and did not say why".to_owned())
}

/// Which report goes out next: pure, one at a time, no faster than the endpoint takes them.
#[derive(Clone, Debug, PartialEq)]
struct EffortStream {
    blocks: Vec<i64>,
    interval_ns: u64,
    /// No report before this.
    free_ns: u64,
    sent: Magnitudes,
    restart_ns: [u64; MAX_AXES],
    /// The axis that is looked at first.
    turn: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Start { block: i64 },
    Set { block: i64, magnitude: i64 },
    Idle { until_ns: u64 },
    Wait { until_ns: u64 },
}

impl EffortStream {
    /// Just armed: every effect plays with no force.
    fn new(blocks: Vec<i64>, interval_ns: u64) -> Self {
        Self { blocks, interval_ns, free_ns: 0, sent: [0; MAX_AXES], restart_ns: [0; MAX_AXES], turn: 0 }
    }

    /// What to do now to reach `wanted`.
    fn next(&mut self, wanted: Magnitudes, now_ns: u64) -> Act {
        if now_ns < self.free_ns {
            return Act::Wait { until_ns: self.free_ns };
        }
        let axes = self.blocks.len();
        let due = (0..axes).find(|axis| now_ns >= self.restart_ns[*axis]);
        let changed = (0..axes).map(|step| (self.turn + step) % axes).find(|axis| wanted[*axis] != self.sent[*axis]);
        let act = match (due, changed) {
            (Some(axis), _) => {
                self.restart_ns[axis] = now_ns + RESTART_NS;
                Act::Start { block: self.blocks[axis] }
            }
            (None, Some(axis)) => {
                (self.sent[axis], self.turn) = (wanted[axis], (axis + 1) % axes);
                Act::Set { block: self.blocks[axis], magnitude: wanted[axis] }
            }
            (None, None) => {
                let until_ns = self.restart_ns[..axes].iter().copied().min().unwrap_or(now_ns);
                return Act::Idle { until_ns };
            }
        };
        self.free_ns = self.slot_after(now_ns);
        act
    }

    /// Reports keep to a raster of the interval, so that a late one does not delay all that follow.
    fn slot_after(&self, now_ns: u64) -> u64 {
        let is_late = now_ns.saturating_sub(self.free_ns) > self.interval_ns;
        if is_late { now_ns + self.interval_ns } else { self.free_ns + self.interval_ns }
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
        // Whatever fails on the way out, the effects end by themselves. This one ends them all at once, where it is
        // known.
        let _ = give_order(self.link.as_mut(), layout.control.stop_all.as_ref());
        for block in self.stream.blocks.clone() {
            let _ = self.link.write(&self.code.set_magnitude(block, 0));
            let _ = self.link.write(&self.code.stop(block));
            if let Some((shape, field)) = &layout.free {
                let _ = self.link.write(&shape.empty().with(field, block));
            }
        }
        let _ = give_order(self.link.as_mut(), layout.control.disable.as_ref());
    }
}

struct JoystickReceiver {
    link: Box<dyn HidLink>,
    axes: Vec<Field>,
    actuators_enabled: Option<Field>,
    scales: Vec<AxisScale>,
    /// A switch at the device, or the device itself, has cut the motors' power. Not before it says so: many never do.
    are_actuators_off: bool,
}

impl Receiver for JoystickReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        let mut bytes = [0; 256];
        let length = self.link.read(&mut bytes, wait)?;
        Ok(if length == 0 { Received::Nothing } else { self.interpret(&bytes[..length]) })
    }
}

impl JoystickReceiver {
    /// A report may hold the axes, the state of the motors, or both.
    fn interpret(&mut self, bytes: &[u8]) -> Received {
        let has_switched = self.look_at_actuators(bytes);
        let fault = self.are_actuators_off.then_some(FaultCode::Disarmed);
        match self.position_m(bytes) {
            Some(position_m) => Received::Position(position_m, fault),
            None if has_switched => Received::Condition(fault),
            None => Received::Nothing,
        }
    }

    /// True if the motors were switched on or off since the last report that told.
    fn look_at_actuators(&mut self, bytes: &[u8]) -> bool {
        let told = self.actuators_enabled.as_ref().and_then(|field| Some((field, content(field, bytes)?)));
        let Some((field, report)) = told else { return false };
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

/// A report without its id, if it is the one that a field is part of.
fn content<'a>(field: &Field, bytes: &'a [u8]) -> Option<&'a [u8]> {
    match field.report_id {
        0 => Some(bytes),
        id => bytes.strip_prefix(&[id]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Runs a stream for a while; what it did, with times in ms.
    fn run(axes: usize, duration_ms: u64, wanted: impl Fn(u64) -> Magnitudes) -> Vec<(u64, Act)> {
        let mut stream = EffortStream::new((1..=axes as i64).collect(), MS);
        let mut acts = Vec::new();
        let mut now_ns = 1000 * MS;
        while now_ns < (1000 + duration_ms) * MS {
            match stream.next(wanted(now_ns / MS - 1000), now_ns) {
                Act::Idle { .. } => now_ns += MS / 4,
                Act::Wait { until_ns } => now_ns = until_ns,
                act => {
                    acts.push((now_ns / MS - 1000, act));
                    now_ns += 1000;
                }
            }
        }
        acts
    }

    #[test]
    fn two_axes_that_change_all_the_time_share_the_endpoint_evenly_and_never_exceed_it() {
        let acts = run(2, 1000, |ms| [ms as i64 + 1, -(ms as i64) - 1]);
        let sets = |wanted: i64| {
            acts.iter().filter(|(_, act)| matches!(act, Act::Set { block, .. } if *block == wanted)).count()
        };
        assert!(acts.len() <= 1000, "{} reports in a second", acts.len());
        assert!(sets(1) >= 475 && sets(2) >= 475, "{} and {}", sets(1), sets(2));
    }

    #[test]
    fn one_axis_gets_nearly_every_report() {
        let acts = run(1, 1000, |ms| [ms as i64 + 1, 0]);
        let sets = acts.iter().filter(|(_, act)| matches!(act, Act::Set { .. })).count();
        assert!((975..=1000).contains(&sets), "{sets}");
    }

    #[test]
    fn a_force_that_stays_is_sent_once_and_its_effects_are_started_every_fifty_milliseconds() {
        let acts = run(2, 1000, |_| [7, 8]);
        let sets = acts.iter().filter(|(_, act)| matches!(act, Act::Set { .. })).count();
        let starts: Vec<u64> =
            acts.iter().filter(|(_, act)| matches!(act, Act::Start { block: 1 })).map(|(ms, _)| *ms).collect();
        assert_eq!(sets, 2);
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] <= 52) && starts.len() >= 19, "{starts:?}");
    }

    /// A link that nobody uses.
    struct NoLink;

    impl HidLink for NoLink {
        fn write(&mut self, _: &Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn read(&mut self, _: &mut [u8], _: Duration) -> io::Result<usize> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn set_feature(&mut self, _: &Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn get_feature(&mut self, _: &mut Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }
    }

    /// A wheel of one axis in the first byte, whose motor is on or off by the first bit of the second.
    fn wheel(axis_id: u8, state_id: u8) -> JoystickReceiver {
        let field = super::super::field::tests::field;
        let state_at = if axis_id == state_id { 8 } else { 0 };
        JoystickReceiver {
            link: Box::new(NoLink),
            axes: vec![Field { report_id: axis_id, ..field(0, 8, (-128, 127)) }],
            actuators_enabled: Some(Field { report_id: state_id, ..field(state_at, 1, (0, 1)) }),
            scales: vec![AxisScale { m_per_count: 0.001, ..AxisScale::default() }],
            are_actuators_off: false,
        }
    }

    #[test]
    fn axes_are_taken_from_a_report_that_also_tells_whether_the_motors_are_on() {
        let at = |x_m: f64, fault: Option<FaultCode>| Received::Position(Vector2::new(x_m, 0.0), fault);
        let mut without_ids = wheel(0, 0);
        assert_eq!(without_ids.interpret(&[10, 1]), at(0.01, None));
        assert_eq!(without_ids.interpret(&[20, 0]), at(0.02, Some(FaultCode::Disarmed)));
        let mut with_ids = wheel(3, 3);
        assert_eq!(with_ids.interpret(&[3, 10, 0]), at(0.01, Some(FaultCode::Disarmed)));
        assert_eq!(with_ids.interpret(&[3, 20, 1]), at(0.02, None));
    }

    #[test]
    fn motors_that_are_off_stay_off_in_every_position_until_they_are_told_to_be_on() {
        let mut wheel = wheel(1, 2);
        let off = Some(FaultCode::Disarmed);
        assert_eq!(wheel.interpret(&[2, 0]), Received::Condition(off));
        for _ in 0..3 {
            assert_eq!(wheel.interpret(&[1, 10]), Received::Position(Vector2::new(0.01, 0.0), off));
            assert_eq!(wheel.interpret(&[2, 0]), Received::Nothing);
        }
        assert_eq!(wheel.interpret(&[2, 1]), Received::Condition(None));
        assert_eq!(wheel.interpret(&[1, 10]), Received::Position(Vector2::new(0.01, 0.0), None));
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
}
