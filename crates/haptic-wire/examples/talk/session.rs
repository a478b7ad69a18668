//! Session with a board on an open port: handshake, requests, messages.

use haptic_wire::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    time::{Duration, Instant},
};

const NONCE: u32 = 0x5EED_0001;
/// Reply timeout, long enough that a missing reply has been lost rather than delayed by a busy machine.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for repeating a request. It includes the time that a bootloader takes to start the firmware.
const BOOT_TIMEOUT: Duration = Duration::from_secs(5);

/// A result whose error is a text for the user.
pub type Outcome<T> = Result<T, String>;

/// A board on an open port, with bytes that have been received but not decoded yet.
pub struct Board {
    port: File,
    pub decoder: Decoder,
    sequence: u8,
    unread: Vec<u8>,
}

impl Board {
    pub fn open(path: &str) -> Outcome<Self> {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path);
        let port = opened.map_err(|error| format!("cannot open {path}: {error}"))?;
        Ok(Self { port, decoder: Decoder::new(), sequence: 0, unread: Vec::new() })
    }

    pub fn send(&mut self, message: &Message<'_>) -> Outcome<u8> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let mut wire = [0; WIRE_MAX];
        let length = encode(message, sequence, &mut wire).map_err(|error| error.to_string())?;
        self.port.write_all(&wire[..length]).map_err(|error| format!("cannot write: {error}"))?;
        Ok(sequence)
    }

    /// Waits for the first message that `wanted` accepts. Returns `None` after a timeout.
    pub fn wait_for<T>(&mut self, within: Duration, wanted: impl Fn(&Message<'_>) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(found) = self.next_wanted(&wanted) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            self.read_for(left);
        }
    }

    fn next_wanted<T>(&mut self, wanted: &impl Fn(&Message<'_>) -> Option<T>) -> Option<T> {
        let decoder = &mut self.decoder;
        let mut used = 0;
        let found = self.unread.iter().find_map(|byte| {
            used += 1;
            decoder.push(*byte).and_then(|frame| Message::parse(&frame).ok()).and_then(|message| wanted(&message))
        });
        self.unread.drain(..used);
        found
    }

    fn read_for(&mut self, within: Duration) {
        let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&self.port, PollFlags::IN)], Some(&timeout));
        let mut bytes = [0; 256];
        if let (Ok(1..), Ok(count)) = (ready, self.port.read(&mut bytes)) {
            self.unread.extend_from_slice(&bytes[..count]);
        }
    }

    /// Repeats a message until a reply arrives. The specification permits this for HELLO, AXIS_INFO and ARM.
    pub fn request<T>(&mut self, message: &Message<'_>, wanted: impl Fn(&Message<'_>) -> Option<T>) -> Outcome<T> {
        let deadline = Instant::now() + BOOT_TIMEOUT;
        while Instant::now() < deadline {
            self.send(message)?;
            if let Some(reply) = self.wait_for(REPLY_TIMEOUT, &wanted) {
                return Ok(reply);
            }
        }
        Err(format!("no reply to {:?} within {BOOT_TIMEOUT:?}", message.kind()))
    }
}

pub fn open_session(board: &mut Board) -> Outcome<HelloAck> {
    let flush = board.port.write_all(&[0]);
    flush.map_err(|error| format!("cannot write: {error}"))?;
    board.request(&Message::Hello(Hello { version: VERSION, nonce: NONCE }), |message| match message {
        Message::HelloAck(reply) if reply.nonce == NONCE => Some(*reply),
        _ => None,
    })
}

pub fn describe_axes(board: &mut Board, axes: u8) -> Outcome<()> {
    for index in 0..axes {
        let info = board.request(&Message::AxisInfoRequest(AxisInfoRequest { index }), |message| match message {
            Message::AxisInfo(info) if info.index == index => Some(*info),
            _ => None,
        })?;
        let (min, max) = (info.units_from_counts(info.range.0), info.units_from_counts(info.range.1));
        println!("axis {index}: {:?}, {min:.4} to {max:.4}, full scale {:.3}", info.kind, info.full_scale());
    }
    Ok(())
}

pub fn per_axis<T: Copy + Default>(axes: u8, value: T) -> PerAxis<T> {
    if axes == 1 { PerAxis::one(value) } else { PerAxis::two(value, value) }
}

pub fn request_arm(axes: u8, watchdog_ms: u16) -> Arm {
    let limits_q15 = per_axis(axes, FULL_SCALE_Q15 / 2);
    Arm { nonce: NONCE, watchdog_ms, limits_q15, slew_q15_per_ms: 0 }
}

pub fn arm(board: &mut Board, axes: u8, watchdog_ms: u16) -> Outcome<Arm> {
    let arm = request_arm(axes, watchdog_ms);
    let wrong = Message::Arm(Arm { nonce: !NONCE, ..arm });
    board.request(&wrong, |message| match message {
        Message::Fault(fault) if fault.code == FaultCode::NonceMismatch => Some(()),
        _ => None,
    })?;
    board.request(&Message::Arm(arm), |message| match message {
        Message::ArmAck(arm) => Some(*arm),
        _ => None,
    })
}
