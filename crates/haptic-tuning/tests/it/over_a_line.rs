//! Measures boards through a serial protocol in virtual time, with the host stalling at chosen times.

use haptic_backends::protocol::{OpenSession, Protocol, Sample, Step};
use haptic_backends::serial::{LinkMonitor, NativeProtocol, NativeSettings};
use haptic_device::{Device, DeviceModel, Effort, Health, Identity, Limits, MonotonicNs, Reading, WriteOutcome};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::{Board, NativeBoard};
use haptic_tuning::encoder::EncoderStep;
use haptic_tuning::estimate::{AxisEstimate, EstimateError, estimate};
use haptic_tuning::excitation::GaveUp;
use haptic_tuning::experiment::Experiment;
use haptic_tuning::measurement::{End, Measurement, MeasurementLimits};
use std::sync::Arc;

const TICK_NS: u64 = 1_000_000;

/// A board and the host's halves of its protocol, connected without a port.
struct Linked {
    board: NativeBoard,
    session: Box<OpenSession>,
    newest: Sample,
    handed_out: u32,
    last_effort: Effort,
}

impl Linked {
    fn new(model: &DeviceModel) -> Self {
        let traits = NativeTraits { axes: 1, ..NativeTraits::default() };
        let mut board = NativeBoard::new(traits, EmulatedHandle::new(1, model, None).unwrap());
        let settings = NativeSettings { axes: Some(1), lever_m: 1.0, max_force_n: 4.0, watchdog_ms: 100, baud: None };
        let mut protocol = NativeProtocol::new(settings, Arc::new(LinkMonitor::default()), 7);
        let mut handshake = protocol.start_handshake(MonotonicNs(1));
        let session = loop {
            match handshake.step(MonotonicNs(1)) {
                Step::Send(frame) => handshake.receive(&replies(&mut board, frame.bytes()), MonotonicNs(1)),
                Step::Done(session) => break session,
                Step::Wait { .. } => panic!("the board answers at once"),
                Step::Failed(error) => panic!("{error}"),
            }
        };
        Self { board, session, newest: Sample::default(), handed_out: 0, last_effort: Effort::zero() }
    }

    /// Advances the board by a number of milliseconds.
    fn pass(&mut self, milliseconds: u32) {
        (0..milliseconds).for_each(|_| self.board.tick(&mut Vec::new()));
    }
}

fn replies(board: &mut NativeBoard, bytes: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    board.receive(bytes, &mut answers);
    answers.concat()
}

impl Device for Linked {
    fn identity(&self) -> &Identity {
        &self.session.identity
    }

    fn limits(&self) -> &Limits {
        &self.session.limits
    }

    fn read(&mut self, now: MonotonicNs) -> Reading {
        let fresh = self.newest.sequence != self.handed_out;
        self.handed_out = self.newest.sequence;
        Reading {
            position_m: self.newest.position_m,
            velocity_m_per_s: self.newest.velocity_m_per_s,
            health: self.newest.health,
            age_ns: now.since(self.newest.taken_at),
            fresh,
            sequence: self.newest.sequence,
        }
    }

    /// Writes an effort and receives the reply, which arrives long before the next tick.
    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        self.last_effort = effort;
        let (frame, _) = self.session.transmit.encode(effort, &self.newest, now);
        let answer = replies(&mut self.board, frame.bytes());
        let taken = self.session.receive.receive(&answer, now.after(TICK_NS / 5));
        self.newest = taken.sample.unwrap_or(self.newest);
        WriteOutcome::Written
    }

    fn close(&mut self) {}
}

