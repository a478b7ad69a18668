//! Host and device of the ODrive protocol, connected directly: no port, no clock.

use crate::other_links::{Link, MILLISECOND_NS, lose_step_and_recover, replies_of, run_handshake};
use haptic_backends::protocol::{Protocol, Sample, Step};
use haptic_backends::serial::{LinkMonitor, OdriveProtocol, OdriveSettings};
use haptic_device::{DeviceModel, Effort, FaultCode, Health, MonotonicNs};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::serial::{Board, OdriveBoard, OdriveFirmware};
use haptic_testing::Random;
use nalgebra::Vector2;
use std::sync::Arc;

const LEVER_M: f64 = 0.02;
const ODRIVE: OdriveSettings =
    OdriveSettings { lever_m: LEVER_M, max_torque_n_m: 0.08, max_speed_m_per_s: 3.0, watchdog_s: 0.05, baud: None };
/// Speed of the handle at which an ODrive with the default limits switches its motor off, m/s.
const OFF_M_PER_S: f64 = 2.4 * core::f64::consts::TAU * LEVER_M;
const VELOCITY_LIMIT: &str = "axis0.controller.config.vel_limit";

/// An ODrive whose configuration has been changed and saved.
fn board_with(firmware: &'static OdriveFirmware, saved: &[(&'static str, f64)]) -> OdriveBoard {
    let model = DeviceModel { coulomb_n: [0.0; 2], encoder_step_m: [0.0; 2], ..DeviceModel::default() };
    let handle = EmulatedHandle::new(1, &model, None).unwrap();
    OdriveBoard::with_saved(firmware, LEVER_M, handle, saved.to_vec())
}

/// An ODrive with the default limits.
fn odrive_board() -> OdriveBoard {
    board_with(&OdriveFirmware::V0_5, &[])
}

fn link_to(board: OdriveBoard) -> Link<OdriveBoard> {
    Link::new(board, |monitor| Box::new(OdriveProtocol::new(ODRIVE, monitor)))
}

/// A link to an ODrive without a velocity limit.
fn fast(firmware: &'static OdriveFirmware) -> Link<OdriveBoard> {
    link_to(board_with(firmware, &[(VELOCITY_LIMIT, f64::INFINITY)]))
}

fn odrive() -> Link<OdriveBoard> {
    fast(&OdriveFirmware::V0_5)
}

/// Returns a command or an answer of an ODrive with its checksum.
fn with_checksum(text: &str) -> String {
    format!("{text}*{}", text.bytes().fold(0, |checksum, byte| checksum ^ byte))
}

/// An ODrive that receives one command in place of another.
struct Deafened {
    board: OdriveBoard,
    command: &'static str,
    received: &'static str,
}

impl Board for Deafened {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let (sent, received) = (with_checksum(self.command), with_checksum(self.received));
        let text = String::from_utf8(bytes.to_vec()).unwrap().replace(&sent, &received);
        self.board.receive(text.as_bytes(), out);
    }
    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.board.tick(out);
    }
    fn host_left(&mut self) {}
    fn force_n(&self) -> Vector2<f64> {
        self.board.force_n()
    }
    fn handle(&self) -> &EmulatedHandle {
        self.board.handle()
    }
    fn handle_mut(&mut self) -> &mut EmulatedHandle {
        self.board.handle_mut()
    }
    fn next_event(&mut self) -> Option<String> {
        self.board.next_event()
    }
}

#[test]
fn an_odrive_that_does_not_adopt_a_watchdog_or_a_limit_is_refused_with_the_remedy_and_its_motor_off() {
    const TIME: &str = "w axis0.config.watchdog_timeout 0.05";
    let cases = [
        (TIME, "", "time is 0 s although 0.05 s were written; update its firmware"),
        (TIME, "w axis0.config.watchdog_timeout 0.5", "write watchdog_s = 0.5"),
        ("w axis0.config.enable_watchdog 1", "", "cannot be enabled; update its firmware"),
        ("w axis0.motor.config.torque_lim 0.08", "", "torque limit is inf N·m although 0.0800 N·m were written"),
        ("w axis0.controller.config.input_mode 1", "w axis0.controller.config.input_mode 6", "although 1 was written"),
    ];
    for (command, received, expected) in cases {
        let mut board = Deafened { board: odrive_board(), command, received };
        let mut protocol = OdriveProtocol::new(ODRIVE, Arc::new(LinkMonitor::default()));
        let rejection =
            run_handshake(&mut protocol, &mut board).err().expect("a controller that does not switch off was accepted");
        assert!(rejection.to_string().contains(expected), "{rejection}");
        assert!(
            std::iter::from_fn(|| board.next_event()).all(|event| !event.contains("motor on")),
            "after {command:?}"
        );
    }
}

