//! An emulated USB device: firmware that receives and sends reports, and the handle moved by its motors.

use crate::direction::SharedDirector;
use crate::emergency_stop::StopButton;
use crate::force_feedback::ForceFeedback;
use crate::handle::EmulatedHandle;
use crate::interval::Interval;
use crate::native::{self, CobsStream, NativeFirmware, NativeTraits};
use crate::style::Style;
use haptic_device::xorshift::Xorshift;
use haptic_wire::report::{decode_report, encode_report};
use haptic_wire::{FULL_SCALE_Q15, Message};
use nalgebra::Vector2;

/// Travel of the handle on each side of the centre, m.
const TRAVEL_M: f64 = 0.05;
/// Period of the device clock, µs.
pub const STEP_US: u64 = 1000;

/// Firmware of an emulated USB device.
#[derive(Clone, Debug)]
pub enum Firmware {
    /// A joystick with force feedback, and its full-scale force, N.
    Joystick(ForceFeedback, f64),
    /// A board with the native protocol.
    Native(NativeFirmware),
}

/// An emulated USB device and the handle moved by its motors.
#[derive(Clone, Debug)]
pub struct Gadget {
    /// Firmware of the device.
    pub firmware: Firmware,
    /// Handle that the motors act on.
    pub handle: EmulatedHandle,
    /// Motor force in the last step, N, device frame (x to the right, y away from the user).
    pub force_n: [f64; 2],
    stream: CobsStream,
    advanced_us: Option<u64>,
    director: Option<SharedDirector>,
    pedals: Option<Jitter>,
}

/// Random movement of the axes without motors.
#[derive(Clone, Debug)]
struct Jitter {
    /// Fraction of the milliseconds in which they move.
    fraction: f64,
    random: Xorshift,
}

impl Gadget {
    /// Creates a joystick with force feedback. `room` is the number of effects it can store; the style gives the
    /// default.
    pub fn joystick(style: Style, room: Option<usize>, full_scale_n: f64, handle: EmulatedHandle) -> Self {
        Self::new(Firmware::Joystick(ForceFeedback::new(style, room), full_scale_n), handle)
    }

    /// Creates a board with the native protocol. The board has no slew limit, so every motor force is one that the host
    /// sent.
    pub fn board(full_scale_n: f64, handle: EmulatedHandle) -> Self {
        let traits = NativeTraits {
            full_scale_n,
            travel_m: TRAVEL_M,
            slew_q15_per_ms: FULL_SCALE_Q15,
            sees_link: false,
            ..NativeTraits::default()
        };
        Self::new(Firmware::Native(NativeFirmware::new(traits)), handle)
    }

    fn new(firmware: Firmware, handle: EmulatedHandle) -> Self {
        Self {
            firmware,
            handle,
            force_n: [0.0; 2],
            stream: CobsStream::default(),
            advanced_us: None,
            director: None,
            pedals: None,
        }
    }

    /// Moves the pedals of a joystick at random in this fraction of the milliseconds.
    #[must_use]
    pub fn with_moving_pedals(mut self, fraction: f64) -> Self {
        self.pedals = Some(Jitter { fraction, random: Xorshift::new(3) });
        self
    }

    /// Puts the device under a director.
    #[must_use]
    pub fn with_director(mut self, director: SharedDirector) -> Self {
        self.director = Some(director);
        self
    }

    /// Replaces the firmware, as a device that was without power does. The handle stays where it is.
    pub fn restart(&mut self, firmware: Firmware) {
        self.firmware = firmware;
        self.stream.reset();
    }

    /// Returns the report descriptor of a joystick, or of a board with the native protocol if `style` is `None`.
    pub fn descriptor(style: Option<&Style>) -> Vec<u8> {
        style.map_or_else(native::descriptor, Style::descriptor)
    }

    /// Plans presses of the emergency stop, in seconds after the first advance; a joystick has none.
    pub fn plan_stops(&mut self, stops: Vec<Interval>) {
        if let Firmware::Native(board) = &mut self.firmware {
            board.plan_stops(stops);
        }
    }

    /// Returns the button of the emergency stop; `None` for a joystick.
    pub fn stop_button(&self) -> Option<StopButton> {
        match &self.firmware {
            Firmware::Joystick(..) => None,
            Firmware::Native(board) => Some(board.stop_button()),
        }
    }

