//! Audit of the host by an emulated device: counters during the run and a summary at the end.

use crate::gadget::{Firmware, Gadget};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::Write;

/// Audit of the forces in one quadrant around the post at the centre of the test scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quadrant {
    /// Signs of x and y in this quadrant.
    pub signs: [i8; 2],
    /// Number of samples in this quadrant where the tool overlaps the post by more than 2 mm.
    pub samples: u64,
    /// Number of these samples without a force away from the centre of the post.
    pub wrong: u64,
    /// Mean force over these samples, N, device frame.
    pub mean_force_n: [f64; 2],
    /// Largest angle between the force and the direction away from the centre over these samples, degrees.
    pub angle_max_deg: f64,
}

/// Audit of one session, from the connection of the device to its disconnection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlugSession {
    /// Number of forces (joystick) or commands (native board) received.
    pub taken: u64,
    /// Number of commands lost, according to their sequence numbers; zero for a joystick, whose reports are not
    /// numbered.
    pub lost: u64,
    /// Number of protocol violations by the host.
    pub mistakes: u64,
    /// Largest magnitude of the force on any axis, N.
    pub force_max_n: f64,
    /// Force on each axis at disconnection, N.
    pub force_end_n: [f64; 2],
    /// Time from connection to the first force, ms.
    pub first_force_after_ms: Option<f64>,
    /// Time from the host's last output report (joystick) or command (native board) to the expiry of the force, ms;
    /// `None` if no force expired.
    pub expired_after_ms: Option<f64>,
}

/// Result of an audit over all sessions. The JSON output has the same field names.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostAudit {
    /// Number of steps of the device, 1 ms each.
    pub steps: u64,
    /// Number of protocol violations by the host.
    pub mistakes: u64,
    /// Descriptions of the first violations of each session; joysticks only.
    pub mistake_texts: Vec<String>,
    /// Number of commands lost, according to their sequence numbers; zero for a joystick, whose reports are not
    /// numbered.
    pub lost: u64,
    /// Largest number of forces or commands received within one second.
    pub taken_in_busiest_s: u64,
    /// Number of input reports sent.
    pub inputs: u64,
    /// Longest time that a force still acted after the host's last output report (joystick) or command (native board),
    /// ms.
    pub force_outlives_host_ms: f64,
    /// Audit of the forces in each quadrant.
    pub quadrants: [Quadrant; 4],
    /// Audit of each session, in order.
    pub lives: Vec<PlugSession>,
}

/// Audits the host by observing every step of a gadget.
pub struct HostAuditor {
    account: HostAudit,
    life: PlugSession,
    born_us: Option<u64>,
    sums_n: [[f64; 2]; 4],
    /// Position, m, and force, N, of the last steps in which the host drove the motors, oldest first, at most
    /// [`ENDING_STEPS`].
    unjudged: VecDeque<([f64; 2], [f64; 2])>,
    heard_us: u64,
    /// Forces or commands received before the current second.
    taken_before: u64,
    log: Option<Box<dyn Write + Send>>,
}

/// Distance between the centres of tool and post at which they touch, in the scene of the test guest, m.
const TOUCH_M: f64 = 0.015;
/// Penetration above which the force is checked, m. Below it, contact has only just begun.
const WELL_INSIDE_M: f64 = 0.002;
/// Distance from an axis below which a position is in no quadrant, m.
const BESIDE_AXIS_M: f64 = 0.001;
/// Minimum force away from the centre that counts as a push, N.
const LEAST_PUSH_N: f64 = 0.1;
/// Forces are not checked in this many steps before the host ends the effects. It ends the two axes one after the
/// other, each with a report for the level and one for the end of the effect, and a report takes a millisecond or two.
const ENDING_STEPS: usize = 10;
const STEPS_A_SECOND: u64 = 1000;

impl HostAuditor {
    /// Creates an auditor before the first step. Writes each step as a CSV row to `log`, if there is one.
    pub fn new(mut log: Option<Box<dyn Write + Send>>) -> Self {
        if let Some(log) = &mut log {
            let _ = writeln!(log, "t_us,x_m,y_m,force_x_n,force_y_n");
        }
        let signs = [[1, 1], [-1, 1], [-1, -1], [1, -1]];
        let account = HostAudit {
            quadrants: signs.map(|signs| Quadrant { signs, ..Quadrant::default() }),
            ..HostAudit::default()
        };
        let sums_n = [[0.0; 2]; 4];
        Self {
            account,
            life: PlugSession::default(),
            born_us: None,
            sums_n,
            unjudged: VecDeque::new(),
            heard_us: 0,
            taken_before: 0,
            log,
        }
    }

