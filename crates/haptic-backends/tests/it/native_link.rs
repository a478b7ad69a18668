//! Host and board of the native protocol, connected directly: no port, no clock.

use haptic_backends::native::framing::HidReport;
use haptic_backends::protocol::{HandshakeError, OpenSession, Protocol, Received, Sample, Step};
use haptic_backends::serial::{LinkMonitor, NativeProtocol, NativeSettings};
use haptic_device::{DeviceModel, Effort, FaultCode, Health, MonotonicNs, WriteError};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::{Board, NativeBoard};
use haptic_wire::report::{REPORT_BYTES, decode_report, encode_report};
use haptic_wire::{Decoder, Frame, Kind, Message, VERSION, WIRE_MAX, encode_frame};
use nalgebra::Vector2;
use std::sync::Arc;

const MILLISECOND_NS: u64 = 1_000_000;

fn settings(axes: u8) -> NativeSettings {
    NativeSettings { axes: Some(axes), lever_m: 0.05, max_force_n: 4.0, watchdog_ms: 20, baud: None }
}

fn board(traits: NativeTraits) -> NativeBoard {
    let model = DeviceModel { coulomb_n: [0.0; 2], encoder_step_m: [0.0; 2], ..DeviceModel::default() };
    NativeBoard::new(traits, EmulatedHandle::new(traits.axes, &model, None).unwrap())
}

/// Runs a handshake until it succeeds or fails, in steps of one millisecond.
fn open_session(
    protocol: &mut dyn Protocol,
    far: &mut dyn FnMut(&[u8]) -> Vec<u8>,
) -> Result<Box<OpenSession>, HandshakeError> {
    let mut handshake = protocol.start_handshake(MonotonicNs(0));
    for round in 0..20_000 {
        let now = MonotonicNs(round * MILLISECOND_NS);
        match handshake.step(now) {
            Step::Send(bytes) => handshake.receive(&far(bytes.bytes()), now),
            Step::Wait { .. } => handshake.receive(&far(&[]), now),
            Step::Done(session) => return Ok(session),
            Step::Failed(error) => return Err(error),
        }
    }
    panic!("neither done nor failed");
}

fn replies_of(board: &mut NativeBoard, bytes: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    board.receive(bytes, &mut answers);
    answers.concat()
}

/// A host and the board it has armed.
struct Exchange {
    board: NativeBoard,
    session: OpenSession,
    monitor: Arc<LinkMonitor>,
    now: MonotonicNs,
    newest: Sample,
}

impl Exchange {
    fn new(traits: NativeTraits) -> Self {
        let (monitor, mut board) = (Arc::new(LinkMonitor::default()), board(traits));
        let mut protocol = NativeProtocol::new(settings(traits.axes), Arc::clone(&monitor), 77);
        let session = *open_session(&mut protocol, &mut |bytes| replies_of(&mut board, bytes)).unwrap();
        Self { board, session, monitor, now: MonotonicNs(10_000 * MILLISECOND_NS), newest: Sample::default() }
    }

    /// Simulates one millisecond in which the host sends a force; `spoil` may change the messages.
    fn exchange(&mut self, force_n: Vector2<f64>, spoil: impl Fn(&mut Vec<u8>, &mut Vec<u8>)) -> Received {
        let (bytes, _) = self.session.transmit.encode(Effort { force_n }, &self.newest, self.now);
        self.now = self.now.after(MILLISECOND_NS / 2);
        let mut question = bytes.bytes().to_vec();
        spoil(&mut question, &mut Vec::new());
        let mut answer = replies_of(&mut self.board, &question);
        spoil(&mut Vec::new(), &mut answer);
        self.listen(&answer)
    }

    /// Simulates one millisecond without a command.
    fn wait(&mut self) -> Received {
        self.now = self.now.after(MILLISECOND_NS / 2);
        self.listen(&[])
    }

    fn listen(&mut self, answer: &[u8]) -> Received {
        let mut sent = Vec::new();
        self.board.tick(&mut sent);
        let mut answer = answer.to_vec();
        answer.extend(sent.concat());
        let received = self.session.receive.receive(&answer, self.now);
        self.newest = received.sample.unwrap_or(self.newest);
        if let Some(reply) = received.reply {
            let again = replies_of(&mut self.board, reply.bytes());
            self.session.receive.receive(&again, self.now);
        }
        self.now = self.now.after(MILLISECOND_NS / 2);
        received
    }

