//! The board of a trial: an emulated board with a director, which moves the hand, disturbs board or host when the force
//! is steady, and records the motors from then on.

use super::disturbance::Disturbance;
use super::hand::HandMotion;
use crate::direction::Direct;
use crate::handle::EmulatedHandle;
use crate::planned_fault::ActiveFaults;
use crate::serial::Board;
use crate::serial::faults::{FaultyLine, LineFaults};
use haptic_realtime::clock::monotonic_ns;
use nalgebra::Vector2;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Time over which the force must be steady before the disturbance, ms.
const STEADY_MS: usize = 300;
/// Largest change of a steady force, as a fraction of it.
const STEADY_CHANGE: f64 = 0.02;
/// Smallest force that counts as pressing, as a fraction of the force that the hand is meant to press with.
const PRESSING: f64 = 0.7;
/// Time of the record after the disturbance has begun, ms.
pub const RECORD_MS: usize = 1900;

/// One millisecond after the disturbance has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Magnitude of the motor force on the handle, N.
    pub force_n: f64,
    /// Work of the motors on the handle since the disturbance began, J.
    pub work_j: f64,
}

/// What the board recorded.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Force just before the disturbance, N.
    pub force_before_n: f64,
    /// The milliseconds after the disturbance has begun.
    pub moments: Vec<Moment>,
    /// Time from the beginning of the disturbance until the motors were off for the first time, ns.
    pub off_after_ns: Option<u64>,
}

/// Flags and results shared by board and trial.
#[derive(Debug, Default)]
pub struct Signals {
    /// Set by the board when the force is steady.
    pub is_steady: AtomicBool,
    /// Set by the trial when everything is ready for the disturbance.
    pub may_begin: AtomicBool,
    /// Set by the board when the record is complete.
    pub is_complete: AtomicBool,
    /// Unplugs the board.
    pub unplug: Arc<AtomicBool>,
    /// The record.
    pub record: Mutex<Record>,
}

/// Does something to the host, at the given time since the disturbance began, ms. Called in every millisecond of the
/// disturbance and in the one after it.
pub type HostAction = Box<dyn FnMut(u32) + Send>;

/// Directs a trial from inside a board.
pub struct Director {
    disturbance: Disturbance,
    motion: HandMotion,
    press_n: f64,
    line: FaultyLine,
    act: HostAction,
    signals: Arc<Signals>,
    /// Milliseconds since the start of the board.
    time_ms: u64,
    /// The newest forces, oldest first.
    recent_n: VecDeque<f64>,
    /// Time on the host's clock, ns, and on the board's, ms, at which the disturbance began.
    onset: Option<(u64, u64)>,
    record: Record,
    position_m: Vector2<f64>,
    work_j: f64,
}

impl Director {
    /// Creates a director. `press_n` is the force with which the hand is meant to press.
    pub fn new(
        disturbance: Disturbance,
        motion: HandMotion,
        press_n: f64,
        act: HostAction,
        signals: Arc<Signals>,
    ) -> Self {
        Self {
            disturbance,
            motion,
            press_n,
            line: FaultyLine::new(LineFaults { seed: 1, ..LineFaults::default() }),
            act,
            signals,
            time_ms: 0,
            recent_n: VecDeque::new(),
            onset: None,
            record: Record::default(),
            position_m: Vector2::zeros(),
            work_j: 0.0,
        }
    }

    /// Begins a millisecond: moves the hand, and disturbs board and host.
    pub fn begin_tick(&mut self, handle: &mut EmulatedHandle) {
        if self.onset.is_none() {
            self.watch(handle.force_n().norm());
        }
        let since_onset_ms = self.since_onset_ms();
        if let Some(ms) = since_onset_ms {
            self.disturb(ms, handle);
        }
        handle.guide_hand(self.motion.target_m(handle.age_ms(), since_onset_ms));
        self.position_m = handle.true_state().position_m;
    }