    /// Adds a step of the gadget to the audit.
    pub fn step(&mut self, gadget: &Gadget, now_us: u64) {
        let ([x, y], [force_x, force_y]) = (gadget.handle.encoder_m().into(), gadget.force_n);
        self.account.steps += 1;
        let born_us = *self.born_us.get_or_insert(now_us);
        if gadget.force_n != [0.0; 2] && self.life.first_force_after_ms.is_none() {
            self.life.first_force_after_ms = Some(milliseconds(born_us, now_us));
        }
        self.life.force_max_n = self.life.force_max_n.max(force_x.abs()).max(force_y.abs());
        self.note_push(gadget.firmware.is_driven(), [x, y], [force_x, force_y]);
        self.judge_silence(gadget, now_us);
        if self.account.steps.is_multiple_of(STEPS_A_SECOND) {
            self.end_second(gadget.firmware.taken());
        }
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{now_us},{x:.7},{y:.7},{force_x:.6},{force_y:.6}");
        }
    }

    fn end_second(&mut self, taken: u64) {
        let in_second = taken.saturating_sub(self.taken_before);
        self.account.taken_in_busiest_s = self.account.taken_in_busiest_s.max(in_second);
        self.taken_before = taken;
    }

    /// Checks the sample of [`ENDING_STEPS`] steps ago, if the host has driven the motors since then. The samples just
    /// before the end of the effects are dropped, because the force ends one axis after the other, and on the last axis
    /// before its effect: their forces belong to no position.
    fn note_push(&mut self, is_driven: bool, position_m: [f64; 2], force_n: [f64; 2]) {
        if !is_driven {
            return self.unjudged.clear();
        }
        self.unjudged.push_back((position_m, force_n));
        if self.unjudged.len() > ENDING_STEPS
            && let Some((position_m, force_n)) = self.unjudged.pop_front()
        {
            self.judge_quadrant(position_m, force_n);
        }
    }

    fn judge_quadrant(&mut self, position_m: [f64; 2], force_n: [f64; 2]) {
        let [x, y] = position_m;
        let is_inside = libm::hypot(x, y) < TOUCH_M - WELL_INSIDE_M;
        if !is_inside || position_m.iter().any(|position| position.abs() < BESIDE_AXIS_M) {
            return;
        }
        let signs = position_m.map(|position| if position > 0.0 { 1i8 } else { -1 });
        let Some(index) = self.account.quadrants.iter().position(|quadrant| quadrant.signs == signs) else { return };
        let angle_deg = angle_deg(position_m, force_n);
        let pushes_away = libm::hypot(force_n[0], force_n[1]) > LEAST_PUSH_N && angle_deg < 90.0;
        let quadrant = &mut self.account.quadrants[index];
        quadrant.samples += 1;
        quadrant.wrong += u64::from(!pushes_away);
        quadrant.angle_max_deg = quadrant.angle_max_deg.max(angle_deg);
        [0, 1].iter().for_each(|axis| self.sums_n[index][*axis] += force_n[*axis]);
    }

    fn judge_silence(&mut self, gadget: &Gadget, now_us: u64) {
        self.heard_us = gadget.firmware.heard_us().unwrap_or(self.heard_us);
        if gadget.force_n != [0.0; 2] {
            let silence_ms = milliseconds(self.heard_us, now_us);
            self.account.force_outlives_host_ms = self.account.force_outlives_host_ms.max(silence_ms);
        }
    }

    /// Counts an input report that was sent to the host.
    pub fn sent(&mut self) {
        self.account.inputs += 1;
    }

    /// Ends the current session and stores its counts. Does nothing if the gadget has not been stepped since the
    /// previous session.
    pub fn end_life(&mut self, gadget: &Gadget) {
        if self.born_us.take().is_none() {
            return;
        }
        self.unjudged.clear();
        let mut life = std::mem::take(&mut self.life);
        let firmware = &gadget.firmware;
        let texts = firmware.mistake_texts();
        (life.taken, life.lost, life.mistakes) = (firmware.taken(), firmware.lost(), firmware.mistakes());
        life.expired_after_ms = firmware.expired_us().map(|at_us| milliseconds(self.heard_us, at_us));
        life.force_end_n = gadget.force_n;
        self.account.mistakes += life.mistakes;
        self.account.lost += life.lost;
        self.account.mistake_texts.extend(texts);
        self.account.lives.push(life);
        self.taken_before = 0;
    }

    /// Ends the current session and returns the audit.
    pub fn conclude(&mut self, gadget: &Gadget) -> HostAudit {
        self.end_life(gadget);
        let mut account = self.account.clone();
        for (quadrant, sum_n) in account.quadrants.iter_mut().zip(self.sums_n) {
            quadrant.mean_force_n = sum_n.map(|sum| sum / (quadrant.samples.max(1) as f64));
        }
        if let Some(log) = &mut self.log {
            let _ = log.flush();
        }
        account
    }
}