    fn run(&mut self, ticks: usize, force_n: Vector2<f64>) {
        for _ in 0..ticks {
            self.exchange(force_n, |_, _| {});
        }
    }
}

#[test]
fn a_board_is_opened_and_armed_and_answers_every_command() {
    for traits in [NativeTraits { axes: 1, ..NativeTraits::default() }, NativeTraits::default()] {
        let mut exchange = Exchange::new(traits);
        assert_eq!(exchange.session.identity.serial_number, "EMULATED");
        assert_eq!((exchange.session.identity.axes, exchange.session.limits.max_force_n), (traits.axes, 4.0));
        exchange.run(1000, Vector2::zeros());
        let statistics = exchange.monitor.statistics(1000.0);
        assert_eq!((statistics.frames_lost, statistics.crc_errors), (0, 0));
        assert_eq!(statistics.round_trip.max_ns, MILLISECOND_NS / 2);
        assert_eq!((exchange.newest.sequence, exchange.newest.health), (1000, Health::Ready));
    }
}

#[test]
fn a_force_accelerates_the_handle_according_to_mechanics() {
    let mut exchange = Exchange::new(NativeTraits { gives_velocity: true, ..NativeTraits::default() });
    exchange.run(101, Vector2::new(0.2, -0.1));
    // 0.1 kg with 0.5 N·s/m: v = F/b·(1 − exp(−b·t/m)).
    let speed = 0.2 / 0.5 * (1.0 - (-0.5f64 * 0.1 / 0.1).exp());
    let Sample { velocity_m_per_s, position_m, .. } = exchange.newest;
    assert!((velocity_m_per_s.x - speed).abs() < 0.01 * speed, "{velocity_m_per_s}");
    assert!(position_m.x > 0.0 && (position_m.y + position_m.x / 2.0).abs() < 2e-5, "{position_m}");
}

#[test]
fn velocity_is_estimated_where_the_board_gives_none() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(200, Vector2::new(0.2, 0.0));
    let true_speed = 0.2 / 0.5 * (1.0 - (-0.5f64 * 0.2 / 0.1).exp());
    let speed = exchange.newest.velocity_m_per_s.x;
    assert!((speed - true_speed).abs() < 0.05 * true_speed, "{speed} and not {true_speed}");
}

#[test]
fn another_version_another_number_of_axes_silence_and_garbage_have_errors_of_their_own() {
    let rejection = |traits: NativeTraits| {
        let (mut protocol, mut board) =
            (NativeProtocol::new(settings(2), Arc::new(LinkMonitor::default()), 1), board(traits));
        open_session(&mut protocol, &mut |bytes| replies_of(&mut board, bytes)).err().unwrap()
    };
    let version = rejection(NativeTraits { version: (9, 0), ..NativeTraits::default() });
    assert_eq!(version, HandshakeError::Version { theirs: (9, 0), ours: VERSION });
    let axes = rejection(NativeTraits { axes: 1, ..NativeTraits::default() });
    assert_eq!(axes, HandshakeError::Axes { wanted: 2, found: 1 });
    let alone = |answer: &[u8]| {
        let mut protocol = NativeProtocol::new(settings(2), Arc::new(LinkMonitor::default()), 1);
        open_session(&mut protocol, &mut |_| answer.to_vec()).err().unwrap()
    };
    assert_eq!(alone(&[]), HandshakeError::Silent { within_s: 5 });
    assert!(matches!(alone(b"hello world\r\n"), HandshakeError::NotUnderstood { .. }));
}

#[test]
fn a_board_that_starts_late_or_misses_messages_is_still_opened() {
    let mut board = board(NativeTraits::default());
    let mut protocol = NativeProtocol::new(settings(2), Arc::new(LinkMonitor::default()), 5);
    // The board is in its bootloader for thirty requests, about two seconds; then every other message is lost.
    let mut questions = 0;
    let mut far = |bytes: &[u8]| {
        questions += usize::from(!bytes.is_empty());
        if questions < 30 || questions % 2 == 0 { Vec::new() } else { replies_of(&mut board, bytes) }
    };
    assert!(open_session(&mut protocol, &mut far).is_ok());
}