#[test]
fn a_late_answer_to_an_earlier_question_is_not_taken_for_the_watchdog_s() {
    let mut board = odrive_board();
    let mut handshake = OdriveProtocol::new(ODRIVE, Arc::new(LinkMonitor::default())).start_handshake(MonotonicNs(0));
    for round in 0..5000 {
        let now = MonotonicNs(round * MILLISECOND_NS);
        match handshake.step(now) {
            Step::Send(frame) => {
                let is_timeout = String::from_utf8_lossy(frame.bytes()).contains("watchdog_timeout");
                // The answer to the input mode is received again.
                handshake.receive(if is_timeout { b"1*49\r\n" } else { b"" }, now);
                handshake.receive(&replies_of(&mut board, frame.bytes()), now);
            }
            Step::Wait { .. } => board.tick(&mut Vec::new()),
            Step::Done(_) => return,
            Step::Failed(error) => panic!("{error}"),
        }
    }
    panic!("neither done nor failed");
}

#[test]
fn an_odrive_moves_the_handle_as_mechanics_says_over_its_lever() {
    let mut link = odrive();
    link.run(101, Vector2::new(0.2, 0.0));
    let speed = 0.2 / 0.5 * (1.0 - (-0.5f64 * 0.1 / 0.1).exp());
    let Sample { velocity_m_per_s, position_m, health, .. } = link.newest;
    assert!((velocity_m_per_s.x - speed).abs() < 0.02 * speed, "{velocity_m_per_s}");
    assert!(position_m.x > 0.0 && health == Health::Ready);
    let statistics = link.monitor.statistics(1000.0);
    assert_eq!((statistics.frames_lost, statistics.crc_errors), (0, 0));
}

#[test]
fn an_odrive_s_watchdog_stops_the_motor_is_reported_and_the_motor_resumes() {
    let mut link = odrive();
    link.run(10, Vector2::new(0.5, 0.0));
    assert_ne!(link.board.force_n(), Vector2::zeros());
    (0..60).for_each(|_| link.board.tick(&mut Vec::new()));
    assert_eq!(link.board.force_n(), Vector2::zeros());
    let mut worst = Health::Ready;
    for _ in 0..250 {
        link.exchange(Vector2::zeros(), false);
        worst = if link.newest.health == Health::Ready { worst } else { link.newest.health };
    }
    assert_eq!(worst, Health::Faulted(FaultCode::Device { code: 0, detail: 2048 }));
    assert_eq!(link.newest.health, Health::Ready);
    link.run(2, Vector2::new(0.5, 0.0));
    assert_ne!(link.board.force_n(), Vector2::zeros());
}

/// Damages each byte with the given probability.
fn damaged(bytes: &[u8], probability: f64, random: &mut Random) -> Vec<u8> {
    let damage = |&byte: &u8| {
        if random.between(0.0, 1.0) < probability { byte ^ (1 << random.index(8)) } else { byte }
    };
    bytes.iter().map(damage).collect()
}

#[test]
fn on_a_line_that_damages_two_percent_of_the_bytes_an_odrive_never_exceeds_its_limit_and_hardly_gets_a_wrong_torque() {
    let (mut link, mut random) = (odrive(), Random(7));
    let (mut wrong, mut right, mut wrong_readings) = (0, 0, 0);
    for _ in 0..100_000 {
        let effort = Effort { force_n: Vector2::new(1.0, 0.0) };
        let (frame, _) = link.session.transmit.encode(effort, &link.newest, link.now);
        let answer = replies_of(&mut link.board, &damaged(frame.bytes(), 0.02, &mut random));
        link.board.tick(&mut Vec::new());
        let force_n = link.board.force_n().x;
        assert!(force_n.abs() <= 4.0 + 1e-9, "{force_n} N");
        wrong += u32::from(force_n != 0.0 && (force_n - 1.0).abs() > 1e-3);
        right += u32::from((force_n - 1.0).abs() <= 1e-3);
        link.now = link.now.after(MILLISECOND_NS);
        let before_m = link.newest.position_m.x;
        link.receive(&damaged(&answer, 0.02, &mut random));
        let true_m = link.board.handle().true_state().position_m.x;
        wrong_readings +=
            u32::from(link.newest.position_m.x != before_m && (link.newest.position_m.x - true_m).abs() > 0.1);
    }
    assert!(right > 90_000, "{right} ticks with the right torque");
    assert!(wrong < 200, "{wrong} ticks with a wrong torque");
    assert!(wrong_readings < 200, "{wrong_readings} wrong readings");
}