    /// Handles an output report, which starts with its id if it has one. Returns the replies.
    pub fn output(&mut self, report: &[u8], now_us: u64) -> Vec<Vec<u8>> {
        let Some(director) = self.director.clone() else { return self.take_output(report, now_us) };
        let arrived = director.lock().receive(report);
        let replies = arrived.map_or_else(Vec::new, |report| self.take_output(&report, now_us));
        replies.into_iter().flat_map(|reply| director.lock().transmit(reply)).collect()
    }

    fn take_output(&mut self, report: &[u8], now_us: u64) -> Vec<Vec<u8>> {
        match &mut self.firmware {
            Firmware::Joystick(joystick, _) => {
                joystick.output(report, now_us);
                Vec::new()
            }
            Firmware::Native(board) => {
                let Some(frame) = decode_report(report) else {
                    board.mistakes += 1;
                    return Vec::new();
                };
                let replies = board.receive(&frame, &self.handle.measured(), now_us);
                replies.iter().filter_map(|reply| in_report(board, reply)).collect()
            }
        }
    }

    /// Handles bytes from a serial line and returns the replies; a joystick ignores them.
    pub fn serial(&mut self, bytes: &[u8], now_us: u64) -> Vec<u8> {
        let Firmware::Native(board) = &mut self.firmware else { return Vec::new() };
        let mut replies = Vec::new();
        self.stream.receive(board, bytes, &self.handle.measured(), now_us, &mut replies);
        replies.concat()
    }

    /// Handles a feature report from the host; a board with the native protocol ignores it.
    pub fn set_feature(&mut self, report: &[u8], now_us: u64) {
        if let Firmware::Joystick(joystick, _) = &mut self.firmware {
            joystick.set_feature(report, now_us);
        }
    }

    /// Returns the feature report with this id; `None` if there is no such report.
    pub fn get_feature(&mut self, id: u8) -> Option<Vec<u8>> {
        match &mut self.firmware {
            Firmware::Joystick(joystick, _) => joystick.get_feature(id),
            Firmware::Native(_) => None,
        }
    }

    /// Advances the firmware to `now_us`, and the handle in whole milliseconds. Returns the input report to send, if
    /// any: a joystick's position, or a board's new fault.
    pub fn advance(&mut self, now_us: u64) -> Option<Vec<u8>> {
        self.step(now_us);
        let report = match &mut self.firmware {
            Firmware::Joystick(joystick, _) => {
                if let Some(Jitter { fraction, random }) = &mut self.pedals
                    && random.between(0.0, 1.0) < *fraction
                {
                    joystick.pedals = random.between(-1.0, 1.0);
                }
                let position = self.handle.encoder_m() / TRAVEL_M;
                joystick.input([position.x, -position.y], now_us)
            }
            Firmware::Native(board) => {
                let message = board.take_due(&self.handle.measured());
                message.and_then(|message| in_report(board, &message))
            }
        };
        // A report is sent once in a step, so it cannot be doubled.
        report.and_then(|report| match &self.director {
            Some(director) => director.lock().transmit(report).pop(),
            None => Some(report),
        })
    }

    /// Advances the firmware to `now_us`, and the handle in whole milliseconds. A board's new fault waits for the next
    /// answer.
    pub fn step(&mut self, now_us: u64) {
        let force_n = match &mut self.firmware {
            Firmware::Joystick(joystick, full_scale_n) => {
                let [x, y] = joystick.force(now_us);
                Vector2::new(x, -y) * *full_scale_n
            }
            Firmware::Native(board) => {
                board.advance(now_us);
                board.force_n()
            }
        };
        self.force_n = force_n.into();
        let advanced_us = self.advanced_us.get_or_insert(now_us);
        while *advanced_us + STEP_US <= now_us {
            *advanced_us += STEP_US;
            match &self.director {
                Some(director) => director.lock().advance(&mut self.handle, force_n),
                None => self.handle.advance(force_n),
            }
        }
    }
}

fn in_report(board: &mut NativeFirmware, message: &Message<'_>) -> Option<Vec<u8>> {
    encode_report(message, board.next_sequence()).ok().map(|report| report.to_vec())
}
