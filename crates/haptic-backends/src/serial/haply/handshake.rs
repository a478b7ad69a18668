//! Handshake with a Haply 2diy. The first handshake flushes the line, sets up the board and writes zero torque until
//! the board answers. Later handshakes realign the board and write zero torque; a board that has lost its angles is
//! rejected.

use super::message::{AnswerFinder, flush, realign, setup, write};
use super::receive::HaplyReceiveHalf;
use super::transmit::HaplyTransmitHalf;
use super::{HAPLY_2DIY, HaplyVariant};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, HandshakeError, OpenSession, Step};
use haptic_device::{Identity, Limits, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

const MILLISECOND_NS: u64 = 1_000_000;
/// Wait after a message that the board does not acknowledge, ns.
const SETTLE_NS: u64 = 20 * MILLISECOND_NS;
/// Interval between repetitions of a request, ns.
const REPEAT_NS: u64 = 60 * MILLISECOND_NS;
/// Number of unanswered requests after which the handshake starts over.
const QUESTIONS: u32 = 3;
const WITHIN_S: u64 = 5;
/// Maximum permitted deviation of a joint from its home angle right after setup, degrees.
const HOME_TOLERANCE_DEG: f32 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Flush,
    Setup,
    Realign,
    Ask(u32),
}

/// Handshake of one session, up to the board's first answer.
pub struct HaplyHandshake {
    variant: HaplyVariant,
    monitor: Arc<LinkMonitor>,
    stage: Stage,
    /// Earliest time of the next message.
    next_at: MonotonicNs,
    deadline: MonotonicNs,
    finder: AnswerFinder,
    bytes_heard: usize,
    answer_deg: Option<[f32; 2]>,
    /// Whether the board was already set up and must have kept its angles.
    keeps_angles: bool,
}

impl HaplyHandshake {
    /// Creates a handshake that starts at `now`. With `keeps_angles`, the board is not set up and must report the
    /// angles it has kept.
    pub fn new(variant: HaplyVariant, monitor: Arc<LinkMonitor>, keeps_angles: bool, now: MonotonicNs) -> Self {
        Self {
            variant,
            monitor,
            stage: Self::first_stage(keeps_angles),
            next_at: now,
            deadline: now.after(WITHIN_S * 1000 * MILLISECOND_NS),
            finder: AnswerFinder::default(),
            bytes_heard: 0,
            answer_deg: None,
            keeps_angles,
        }
    }

    fn say(&mut self, now: MonotonicNs) -> Step {
        let (words, wait_ns, next) = match self.stage {
            Stage::Flush => (flush(), SETTLE_NS, Stage::Setup),
            Stage::Setup => (setup(&self.variant), SETTLE_NS, Stage::Ask(0)),
            Stage::Realign => (realign(), SETTLE_NS, Stage::Ask(0)),
            Stage::Ask(count) => (write(&self.variant, [0.0; 2]), REPEAT_NS, self.after_question(count)),
        };
        // Earlier bytes belong to another request, and fragments of several answers must not be combined into one.
        (self.finder, self.answer_deg) = (AnswerFinder::default(), None);
        (self.stage, self.next_at) = (next, now.after(wait_ns));
        Step::Send(words)
    }

    fn after_question(&self, count: u32) -> Stage {
        if count + 1 < QUESTIONS { Stage::Ask(count + 1) } else { Self::first_stage(self.keeps_angles) }
    }

    fn first_stage(keeps_angles: bool) -> Stage {
        if keeps_angles { Stage::Realign } else { Stage::Flush }
    }

    fn conclude(&self, answer_deg: [f32; 2]) -> Step {
        let home_deg = self.variant.home_deg;
        let is_home = (0..2).all(|joint| (answer_deg[joint] - home_deg[joint]).abs() <= HOME_TOLERANCE_DEG);
        if !self.keeps_angles && !is_home {
            let whole = |degrees: [f32; 2]| (degrees[0].round() as i32, degrees[1].round() as i32);
            return Step::Failed(HandshakeError::NotHome { found_deg: whole(answer_deg), home_deg: whole(home_deg) });
        }
        let (variant, monitor) = (self.variant, &self.monitor);
        Step::Done(Box::new(OpenSession {
            identity: identity(&variant),
            limits: limits(&variant),
            transmit: Box::new(HaplyTransmitHalf::new(variant, Arc::clone(monitor))),
            receive: Box::new(HaplyReceiveHalf::new(variant, Arc::clone(monitor))),
        }))
    }

    fn give_up(&self) -> HandshakeError {
        match self.bytes_heard {
            0 => HandshakeError::Silent { within_s: WITHIN_S },
            // A board that was reset has no angles to send.
            _ if self.keeps_angles => HandshakeError::PositionLost,
            bytes => HandshakeError::NotUnderstood { bytes, expected: "like a Haply 2diy" },
        }
    }
}

impl Handshake for HaplyHandshake {
    fn receive(&mut self, bytes: &[u8], _now: MonotonicNs) {
        self.bytes_heard += bytes.len();
        for &byte in bytes {
            if let Some(degrees) = self.finder.push(byte, &self.variant) {
                self.answer_deg = Some(degrees);
            }
        }
    }

    fn step(&mut self, now: MonotonicNs) -> Step {
        match self.answer_deg {
            // Only the answer to a request counts, not bytes that arrive during setup. `stage` is already the next
            // stage.
            Some(answer_deg) if matches!(self.stage, Stage::Ask(1..) | Stage::Flush | Stage::Realign) => {
                self.conclude(answer_deg)
            }
            _ if now >= self.deadline => Step::Failed(self.give_up()),
            _ if now < self.next_at => Step::Wait { until: self.next_at },
            _ => self.say(now),
        }
    }
}

fn identity(variant: &HaplyVariant) -> Identity {
    let name = variant.name.to_owned();
    Identity { name, kind: &HAPLY_2DIY, serial_number: String::new(), firmware: String::new(), axes: 2 }
}

fn limits(variant: &HaplyVariant) -> Limits {
    let reach_m = variant.linkage.upper_link_m + variant.linkage.lower_link_m;
    Limits {
        max_force_n: variant.max_force_n(),
        travel_min_m: Vector2::new(variant.linkage.base_m - reach_m, 0.0),
        travel_max_m: Vector2::new(reach_m, reach_m),
        rate_hz: 1000.0,
    }
}