    /// Ends a millisecond: adds it to the record.
    pub fn end_tick(&mut self, handle: &EmulatedHandle) {
        self.time_ms += 1;
        if self.onset.is_none() || self.signals.is_complete.load(Ordering::SeqCst) {
            return;
        }
        let force_n = handle.force_n();
        self.work_j += force_n.dot(&(handle.true_state().position_m - self.position_m));
        self.record.moments.push(Moment { force_n: force_n.norm(), work_j: self.work_j });
        if self.record.moments.len() == RECORD_MS {
            *self.signals.record.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.record);
            self.signals.is_complete.store(true, Ordering::SeqCst);
        }
    }

    /// Notes the time at which the motors are off for the first time after the disturbance has begun.
    pub fn note_motors(&mut self, are_off: bool) {
        if let Some((onset_ns, _)) = self.onset.filter(|_| are_off && self.record.off_after_ns.is_none()) {
            self.record.off_after_ns = Some(monotonic_ns() - onset_ns);
        }
    }

    fn since_onset_ms(&self) -> Option<u64> {
        self.onset.map(|(_, onset_ms)| self.time_ms - onset_ms)
    }

    /// Notes whether the force has been steady for long enough, and begins the disturbance if the trial is ready.
    fn watch(&mut self, force_n: f64) {
        self.recent_n.push_back(force_n);
        if self.recent_n.len() <= STEADY_MS {
            return;
        }
        self.recent_n.pop_front();
        let range_n = (f64::INFINITY, 0.0_f64);
        let (least_n, most_n) =
            self.recent_n.iter().fold(range_n, |(least_n, most_n), n| (least_n.min(*n), most_n.max(*n)));
        let is_steady = least_n > PRESSING * self.press_n && most_n - least_n < STEADY_CHANGE * most_n;
        self.signals.is_steady.fetch_or(is_steady, Ordering::SeqCst);
        if is_steady && self.signals.may_begin.load(Ordering::SeqCst) {
            self.record.force_before_n = force_n;
            self.onset = Some((monotonic_ns(), self.time_ms));
        }
    }

    fn disturb(&mut self, since_onset_ms: u64, handle: &mut EmulatedHandle) {
        let duration_ms = u64::from(self.disturbance.duration_ms());
        let is_over = since_onset_ms > 0 && since_onset_ms >= duration_ms;
        if let Disturbance::Fault(kind) = self.disturbance {
            let active: ActiveFaults = (!is_over).then_some(kind).into_iter().collect();
            self.line.set_faults(active);
            handle.set_faults(active);
        }
        if self.disturbance == Disturbance::Unplug {
            self.signals.unplug.store(!is_over, Ordering::SeqCst);
        }
        if since_onset_ms <= duration_ms {
            (self.act)(since_onset_ms as u32);
        }
    }
}

impl Direct for Director {
    fn receive(&mut self, report: &[u8]) -> Option<Vec<u8>> {
        self.line.receive(report.to_vec())
    }

    fn transmit(&mut self, report: Vec<u8>) -> Vec<Vec<u8>> {
        self.line.hold(report, 0);
        std::iter::from_fn(|| self.line.due(0)).collect()
    }

    fn advance(&mut self, handle: &mut EmulatedHandle, force_n: Vector2<f64>) {
        self.begin_tick(handle);
        handle.advance(force_n);
        self.note_motors(force_n == Vector2::zeros());
        self.end_tick(handle);
    }
}

/// A board on a serial line, with its director.
pub struct Subject {
    board: Box<dyn Board>,
    director: Director,
}

impl Subject {
    /// Puts a board under a director.
    pub fn new(board: Box<dyn Board>, director: Director) -> Self {
        Self { board, director }
    }

    fn note_motors(&mut self) {
        self.director.note_motors(self.board.force_n() == Vector2::zeros());
    }

    fn transmit(&mut self, answers: Vec<Vec<u8>>, out: &mut Vec<Vec<u8>>) {
        answers.into_iter().for_each(|answer| out.extend(self.director.transmit(answer)));
    }
}

impl Board for Subject {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let mut answers = Vec::new();
        if let Some(bytes) = self.director.receive(bytes) {
            self.board.receive(&bytes, &mut answers);
        }
        self.transmit(answers, out);
        self.note_motors();
    }

    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.director.begin_tick(self.board.handle_mut());
        let mut answers = Vec::new();
        self.board.tick(&mut answers);
        self.transmit(answers, out);
        self.note_motors();
        self.director.end_tick(self.board.handle());
    }

    fn host_left(&mut self) {
        self.board.host_left();
        self.note_motors();
    }

    fn unplugged(&mut self) {
        self.board.unplugged();
        self.note_motors();
    }

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