fn milliseconds(from_us: u64, to_us: u64) -> f64 {
    to_us.saturating_sub(from_us) as f64 * 1e-3
}

/// Angle between two vectors, degrees; 180 if one of them is zero.
fn angle_deg(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dot, cross) = (a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]);
    if dot == 0.0 && cross == 0.0 { 180.0 } else { libm::atan2(cross, dot).abs().to_degrees() }
}

impl Firmware {
    /// Number of forces (joystick) or commands (native board) received.
    fn taken(&self) -> u64 {
        match self {
            Self::Joystick(joystick, _) => joystick.forces_taken,
            Self::Native(board) => board.commands_taken,
        }
    }

    /// Number of commands lost; zero for a joystick.
    fn lost(&self) -> u64 {
        match self {
            Self::Joystick(..) => 0,
            Self::Native(board) => board.commands_lost,
        }
    }

    /// Whether the host is driving the motors: an effect is playing, or the board is armed and has received a command.
    /// A force is expected only then.
    fn is_driven(&self) -> bool {
        match self {
            Self::Joystick(joystick, _) => joystick.plays(),
            Self::Native(board) => board.is_driven(),
        }
    }

    fn mistakes(&self) -> u64 {
        match self {
            Self::Joystick(joystick, _) => joystick.mistakes().0,
            Self::Native(board) => board.mistakes,
        }
    }

    fn mistake_texts(&self) -> Vec<String> {
        let Self::Joystick(joystick, _) = self else { return Vec::new() };
        joystick.mistakes().1.iter().map(|mistake| format!("{} µs: {}", mistake.at_us, mistake.what)).collect()
    }

    fn heard_us(&self) -> Option<u64> {
        match self {
            Self::Joystick(joystick, _) => joystick.heard_us,
            Self::Native(board) => board.commanded_us,
        }
    }

    fn expired_us(&self) -> Option<u64> {
        match self {
            Self::Joystick(joystick, _) => joystick.expired_us,
            Self::Native(board) => board.expired_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A position well inside the post in the fourth quadrant, m.
    const INSIDE_M: [f64; 2] = [0.006, -0.006];
    /// A force away from the post there, N.
    const PUSH_N: [f64; 2] = [1.0, -1.0];

    /// Audits a push of 50 steps followed by `then`, of which each step tells whether the host drives the motors, and
    /// the force. Returns the number of samples and of wrong ones.
    fn audit_after_push(then: &[(bool, [f64; 2])]) -> (u64, u64) {
        let mut auditor = HostAuditor::new(None);
        for (is_driven, force_n) in [(true, PUSH_N); 50].iter().chain(then) {
            auditor.note_push(*is_driven, INSIDE_M, *force_n);
        }
        let quadrant = auditor.account.quadrants[3];
        (quadrant.samples, quadrant.wrong)
    }

    #[test]
    fn the_end_of_a_force_one_axis_after_the_other_is_not_checked() {
        let end = [(true, [0.0, -1.0]), (true, [0.0, -1.0]), (true, [0.0; 2]), (true, [0.0; 2]), (false, [0.0; 2])];
        assert_eq!(audit_after_push(&end), (44, 0));
    }

    #[test]
    fn a_single_missing_or_reversed_force_while_the_host_drives_the_motors_is_wrong() {
        for wrong_n in [[0.0; 2], [-1.0, 1.0]] {
            let mut then = vec![(true, wrong_n)];
            then.extend([(true, PUSH_N); ENDING_STEPS]);
            assert_eq!(audit_after_push(&then), (51, 1), "{wrong_n:?}");
        }
    }

    #[test]
    fn a_force_that_ends_long_before_its_effect_is_wrong() {
        let mut then = vec![(true, [0.0; 2]); 2 * ENDING_STEPS];
        then.push((false, [0.0; 2]));
        assert_eq!(audit_after_push(&then), (60, 10));
    }
}