#[test]
fn a_board_that_resets_during_the_handshake_is_opened_with_a_new_hello() {
    let mut board = board(NativeTraits::default());
    let mut protocol = NativeProtocol::new(settings(2), Arc::new(LinkMonitor::default()), 5);
    let mut questions = 0;
    let mut far = |bytes: &[u8]| {
        questions += usize::from(!bytes.is_empty());
        if questions == 2 {
            board.host_left();
        }
        replies_of(&mut board, bytes)
    };
    assert!(open_session(&mut protocol, &mut far).is_ok());
}

#[test]
fn the_line_s_speed_bounds_the_rate() {
    let rate_hz = |baud: u32, axes: u8| {
        let mut board = board(NativeTraits { axes, ..NativeTraits::default() });
        let settings = NativeSettings { baud: Some(baud), ..settings(axes) };
        let mut protocol = NativeProtocol::new(settings, Arc::new(LinkMonitor::default()), 1);
        open_session(&mut protocol, &mut |bytes| replies_of(&mut board, bytes)).ok().unwrap().limits.rate_hz
    };
    assert_eq!((rate_hz(115_200, 1), rate_hz(115_200, 2), rate_hz(1_000_000, 2)), (720.0, 576.0, 1000.0));
}

#[test]
fn lost_and_damaged_frames_are_counted_and_cost_no_more_than_themselves() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::zeros());
    for _ in 0..5 {
        assert!(exchange.exchange(Vector2::zeros(), |question, _| question.clear()).sample.is_none());
        assert!(exchange.exchange(Vector2::zeros(), |_, answer| answer.clear()).sample.is_none());
        let damage = |_: &mut Vec<u8>, answer: &mut Vec<u8>| {
            answer.iter_mut().skip(3).take(1).for_each(|byte| *byte ^= 0x40);
        };
        assert!(exchange.exchange(Vector2::zeros(), damage).sample.is_none());
        exchange.run(3, Vector2::zeros());
        assert_eq!(exchange.newest.health, Health::Ready);
    }
    let statistics = exchange.monitor.statistics(1000.0);
    assert_eq!((statistics.frames_lost, statistics.crc_errors), (15, 5));
}

#[test]
fn of_answers_that_come_together_the_newest_wins_and_an_old_one_after_it_is_ignored() {
    let mut exchange = Exchange::new(NativeTraits::default());
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (bytes, _) = exchange.session.transmit.encode(Effort::zero(), &Sample::default(), exchange.now);
        answers.push(replies_of(&mut exchange.board, bytes.bytes()));
        exchange.board.tick(&mut Vec::new());
    }
    let together = [answers[0].clone(), answers[2].clone()].concat();
    let sample = exchange.session.receive.receive(&together, exchange.now).sample.unwrap();
    assert_eq!(sample.sequence, 2);
    assert!(exchange.session.receive.receive(&answers[1], exchange.now).sample.is_none());
}

#[test]
fn after_the_watchdog_has_cut_in_the_board_is_armed_again() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(1.0, 0.0));
    assert_ne!(exchange.board.force_n(), Vector2::zeros());
    let faulted = (0..25).find_map(|_| exchange.wait().sample).unwrap();
    assert_eq!(faulted.health, Health::Faulted(FaultCode::Watchdog));
    assert_eq!(exchange.board.force_n(), Vector2::zeros());
    exchange.run(3, Vector2::zeros());
    assert_eq!(exchange.newest.health, Health::Ready);
}

const STOPPED: Health = Health::Faulted(FaultCode::EmergencyStop);

/// A host that pushes with 4 N.
fn pushing() -> Exchange {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(4.0, -4.0));
    assert_eq!(exchange.board.force_n(), Vector2::new(4.0, -4.0));
    exchange
}

