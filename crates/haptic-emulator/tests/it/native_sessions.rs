//! Runs the emulated board through the sessions of the specification, which the C firmware runs too. PROTOCOL.md,
//! section 9, defines their format and the device that they describe.

use haptic_emulator::native::{Measured, NativeFirmware, NativeTraits};
use haptic_wire::{FULL_SCALE_Q15, Frame, Message, PAYLOAD_MAX};
use nalgebra::Vector2;
use std::{collections::VecDeque, fs, path::PathBuf};

const TICK_US: u64 = 250;
const TICKS_PER_MS: u64 = 4;
const M_PER_COUNT: f64 = 1e-5;

struct Session {
    firmware: NativeFirmware,
    measured: Measured,
    now_us: u64,
    /// Type and payload of each message that the session has not compared yet.
    sent: VecDeque<Vec<u8>>,
}

impl Session {
    fn new(axes: u8, gives_stream: bool) -> Self {
        let zero = Measured { position_m: Vector2::zeros(), velocity_m_per_s: Vector2::zeros() };
        let firmware = NativeFirmware::new(NativeTraits { axes, gives_stream, ..NativeTraits::default() });
        Self { firmware, measured: zero, now_us: 0, sent: VecDeque::new() }
    }

    fn add_sent(&mut self, message: &Message<'_>) {
        let mut payload = [0; PAYLOAD_MAX];
        let length = message.emit(&mut payload);
        self.sent.push_back([&[message.kind() as u8], &payload[..length]].concat());
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.expect_no_more();
        let frame = Frame { kind: bytes[0], sequence: bytes[1], payload: &bytes[2..] };
        let replies = self.firmware.receive(&frame, &self.measured, self.now_us);
        replies.iter().for_each(|reply| self.add_sent(reply));
    }

    fn wait(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds * TICKS_PER_MS {
            self.now_us += TICK_US;
            self.firmware.advance(self.now_us);
            let due = self.firmware.take_due(&self.measured);
            due.iter().for_each(|message| self.add_sent(message));
        }
    }

    fn efforts_q15(&self) -> [i32; 2] {
        let newtons = NativeTraits::default().full_scale_n / f64::from(FULL_SCALE_Q15);
        self.firmware.force_n().map(|force_n| (force_n / newtons).round() as i32).into()
    }

    fn set_stop(&self, is_pressed: bool) {
        let button = self.firmware.stop_button();
        if is_pressed { button.press() } else { button.release() }
    }

    fn boot(&mut self, properties: &str) {
        self.expect_no_more();
        let (axes, capability) = properties.trim().split_once(' ').unwrap_or((properties.trim(), ""));
        *self = Self::new(axes.parse().unwrap(), capability.trim() == "stream");
    }

    /// A session lists every message of the device before the next frame of the host.
    fn expect_no_more(&self) {
        assert!(self.sent.is_empty(), "not expected: {:02x?}", self.sent);
    }

    /// Runs one line.
    fn run(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap();
        if verb == "<" {
            let message = self.sent.pop_front().expect("a message from the device");
            return assert!(matches(&message, rest), "{message:02x?}");
        }
        let numbers = || rest.split_whitespace().map(|number| number.parse::<i32>().unwrap());
        match verb {
            ">" => self.receive(&rest.split_whitespace().map(hex).collect::<Vec<u8>>()),
            "axes" => self.boot(rest),
            "wait" => self.wait(rest.trim().parse().unwrap()),
            "emergency_stop" => self.set_stop(rest.trim() == "1"),
            "effort" => numbers().zip(self.efforts_q15()).for_each(|(expected, found)| assert_eq!(found, expected)),
            "position" => numbers().enumerate().for_each(|(axis, counts)| {
                self.measured.position_m[axis] = f64::from(counts) * M_PER_COUNT;
            }),
            other => panic!("unknown line {other}"),
        }
    }
}

fn hex(byte: &str) -> u8 {
    u8::from_str_radix(byte, 16).unwrap()
}

/// Whether a message is the expected one, in which ".." is any byte and "..." any number of bytes.
fn matches(message: &[u8], expected: &str) -> bool {
    let mut expected = expected.split_whitespace();
    for byte in message {
        match expected.next() {
            Some("...") => return true,
            Some("..") => {}
            Some(text) if hex(text) == *byte => {}
            _ => return false,
        }
    }
    expected.next().is_none_or(|last| last == "...")
}

#[test]
fn the_emulated_board_passes_every_session_of_the_specification() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../firmware-protocol/vectors/sessions");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut session = Session::new(1, false);
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            if !line.trim().is_empty() {
                println!("{}:{}", file.display(), index + 1);
                session.run(line);
            }
        }
        session.expect_no_more();
    }
}
