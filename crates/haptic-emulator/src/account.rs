//! What a device saw of its host: counted while it runs, told at the end.

use crate::gadget::{Firmware, Gadget};
use serde::Serialize;
use std::io::Write;

/// One quadrant of the plane, by the signs of x and y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quadrant {
    /// Signs of x and y.
    pub signs: [i8; 2],
    /// Samples with the handle well beyond both walls of this quadrant.
    pub samples: u64,
    /// Of those, samples whose force does not push back on both axes.
    pub wrong: u64,
    /// Mean force, N.
    pub mean_force_n: [f64; 2],
}

/// The whole account; the names are those of the JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Account {
    /// Steps of a millisecond.
    pub steps: u64,
    /// Mistakes of the host.
    pub mistakes: u64,
    /// The first of them.
    pub mistake_texts: Vec<String>,
    /// Forces or commands taken.
    pub taken: u64,
    /// Commands that never arrived, where they are numbered.
    pub lost: u64,
    /// Input reports sent.
    pub inputs: u64,
    /// Longest time that a force acted after the last word of the host, ms.
    pub force_outlives_host_ms: f64,
    /// Largest force on an axis, N.
    pub force_max_n: f64,
    /// Force at the end, N.
    pub force_end_n: [f64; 2],
    /// What happened in each quadrant.
    pub quadrants: [Quadrant; 4],
    /// From the last word of the host to the end of a force that ran out of time, ms.
    pub expired_after_ms: Option<f64>,
}

/// Keeps the account of a gadget.
pub struct Accountant {
    account: Account,
    wall_m: f64,
    sums_n: [[f64; 2]; 4],
    heard_us: u64,
    log: Option<Box<dyn Write + Send>>,
}

/// How far beyond a wall a handle must be for its force to be judged, m: past the onset of contact.
const WELL_BEYOND_M: f64 = 0.002;
/// Forces below this do not count as pushing, N.
const LEAST_PUSH_N: f64 = 0.05;

impl Accountant {
    /// An account of a room whose walls are so far from the middle; each step is logged if there is a log.
    pub fn new(wall_m: f64, mut log: Option<Box<dyn Write + Send>>) -> Self {
        if let Some(log) = &mut log {
            let _ = writeln!(log, "t_us,x_m,y_m,force_x_n,force_y_n");
        }
        let signs = [[1, 1], [-1, 1], [-1, -1], [1, -1]];
        let account =
            Account { quadrants: signs.map(|signs| Quadrant { signs, ..Quadrant::default() }), ..Account::default() };
        Self { account, wall_m, sums_n: [[0.0; 2]; 4], heard_us: 0, log }
    }

    /// Takes note of a step.
    pub fn step(&mut self, gadget: &Gadget, now_us: u64) {
        let ([x, y], [force_x, force_y]) = (gadget.handle.position_m, gadget.force_n);
        self.account.steps += 1;
        self.account.force_max_n = self.account.force_max_n.max(force_x.abs()).max(force_y.abs());
        self.judge_quadrant([x, y], [force_x, force_y]);
        self.judge_silence(gadget, now_us);
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{now_us},{x:.7},{y:.7},{force_x:.6},{force_y:.6}");
        }
    }

    fn judge_quadrant(&mut self, position_m: [f64; 2], force_n: [f64; 2]) {
        let beyond_m = self.wall_m + WELL_BEYOND_M;
        if position_m.iter().any(|position| position.abs() < beyond_m) {
            return;
        }
        let signs = position_m.map(|position| if position > 0.0 { 1i8 } else { -1 });
        let Some(index) = self.account.quadrants.iter().position(|quadrant| quadrant.signs == signs) else { return };
        let pushes_back = [0, 1].iter().all(|axis| force_n[*axis] * f64::from(signs[*axis]) < -LEAST_PUSH_N);
        let quadrant = &mut self.account.quadrants[index];
        quadrant.samples += 1;
        quadrant.wrong += u64::from(!pushes_back);
        [0, 1].iter().for_each(|axis| self.sums_n[index][*axis] += force_n[*axis]);
    }

    fn judge_silence(&mut self, gadget: &Gadget, now_us: u64) {
        let heard_us = match &gadget.firmware {
            Firmware::Joystick(joystick, _) => joystick.heard_us,
            Firmware::Board(board) => board.heard_us,
        };
        self.heard_us = heard_us.unwrap_or(self.heard_us);
        if gadget.force_n != [0.0; 2] {
            let silence_ms = now_us.saturating_sub(self.heard_us) as f64 * 1e-3;
            self.account.force_outlives_host_ms = self.account.force_outlives_host_ms.max(silence_ms);
        }
    }

    /// An input report went out.
    pub fn sent(&mut self) {
        self.account.inputs += 1;
    }

    /// The account so far.
    pub fn conclude(&mut self, gadget: &Gadget) -> Account {
        let mut account = self.account.clone();
        for (quadrant, sum_n) in account.quadrants.iter_mut().zip(self.sums_n) {
            quadrant.mean_force_n = sum_n.map(|sum| sum / (quadrant.samples.max(1) as f64));
        }
        account.force_end_n = gadget.force_n;
        let expired_us = match &gadget.firmware {
            Firmware::Joystick(joystick, _) => {
                let (count, texts) = joystick.mistakes();
                account.mistakes = count;
                account.mistake_texts =
                    texts.iter().map(|mistake| format!("{} µs: {}", mistake.at_us, mistake.what)).collect();
                account.taken = joystick.forces_taken;
                joystick.expired_us
            }
            Firmware::Board(board) => {
                (account.mistakes, account.taken, account.lost) =
                    (board.mistakes, board.commands_taken, board.commands_lost);
                board.expired_us
            }
        };
        account.expired_after_ms = expired_us.map(|at_us| at_us.saturating_sub(self.heard_us) as f64 * 1e-3);
        if let Some(log) = &mut self.log {
            let _ = log.flush();
        }
        account
    }
}