#[test]
fn before_the_first_tick_the_odrive_s_watchdog_is_fed_and_the_farewell_switches_the_motor_off() {
    let mut link = odrive();
    for _ in 0..20 {
        (0..20).for_each(|_| link.board.tick(&mut Vec::new()));
        link.receive(&[]);
    }
    link.run(2, Vector2::new(0.5, 0.0));
    assert_eq!(link.newest.health, Health::Ready);
    assert_ne!(link.board.force_n(), Vector2::zeros());
    let frame = link.session.transmit.stop_frame();
    replies_of(&mut link.board, frame.bytes());
    assert_eq!(link.board.force_n(), Vector2::zeros());
}

#[test]
fn answers_that_come_twice_or_not_at_all_bring_an_odrive_out_of_step_only_for_a_moment() {
    lose_step_and_recover(odrive());
}

/// Runs the handshake of a session and returns its warnings.
fn warnings_of(board: &mut OdriveBoard, settings: OdriveSettings) -> Vec<String> {
    let mut handshake = OdriveProtocol::new(settings, Arc::default()).start_handshake(MonotonicNs(0));
    for round in 0..5000 {
        let now = MonotonicNs(round * MILLISECOND_NS);
        match handshake.step(now) {
            Step::Send(frame) => handshake.receive(&replies_of(board, frame.bytes()), now),
            Step::Wait { .. } => board.tick(&mut Vec::new()),
            Step::Done(_) => return handshake.warnings(),
            Step::Failed(error) => panic!("{error}"),
        }
    }
    panic!("neither done nor failed");
}

#[test]
fn both_firmwares_are_opened_limited_and_driven() {
    for firmware in OdriveFirmware::ALL {
        let mut link = fast(firmware);
        let version = link.session.identity.firmware.clone();
        assert!(version.starts_with(firmware.version), "{version}");
        link.run(20, Vector2::new(0.5, 0.0));
        assert!((link.board.force_n().x - 0.5).abs() < 1e-4, "{version}: {}", link.board.force_n());
        link.run(20, Vector2::new(-50.0, 0.0));
        assert!((link.board.force_n().x + 4.0).abs() < 1e-3, "{version}: {}", link.board.force_n());
        let statistics = link.monitor.statistics(1000.0);
        assert_eq!((link.newest.health, statistics.frames_lost), (Health::Ready, 0), "{}", firmware.version);
    }
}

#[test]
fn limits_that_cut_into_the_device_s_range_are_reported_for_both_firmwares_and_left_as_they_are() {
    for firmware in OdriveFirmware::ALL {
        let mut board = board_with(firmware, &[]);
        let warnings = warnings_of(&mut board, ODRIVE);
        let expected = "its velocity limit of 2 turns/s reduces a force of 4.00 N along the motion above 0.19 m/s (to zero \
                        at 0.25 m/s) and switches the motor off at 0.30 m/s; for 3 m/s, set \
                        axis0.controller.config.vel_limit to 24.4 with odrivetool";
        assert_eq!(warnings, [expected], "{}", firmware.version);
        assert_eq!(replies_of(&mut board, b"r axis0.controller.config.vel_limit\n"), b"2\r\n");
        let slow = OdriveSettings { max_speed_m_per_s: 0.15, ..ODRIVE };
        assert_eq!(warnings_of(&mut board, slow), [""; 0], "{}", firmware.version);
        let strong = OdriveSettings { max_torque_n_m: 0.8, ..slow };
        let warnings = warnings_of(&mut board, strong).join("; ");
        assert!(warnings.contains("its current limit of 10 A permits 20.00 N of 40.00 N"), "{warnings}");
    }
}