#[test]
fn an_emergency_stop_ends_the_force_at_once_lasts_through_many_arms_and_after_release_the_board_is_armed_again() {
    let mut exchange = pushing();
    let button = exchange.board.stop_button();
    button.press();
    assert_eq!(exchange.board.force_n(), Vector2::zeros());
    let (mut arms, mut healths) = (0, vec![exchange.newest.health]);
    for _ in 0..5000 {
        let received = exchange.exchange(Vector2::new(4.0, -4.0), |_, _| {});
        arms += usize::from(received.reply.is_some());
        healths.push(exchange.newest.health);
        assert_eq!(exchange.board.force_n(), Vector2::zeros());
    }
    healths.dedup();
    assert_eq!(healths, [Health::Ready, STOPPED], "reported once");
    assert_eq!(arms, 25, "every 200 ms");
    button.release();
    let is_ready = |exchange: &mut Exchange| {
        exchange.exchange(Vector2::zeros(), |_, _| {});
        exchange.newest.health == Health::Ready
    };
    let ready_after = (0..1000).position(|_| is_ready(&mut exchange)).unwrap();
    assert!(ready_after <= 201, "{ready_after} ms");
    assert_eq!(exchange.monitor.statistics(1000.0).frames_lost, 0);
    exchange.run(2, Vector2::new(4.0, -4.0));
    assert!((exchange.board.force_n() - Vector2::new(2.0, -2.0)).norm() < 1e-3, "from zero, slewed");
}

#[test]
fn a_released_board_is_not_ready_before_the_host_has_armed_it() {
    let mut exchange = pushing();
    exchange.board.stop_button().press();
    exchange.run(2, Vector2::zeros());
    exchange.board.stop_button().release();
    // The host has just sent an ARM; the next one is due after 200 ms.
    for _ in 0..190 {
        assert!(exchange.exchange(Vector2::new(4.0, -4.0), |_, _| {}).reply.is_none());
        assert_eq!((exchange.newest.health, exchange.board.force_n()), (STOPPED, Vector2::zeros()));
    }
}

#[test]
fn an_emergency_stop_of_any_length_interrupts_the_readings() {
    for pressed_ms in 0..20 {
        let mut exchange = pushing();
        exchange.board.stop_button().press();
        assert_eq!(exchange.wait().sample.map(|sample| sample.health), Some(STOPPED));
        exchange.run(pressed_ms, Vector2::zeros());
        exchange.board.stop_button().release();
        exchange.run(250, Vector2::zeros());
        assert_eq!(exchange.newest.health, Health::Ready, "after {pressed_ms} ms");
    }
}

#[test]
fn a_board_that_is_stopped_before_the_host_starts_is_opened_and_its_first_reading_tells_why_it_has_no_force() {
    let stopped = || {
        let board = board(NativeTraits::default());
        board.stop_button().press();
        (board, NativeProtocol::new(settings(2), Arc::default(), 3))
    };
    // The fault after ARM_ACK arrives during the handshake, or after it.
    for split_s in [false, true] {
        let (mut board, mut protocol) = stopped();
        let mut late = Vec::new();
        let mut session = *open_session(&mut protocol, &mut |bytes| {
            let mut answers = Vec::new();
            board.receive(bytes, &mut answers);
            late = if split_s && answers.len() == 2 { answers.split_off(1).concat() } else { Vec::new() };
            answers.concat()
        })
        .unwrap();
        assert_eq!(late.is_empty(), !split_s);
        let now = MonotonicNs(10_000 * MILLISECOND_NS);
        let (bytes, _) = session.transmit.encode(Effort::zero(), &Sample::default(), now);
        let late_health = session.receive.receive(&late, now).sample.map(|sample| sample.health);
        assert_eq!(late_health, split_s.then_some(STOPPED));
        let answer = replies_of(&mut board, bytes.bytes());
        assert_eq!(session.receive.receive(&answer, now).sample.unwrap().health, STOPPED);
    }
}

#[test]
fn a_board_of_any_minor_version_works() {
    for minor in [0, 1, VERSION.1, 255] {
        let mut exchange = Exchange::new(NativeTraits { version: (1, minor), ..NativeTraits::default() });
        exchange.run(100, Vector2::new(1.0, 0.0));
        assert_eq!(exchange.newest.health, Health::Ready);
        assert!((0..25).any(|_| exchange.wait().sample.is_some()), "the watchdog");
        assert_eq!(exchange.newest.health, Health::Faulted(FaultCode::Watchdog));
        exchange.run(3, Vector2::zeros());
        assert_eq!(exchange.newest.health, Health::Ready);
    }
}