/// Runs a measurement. Before each tick, `stall` returns the number of periods that the host misses; it may also modify
/// the device.
fn run(device: &mut Linked, mut stall: impl FnMut(u32, &mut Linked) -> u32) -> (Experiment, End) {
    let mut experiment = Experiment::new(1, &MeasurementLimits { force_n: 4.0, travel_m: 0.02 });
    let (mut now, mut tick) = (MonotonicNs(TICK_NS), 0);
    loop {
        tick += 1;
        let periods = 1 + stall(tick, device);
        device.pass(periods);
        now = now.after(u64::from(periods) * TICK_NS);
        let effort = experiment.tick(&device.read(now), periods);
        let sent = device.write(effort, now);
        experiment.acknowledge(sent);
        if let Some(end) = experiment.end() {
            let last = experiment.tick(&device.read(now), 1);
            assert_eq!(last, Effort::zero(), "after the end there is no force");
            return (experiment, end);
        }
    }
}

/// Asserts that an estimate matches the model. The effect of an effort appears one tick later, in the reply to the next
/// command.
fn assert_right(found: &AxisEstimate, model: &DeviceModel) {
    let checks = [
        ("mass", found.mass_kg.value, model.mass_kg[0], 0.05 * model.mass_kg[0]),
        ("damping", found.damping_n_s_per_m.value, model.damping_n_s_per_m[0], 0.05 * model.damping_n_s_per_m[0]),
        ("friction", found.coulomb_n.value, model.coulomb_n[0], 0.01),
        ("delay", found.delay_s.value, model.delay_s[0] + 1e-3, 0.15e-3),
    ];
    for (name, value, truth, allowed) in checks {
        assert!((value - truth).abs() <= allowed, "{name} {value} for {truth}; {found:?}");
    }
    // The board counts in hundredths of a millimetre, independent of its encoder.
    assert!(matches!(found.grid, EncoderStep::Step(step_m) if (step_m - 1e-5).abs() < 1e-12), "{found:?}");
}

#[test]
fn a_board_is_measured_through_its_protocol() {
    for (mass, damping, coulomb) in [(0.1, 0.5, 0.05), (0.05, 1.5, 0.0), (0.3, 0.8, 0.2)] {
        let model = DeviceModel {
            mass_kg: [mass; 2],
            damping_n_s_per_m: [damping; 2],
            coulomb_n: [coulomb; 2],
            ..DeviceModel::default()
        };
        let (experiment, end) = run(&mut Linked::new(&model), |_, _| 0);
        assert_eq!(end, End::Finished);
        assert_right(&estimate(&experiment.recordings()[0]).unwrap(), &model);
    }
}

#[test]
fn a_host_that_stalls_now_and_then_still_measures_correctly() {
    let model = DeviceModel::default();
    // Every tenth of a second, 1 to 7 periods are missed, as on a shared machine.
    let stall = |tick: u32, _: &mut Linked| if tick.is_multiple_of(100) { 1 + tick / 100 % 7 } else { 0 };
    let (experiment, end) = run(&mut Linked::new(&model), stall);
    assert_eq!(end, End::Finished);
    assert_right(&estimate(&experiment.recordings()[0]).unwrap(), &model);
}

#[test]
fn a_failed_measurement_is_rejected_with_its_reason() {
    let stuck = DeviceModel { coulomb_n: [9.0; 2], ..DeviceModel::default() };
    let (_, end) = run(&mut Linked::new(&stuck), |_, _| 0);
    assert!(matches!(end, End::GaveUp { why: GaveUp::DoesNotMove { .. }, .. }), "{end}");
    let weak = DeviceModel { max_force_n: [1.5; 2], ..DeviceModel::default() };
    let (experiment, end) = run(&mut Linked::new(&weak), |_, _| 0);
    assert_eq!(end, End::Finished);
    let refused = estimate(&experiment.recordings()[0]);
    assert!(matches!(refused, Err(EstimateError::Saturates { .. })), "{refused:?}");
}

#[test]
fn a_board_that_is_unplugged_midway_ends_it_at_zero_force() {
    let mut device = Linked::new(&DeviceModel::default());
    let unplug = |tick: u32, device: &mut Linked| {
        if tick == 3000 {
            device.newest.health = Health::Lost;
        }
        0
    };
    let (_, end) = run(&mut device, unplug);
    assert!(matches!(end, End::Fault(_)), "{end}");
    assert_eq!(device.last_effort, Effort::zero());
}
