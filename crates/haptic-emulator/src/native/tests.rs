//! The emergency stop of the emulated firmware, frame by frame.

use super::*;
use haptic_wire::{Decoder, WIRE_MAX, encode};

const NONCE: u32 = 7;
const MEASURED: Measured = Measured { position_m: Vector2::new(0.01, -0.01), velocity_m_per_s: Vector2::new(0.0, 0.0) };

/// A board and the host's side of its messages, in steps of one millisecond.
struct Bench {
    firmware: NativeFirmware,
    now_us: u64,
    sequence: u8,
}

impl Bench {
    fn new(traits: NativeTraits) -> Self {
        Self { firmware: NativeFirmware::new(traits), now_us: 0, sequence: 0 }
    }

    /// A board whose motors push with 2 N.
    fn pushing() -> Self {
        let mut bench = Self::new(NativeTraits::default());
        bench.send(&hello(VERSION));
        assert!(matches!(bench.send(&arm())[..], [Message::ArmAck(_)]));
        for _ in 0..5 {
            bench.push();
            assert_eq!(bench.step(), None);
        }
        assert!((bench.firmware.force_n().x - 2.0).abs() < 1e-3);
        bench
    }

    fn send(&mut self, message: &Message<'_>) -> Vec<Reply> {
        let mut wire = [0; WIRE_MAX];
        self.sequence = self.sequence.wrapping_add(1);
        let length = encode(message, self.sequence, &mut wire).unwrap();
        let (mut decoder, mut replies) = (Decoder::new(), Vec::new());
        decoder.push_all(&wire[..length], |frame| {
            replies = self.firmware.receive(&frame, &MEASURED, self.now_us);
        });
        replies
    }

    fn push(&mut self) -> Vec<Reply> {
        self.send(&Message::Command(Command::with_efforts(PerAxis::two(16384, 0))))
    }

    fn step(&mut self) -> Option<Reply> {
        self.now_us += 1000;
        self.firmware.advance(self.now_us);
        self.firmware.take_due(&MEASURED)
    }
}

fn hello(version: (u8, u8)) -> Reply {
    Message::Hello(Hello { version, nonce: NONCE })
}

fn arm() -> Reply {
    let limits_q15 = PerAxis::two(FULL_SCALE_Q15, FULL_SCALE_Q15);
    Message::Arm(Arm { nonce: NONCE, watchdog_ms: 20, limits_q15, slew_q15_per_ms: 0 })
}

const STOP: Reply = Message::Fault(STOPPED);

fn status(replies: &[Reply]) -> u8 {
    match replies {
        [Message::State(state)] => state.status.0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_press_ends_the_force_at_once_and_is_reported_once() {
    let mut bench = Bench::pushing();
    bench.firmware.stop_button().press();
    assert_eq!(bench.firmware.force_n(), Vector2::zeros());
    assert_eq!(bench.step(), Some(STOP));
    assert!((0..1000).all(|_| bench.step().is_none() && bench.firmware.force_n() == Vector2::zeros()));
}

#[test]
fn a_command_right_after_a_press_gets_the_fault_before_the_state_and_has_no_effect() {
    let mut bench = Bench::pushing();
    bench.firmware.stop_button().press();
    let replies = bench.push();
    assert_eq!(replies[0], STOP);
    assert_eq!(status(&replies[1..]), Status::FAULT);
    assert_eq!(bench.step(), None);
    assert_eq!(bench.firmware.force_n(), Vector2::zeros());
}

#[test]
fn every_arm_of_a_stopped_board_gets_arm_ack_and_then_the_fault() {
    let mut bench = Bench::pushing();
    bench.firmware.stop_button().press();
    for _ in 0..1000 {
        let replies = bench.send(&arm());
        assert!(matches!(replies[..], [Message::ArmAck(_), STOP]), "{replies:?}");
        assert_eq!(status(&bench.push()), Status::FAULT);
        assert_eq!((bench.step(), bench.firmware.force_n()), (None, Vector2::zeros()));
    }
}

#[test]
fn a_released_board_stays_disarmed_until_an_arm_and_its_force_then_starts_from_zero() {
    let mut bench = Bench::pushing();
    bench.firmware.stop_button().press();
    bench.step();
    bench.firmware.stop_button().release();
    for _ in 0..100 {
        assert_eq!(status(&bench.push()), Status::FAULT);
        assert_eq!((bench.step(), bench.firmware.force_n()), (None, Vector2::zeros()));
    }
    assert!(matches!(bench.send(&arm())[..], [Message::ArmAck(_)]));
    bench.push();
    bench.step();
    // 8192 of 32767 per millisecond at 4 N.
    assert!((bench.firmware.force_n().x - 1.0).abs() < 1e-3);
}

#[test]
fn a_stop_replaces_a_watchdog_fault() {
    let mut bench = Bench::pushing();
    let watchdog = (0..30).find_map(|_| bench.step());
    assert!(matches!(watchdog, Some(Message::Fault(Fault { code: FaultCode::Watchdog, .. }))));
    bench.firmware.stop_button().press();
    assert_eq!(bench.step(), Some(STOP));
}

#[test]
fn a_host_of_version_1_0_gets_the_same_frames_and_a_board_of_version_1_0_has_no_stop() {
    let mut bench = Bench::new(NativeTraits::default());
    bench.firmware.stop_button().press();
    assert!(matches!(bench.send(&hello((1, 0)))[..], [Message::HelloAck(HelloAck { version: VERSION, .. })]));
    assert!(matches!(bench.send(&arm())[..], [Message::ArmAck(_), STOP]));
    let mut old = Bench::new(NativeTraits { version: (1, 0), ..NativeTraits::default() });
    old.firmware.stop_button().press();
    assert!(matches!(old.send(&hello(VERSION))[..], [Message::HelloAck(HelloAck { version: (1, 0), .. })]));
    assert!(matches!(old.send(&arm())[..], [Message::ArmAck(_)]));
    assert_eq!((status(&old.push()), old.step()), (Status::ARMED | Status::ENABLED | Status::SLEWING, None));
}

#[test]
fn planned_presses_follow_the_time_of_the_board() {
    let mut bench = Bench::new(NativeTraits::default());
    bench.firmware.plan_stops(vec!["0.1+0.05".parse().unwrap(), "0.3+0.1".parse().unwrap()]);
    bench.send(&hello(VERSION));
    let is_stopped: Vec<bool> = (0..500).map(|_| (bench.step(), bench.firmware.is_stopped()).1).collect();
    let changes: Vec<usize> = (1..500).filter(|ms| is_stopped[*ms] != is_stopped[ms - 1]).collect();
    assert_eq!(changes, [100, 150, 300, 400]);
    let events: Vec<String> = std::iter::from_fn(|| bench.firmware.next_event()).collect();
    assert_eq!(events[1..3], ["emergency stop pressed, motors off", "emergency stop released"]);
}