#[test]
fn a_board_of_another_major_version_is_recognised_by_the_start_of_its_reply() {
    // The host's first nonce is one above the one given; only that reply counts.
    let hello_ack = |nonce: u8| {
        let (mut wire, payload) = ([0; WIRE_MAX], [2, 5, nonce, 0, 0, 0, 1, 2, 3]);
        let frame = Frame { kind: Kind::HelloAck as u8, sequence: 0, payload: &payload };
        let length = encode_frame(&frame, &mut wire).unwrap();
        wire[..length].to_vec()
    };
    let error = |nonce: u8| {
        let mut protocol = NativeProtocol::new(settings(2), Arc::new(LinkMonitor::default()), 6);
        open_session(&mut protocol, &mut |_| hello_ack(nonce)).err().unwrap()
    };
    assert_eq!(error(7), HandshakeError::Version { theirs: (2, 5), ours: VERSION });
    assert!(matches!(error(6), HandshakeError::Refused(_)));
}

#[test]
fn a_position_outside_the_range_of_the_board_is_used_as_it_is() {
    let mut exchange = Exchange::new(NativeTraits { travel_m: 0.001, ..NativeTraits::default() });
    assert_eq!(exchange.session.limits.travel_max_m, Vector2::new(0.001, 0.001));
    exchange.run(200, Vector2::new(1.0, -0.5));
    let (found_m, true_m) = (exchange.newest.position_m, exchange.board.handle().measured().position_m);
    assert!(found_m.x > 0.01 && (found_m - true_m).norm() < 5e-3, "{found_m}");
    assert_eq!(exchange.newest.health, Health::Ready);
}

#[test]
fn an_axis_that_ends_its_force_is_not_slewed_while_the_other_pushes() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(4.0, -4.0));
    exchange.exchange(Vector2::new(0.0, -4.0), |_, _| {});
    assert_eq!(exchange.board.force_n(), Vector2::new(0.0, -4.0));
}

#[test]
fn an_effort_that_is_not_a_number_is_sent_as_zero_and_reported() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(1.0, 1.0));
    let effort = Effort { force_n: Vector2::new(f64::NAN, 1.0) };
    let (bytes, verdict) = exchange.session.transmit.encode(effort, &exchange.newest, exchange.now);
    assert_eq!(verdict, Err(WriteError::NotFinite));
    replies_of(&mut exchange.board, bytes.bytes());
    assert_eq!(exchange.board.force_n(), Vector2::zeros());
}

#[test]
fn the_stop_frame_ends_the_force() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(1.0, 0.0));
    let bytes = exchange.session.transmit.stop_frame();
    replies_of(&mut exchange.board, bytes.bytes());
    assert_eq!(exchange.board.force_n(), Vector2::zeros());
}

#[test]
fn the_board_keeps_to_the_force_limit_of_the_host() {
    let (monitor, mut board) = (Arc::new(LinkMonitor::default()), board(NativeTraits::default()));
    let mut protocol = NativeProtocol::new(NativeSettings { max_force_n: 1.0, ..settings(2) }, Arc::clone(&monitor), 1);
    let mut session = *open_session(&mut protocol, &mut |bytes| replies_of(&mut board, bytes)).unwrap();
    let effort = Effort { force_n: Vector2::new(3.0, -3.0) };
    let (bytes, _) = session.transmit.encode(effort, &Sample::default(), MonotonicNs(1));
    replies_of(&mut board, bytes.bytes());
    (0..10).for_each(|_| board.tick(&mut Vec::new()));
    assert!((board.force_n() - Vector2::new(1.0, -1.0)).norm() < 1e-3, "{}", board.force_n());
}