#[test]
fn the_reported_speeds_are_those_at_which_the_force_falls_and_the_motor_is_switched_off() {
    for firmware in OdriveFirmware::ALL {
        let mut link = link_to(board_with(firmware, &[]));
        let (mut reduced_at, mut off_at) = (None, None);
        for _ in 0..2000 {
            link.exchange(Vector2::new(4.0, 0.0), false);
            let speed = link.board.handle().true_state().velocity_m_per_s.x;
            let force_n = link.board.force_n().x;
            reduced_at = reduced_at.or((force_n < 3.99).then_some(speed));
            off_at = off_at.or((force_n == 0.0).then_some(speed));
        }
        assert!((reduced_at.unwrap() - 0.19).abs() < 0.04, "{reduced_at:?}");
        assert_eq!(off_at, None, "the limited torque does not reach the speed by itself");
    }
}

#[test]
fn a_motor_that_switches_itself_off_is_a_fault_within_the_watchdog_time_and_is_switched_on_again() {
    for (firmware, code) in [(&OdriveFirmware::V0_5, 512), (&OdriveFirmware::V0_6, 32_768)] {
        let mut link = link_to(board_with(firmware, &[("axis0.controller.config.enable_torque_mode_vel_limit", 0.0)]));
        let (mut off_at, mut reported_at, mut on_again) = (None, None, false);
        for tick in 0..2000 {
            let push_n = if off_at.is_none() { 4.0 } else { 0.0 };
            link.exchange(Vector2::new(push_n, 0.0), false);
            off_at = off_at.or((link.board.force_n().x == 0.0 && tick > 10).then_some(tick));
            if let Health::Faulted(fault) = link.newest.health {
                assert_eq!(fault, FaultCode::Device { code: 0, detail: code });
                reported_at.get_or_insert(tick);
            }
            on_again |= reported_at.is_some() && link.newest.health == Health::Ready;
        }
        let (off_at, reported_at) = (off_at.unwrap(), reported_at.unwrap());
        let speed = link.board.handle().true_state().velocity_m_per_s.x;
        assert!(speed < OFF_M_PER_S && on_again, "{} {speed}", firmware.version);
        assert!(reported_at - off_at <= 25, "{}: {} ms", firmware.version, reported_at - off_at);
    }
}

#[test]
fn a_motor_that_is_off_is_a_fault_although_the_answer_about_the_reason_is_lost() {
    let mut link = odrive();
    link.run(100, Vector2::zeros());
    replies_of(&mut link.board, b"w axis0.requested_state 1\n");
    for _ in 0..100 {
        let answer = link.command(Vector2::zeros());
        link.board.tick(&mut Vec::new());
        link.now = link.now.after(MILLISECOND_NS);
        let received = link.session.receive.receive(&answer, link.now);
        if received.sample.is_some_and(|sample| sample.health == Health::Faulted(FaultCode::Disarmed)) {
            return;
        }
        let request = received.reply.map(|reply| String::from_utf8_lossy(reply.bytes()).into_owned());
        if let Some(request) = request.filter(|request| request.contains("current_state")) {
            link.session.receive.receive(&replies_of(&mut link.board, request.as_bytes()), link.now);
        }
    }
    panic!("no fault");
}

#[test]
fn a_firmware_that_is_too_old_or_lacks_a_property_is_rejected_with_the_remedy_and_its_motor_off() {
    let old = [("fw_version_revision", 1.0)];
    let stiff = [("axis0.controller.config.vel_gain", 0.0)];
    for (saved, expected) in [
        (&old, "its firmware 0.5.1 cannot clear errors over this protocol; update it to 0.5.2 or newer"),
        (&stiff, "its vel_limit of 2 and vel_gain of 0 permit no torque; set both"),
        (&[("fw_version_minor", 7.0)], "its firmware 0.7.6 has no property axis0.config.torque_soft_max; update it"),
    ] {
        let mut board = board_with(&OdriveFirmware::V0_5, saved);
        let error = run_handshake(&mut OdriveProtocol::new(ODRIVE, Arc::default()), &mut board).err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(board.next_event().is_none());
    }
}
