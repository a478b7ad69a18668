//! Tests the crate against the specification's test vectors, which neither implementation generated.

use haptic_wire::*;
use std::{collections::BTreeMap, fs, path::PathBuf};

/// One case of a vector file: its keys and values.
struct Case(BTreeMap<String, String>);

impl Case {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("no key {key} in {:?}", self.0))
    }

    fn numbers(&self, key: &str) -> Vec<i64> {
        self.text(key).split_whitespace().map(number).collect()
    }

    fn number<T: TryFrom<i64, Error: std::fmt::Debug>>(&self, key: &str) -> T {
        T::try_from(number(self.text(key))).unwrap()
    }

    fn per_axis<T: TryFrom<i64, Error: std::fmt::Debug> + Copy + Default>(&self, key: &str) -> PerAxis<T> {
        let values: Vec<T> = self.numbers(key).into_iter().map(|value| T::try_from(value).unwrap()).collect();
        PerAxis::from_slice(&values).unwrap()
    }

    fn wire(&self) -> Vec<u8> {
        self.text("wire").split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }
}

fn number(text: &str) -> i64 {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn cases(file: &str) -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../firmware-protocol/vectors");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let blocks = text.split("\n\n").map(|block| {
        let lines = block.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(|line| line.split_once(" = ").unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
    });
    blocks.filter(|keys: &BTreeMap<_, _>| !keys.is_empty()).map(Case).collect()
}

/// Checks both directions: the bytes decode to the message, and the message encodes to the bytes.
fn check<'a>(file: &str, case: &Case, message: Message<'a>) {
    let wire = case.wire();
    let mut decoder = Decoder::new();
    let (last, before) = wire.split_last().unwrap();
    assert!(before.iter().all(|byte| decoder.push(*byte).is_none()), "{file}: frame ended early");
    let frame = decoder.push(*last).unwrap_or_else(|| panic!("{file}: no frame in {wire:02x?}"));
    assert_eq!(frame.kind, case.number::<u8>("type"), "{file}");
    assert_eq!(frame.sequence, case.number::<u8>("sequence"), "{file}");
    assert_eq!(Message::parse(&frame).unwrap(), message, "{file}");

    let mut out = [0xEE; WIRE_MAX];
    let length = encode(&message, frame.sequence, &mut out).unwrap();
    assert_eq!(out[..length], wire[..], "{file}");
}

fn check_all(file: &str, expected_cases: usize, message: impl for<'a> Fn(&'a Case) -> Message<'a>) {
    let cases = cases(file);
    assert_eq!(cases.len(), expected_cases, "{file}");
    cases.iter().for_each(|case| check(file, case, message(case)));
}

fn arm(case: &Case) -> Arm {
    Arm {
        nonce: case.number("nonce"),
        watchdog_ms: case.number("watchdog_ms"),
        limits_q15: case.per_axis("limit"),
        slew_q15_per_ms: case.number("slew"),
    }
}

fn state(case: &Case) -> State {
    let status: u8 = case.number("status");
    let velocity_given = case.0.contains_key("velocity");
    assert_eq!(status & Status::VELOCITY != 0, velocity_given);
    let positions: PerAxis<i32> = case.per_axis("position");
    let velocities = if velocity_given { case.per_axis("velocity") } else { positions.map(|_| 0) };
    let readings: Vec<_> = positions.iter().zip(velocities.iter()).map(reading).collect();
    State {
        acknowledged: case.number("acknowledged"),
        status: Status(status & !Status::VELOCITY),
        sampled_at_us: case.number("sampled_at_us"),
        axes: PerAxis::from_slice(&readings).unwrap(),
        velocity_given,
    }
}

fn reading((position, velocity): (&i32, &i32)) -> AxisReading {
    AxisReading { position: *position, velocity: *velocity }
}

#[test]
fn hello_vectors_hold() {
    check_all("hello.txt", 5, |case| {
        assert_eq!(case.number::<u32>("magic"), MAGIC);
        Message::Hello(Hello { version: (case.number("major"), case.number("minor")), nonce: case.number("nonce") })
    });
}