#[test]
fn a_zero_ends_the_greatest_force_at_once_and_the_next_force_needs_no_arming() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::new(4.0, -4.0));
    assert_eq!(exchange.board.force_n(), Vector2::new(4.0, -4.0));
    let (bytes, _) = exchange.session.transmit.encode(Effort::zero(), &exchange.newest, exchange.now);
    replies_of(&mut exchange.board, bytes.bytes());
    assert_eq!(exchange.board.force_n(), Vector2::zeros());
    let received = exchange.exchange(Vector2::new(0.5, 0.0), |_, _| {});
    assert_eq!((received.reply, exchange.newest.health), (None, Health::Ready));
    assert!((exchange.board.force_n() - Vector2::new(0.5, 0.0)).norm() < 1e-3, "{}", exchange.board.force_n());
}

#[test]
fn a_board_changes_its_force_no_faster_than_its_slew() {
    let mut exchange = Exchange::new(NativeTraits { slew_q15_per_ms: 8192, ..NativeTraits::default() });
    let forces: Vec<f64> = (0..5)
        .map(|_| {
            exchange.exchange(Vector2::new(4.0, 0.0), |_, _| {});
            exchange.board.force_n().x
        })
        .collect();
    for (force_n, expected_n) in forces.iter().zip([1.0, 2.0, 3.0, 4.0, 4.0]) {
        assert!((force_n - expected_n).abs() < 1e-3, "{forces:?}");
    }
}

/// Translates between HID reports and the COBS frames of the emulated board.
fn reports_to(board: &mut NativeBoard, report: &[u8]) -> Vec<[u8; REPORT_BYTES]> {
    let mut wire = [0; WIRE_MAX];
    let question = decode_report(report).map_or(0, |frame| encode_frame(&frame, &mut wire).unwrap());
    let mut reports = Vec::new();
    Decoder::new().push_all(&replies_of(board, &wire[..question]), |frame| {
        reports.push(encode_report(&Message::parse(&frame).unwrap(), frame.sequence).unwrap());
    });
    reports
}

#[test]
fn hid_reports_carry_the_same_session_as_a_serial_line() {
    let (monitor, mut board) = (Arc::new(LinkMonitor::default()), board(NativeTraits::default()));
    let mut protocol = haptic_backends::native::NativeProtocol::<HidReport>::new(settings(2), Arc::clone(&monitor), 1);
    let mut session = *open_session(&mut protocol, &mut |report| reports_to(&mut board, report).concat()).unwrap();
    assert_eq!((session.identity.serial_number.as_str(), session.limits.max_force_n), ("EMULATED", 4.0));
    for tick in 0..100 {
        let now = MonotonicNs(10_000 * MILLISECOND_NS + tick * MILLISECOND_NS);
        let effort = Effort { force_n: Vector2::new(1.0, -0.5) };
        let (report, _) = session.transmit.encode(effort, &Sample::default(), now);
        let sample = reports_to(&mut board, report.bytes())
            .iter()
            .find_map(|report| session.receive.receive(report, now.after(MILLISECOND_NS / 2)).sample)
            .unwrap();
        assert_eq!((sample.health, sample.taken_at, sample.sequence), (Health::Ready, now, tick as u32 + 1));
        board.tick(&mut Vec::new());
    }
    assert!((board.force_n() - Vector2::new(1.0, -0.5)).norm() < 1e-3, "{}", board.force_n());
    let statistics = monitor.statistics(1000.0);
    assert_eq!((statistics.frames_lost, statistics.round_trip.max_ns), (0, MILLISECOND_NS / 2));
}

#[test]
fn a_fault_in_the_same_bytes_as_an_armed_state_after_it_is_not_overlooked() {
    let mut exchange = Exchange::new(NativeTraits::default());
    exchange.run(10, Vector2::zeros());
    let mut bytes = vec![0; WIRE_MAX];
    let fault = Message::Fault(haptic_wire::Fault { code: haptic_wire::FaultCode::Watchdog, detail: 20 });
    let length = haptic_wire::encode(&fault, 0, &mut bytes).unwrap();
    bytes.truncate(length);
    let (command, _) = exchange.session.transmit.encode(Effort::zero(), &exchange.newest, exchange.now);
    bytes.extend(replies_of(&mut exchange.board, command.bytes()));
    let received = exchange.listen(&bytes);
    assert_eq!(received.sample.map(|sample| sample.health), Some(Health::Ready));
    assert_eq!(received.fault, Some(FaultCode::Watchdog));
}
