//! One emulated device as whatever carries it sees it: reports in, reports out, and a handle that moves meanwhile.

use crate::board::{self, NativeBoard};
use crate::force_feedback::ForceFeedback;
use crate::handle::Handle;
use crate::style::Style;
use haptic_wire::report::{decode_report, encode_report};
use haptic_wire::{Decoder, Message, WIRE_MAX, encode};

/// How far from the middle a joystick's axis goes, m.
const TRAVEL_M: f64 = 0.05;

/// What kind of device it is.
#[derive(Clone, Debug)]
pub enum Firmware {
    /// A joystick with force feedback, and its force at full scale, N.
    Joystick(ForceFeedback, f64),
    /// A board with the native protocol.
    NativeBoard(NativeBoard),
}

/// A device and its handle.
#[derive(Clone, Debug)]
pub struct Gadget {
    /// What it runs.
    pub firmware: Firmware,
    /// What it moves.
    pub handle: Handle,
    /// The force of the motors at the last step, N, device frame: y away from the user.
    pub force_n: [f64; 2],
    decoder: Decoder,
    advanced_us: Option<u64>,
}

impl Gadget {
    /// A joystick.
    pub fn joystick(style: Style, room: Option<usize>, full_scale_n: f64, handle: Handle) -> Self {
        Self::new(Firmware::Joystick(ForceFeedback::new(style, room), full_scale_n), handle)
    }

    /// A board with the native protocol.
    pub fn board(full_scale_n: f64, handle: Handle) -> Self {
        Self::new(Firmware::NativeBoard(NativeBoard::new(full_scale_n)), handle)
    }

    fn new(firmware: Firmware, handle: Handle) -> Self {
        Self { firmware, handle, force_n: [0.0; 2], decoder: Decoder::new(), advanced_us: None }
    }

    /// Its report descriptor.
    pub fn descriptor(style: Option<&Style>) -> Vec<u8> {
        style.map_or_else(board::descriptor, Style::descriptor)
    }

    /// Takes an output report, with its id if it has one; the report it answers with, if any.
    pub fn output(&mut self, report: &[u8], now_us: u64) -> Option<Vec<u8>> {
        match &mut self.firmware {
            Firmware::Joystick(joystick, _) => {
                joystick.output(report, now_us);
                None
            }
            Firmware::NativeBoard(board) => {
                let Some(frame) = decode_report(report) else {
                    board.mistakes += 1;
                    return None;
                };
                let answer = board.take(&frame, self.handle.position_m, now_us)?;
                in_report(board, &answer)
            }
        }
    }

    /// Takes bytes of a serial line; what it answers.
    pub fn serial(&mut self, bytes: &[u8], now_us: u64) -> Vec<u8> {
        let Firmware::NativeBoard(board) = &mut self.firmware else { return Vec::new() };
        let position_m = self.handle.position_m;
        let mut answers = Vec::new();
        self.decoder.push_all(bytes, |frame| {
            if let Some(answer) = board.take(&frame, position_m, now_us) {
                answers.extend_from_slice(&on_wire(board, &answer));
            }
        });
        answers
    }

    /// Takes a feature report.
    pub fn set_feature(&mut self, report: &[u8], now_us: u64) {
        if let Firmware::Joystick(joystick, _) = &mut self.firmware {
            joystick.set_feature(report, now_us);
        }
    }

    /// Answers a request for a feature report.
    pub fn get_feature(&mut self, id: u8) -> Option<Vec<u8>> {
        match &mut self.firmware {
            Firmware::Joystick(joystick, _) => joystick.get_feature(id),
            Firmware::NativeBoard(_) => None,
        }
    }

    /// Moves the handle to `now_us`; an input report that goes out by itself, if there is one.
    pub fn advance(&mut self, now_us: u64) -> Option<Vec<u8>> {
        let elapsed_us = now_us.saturating_sub(self.advanced_us.replace(now_us).unwrap_or(now_us));
        let (force_n, fault) = match &mut self.firmware {
            Firmware::Joystick(joystick, full_scale_n) => {
                let [x, y] = joystick.force(now_us);
                ([x * *full_scale_n, -y * *full_scale_n], None)
            }
            Firmware::NativeBoard(board) => board.force_n(now_us),
        };
        self.force_n = force_n;
        self.handle.advance(force_n, elapsed_us as f64 * 1e-6);
        match &mut self.firmware {
            Firmware::Joystick(joystick, _) => {
                let [x, y] = self.handle.position_m;
                Some(joystick.input([x / TRAVEL_M, -y / TRAVEL_M]))
            }
            Firmware::NativeBoard(board) => fault.and_then(|fault| in_report(board, &fault)),
        }
    }
}

fn in_report(board: &mut NativeBoard, message: &Message<'_>) -> Option<Vec<u8>> {
    encode_report(message, board.next_sequence()).ok().map(|report| report.to_vec())
}

fn on_wire(board: &mut NativeBoard, message: &Message<'_>) -> Vec<u8> {
    let mut wire = [0; WIRE_MAX];
    let length = encode(message, board.next_sequence(), &mut wire).unwrap_or(0);
    wire[..length].to_vec()
}