#[test]
fn hello_ack_vectors_hold() {
    check_all("hello_ack.txt", 5, |case| {
        let uid: Vec<u8> = case.numbers("uid").into_iter().map(|byte| byte as u8).collect();
        Message::HelloAck(HelloAck {
            version: (case.number("major"), case.number("minor")),
            nonce: case.number("nonce"),
            firmware_version: case.number("firmware_version"),
            uid: uid.try_into().unwrap(),
            axes: case.number("axes"),
            capabilities: Capabilities(case.number("capabilities")),
            max_rate_hz: case.number("max_rate_hz"),
        })
    });
}

#[test]
fn axis_info_vectors_hold() {
    check_all("axis_info_request.txt", 3, |case| {
        Message::AxisInfoRequest(AxisInfoRequest { index: case.number("index") })
    });
    check_all("axis_info.txt", 3, |case| {
        Message::AxisInfo(AxisInfo {
            index: case.number("index"),
            kind: if case.number::<u8>("kind") == 0 { AxisKind::Linear } else { AxisKind::Rotary },
            counts_per_unit: (case.number("counts_numerator"), case.number("counts_denominator")),
            range: (case.number("minimum"), case.number("maximum")),
            full_scale_micro: case.number("full_scale_micro"),
            home_flags: HomeFlags(case.number("home_flags")),
        })
    });
}

#[test]
fn arm_vectors_hold() {
    check_all("arm.txt", 3, |case| Message::Arm(arm(case)));
    check_all("arm_ack.txt", 2, |case| Message::ArmAck(arm(case)));
}

#[test]
fn command_vectors_hold() {
    check_all("command.txt", 4, |case| {
        Message::Command(Command { flags: case.number("flags"), efforts_q15: case.per_axis("effort") })
    });
}

#[test]
fn state_vectors_hold() {
    check_all("state.txt", 4, |case| Message::State(state(case)));
}

#[test]
fn stop_vectors_hold() {
    check_all("stop.txt", 2, |_| Message::Stop);
}

#[test]
fn ping_vectors_hold() {
    check_all("ping.txt", 2, |case| Message::Ping(Ping { host_us: case.number("host_us") }));
    check_all("ping_reply.txt", 2, |case| {
        Message::PingReply(PingReply {
            host_us: case.number("host_us"),
            received_us: case.number("received_us"),
            sent_us: case.number("sent_us"),
        })
    });
}

#[test]
fn fault_and_log_vectors_hold() {
    check_all("fault.txt", 8, |case| {
        let code = FaultCode::from_byte(case.number("code"));
        assert!(!matches!(code, FaultCode::Other(_)), "{code:?} has no name");
        Message::Fault(Fault { code, detail: case.number("detail") })
    });
    check_all("log.txt", 2, |case| Message::Log(Log::new(case.text("text")).unwrap()));
}

#[test]
fn the_newest_version_in_the_vectors_is_the_one_implemented() {
    let version = |case: &Case| (case.number("major"), case.number("minor"));
    for file in ["hello.txt", "hello_ack.txt"] {
        assert_eq!(cases(file).iter().map(version).max(), Some(VERSION), "{file}");
    }
}

#[test]
fn every_bad_frame_is_dropped_and_counted_under_its_name() {
    let cases = cases("bad.txt");
    assert_eq!(cases.len(), 7);
    for case in &cases {
        let mut decoder = Decoder::new();
        decoder.push_all(&case.wire(), |frame| panic!("accepted {frame:?}"));
        let expected = match case.text("counts") {
            "crc_error" => Counters { crc_errors: 1, ..Counters::default() },
            "framing_error" => Counters { framing_errors: 1, ..Counters::default() },
            "overlong" => Counters { overlong: 1, ..Counters::default() },
            other => panic!("unknown counter {other}"),
        };
        assert_eq!(decoder.counters(), expected, "{}", case.text("wire"));
    }
}

#[test]
fn no_vector_file_goes_unchecked() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../firmware-protocol/vectors");
    let entries = fs::read_dir(folder).unwrap().count();
    assert_eq!(entries, Kind::ALL.len() + 2, "one file a message, bad.txt, and the sessions, which devices run");
}
