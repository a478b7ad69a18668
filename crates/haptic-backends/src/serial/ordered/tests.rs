//! Simulated lines in virtual time: answers are lost, come twice or late, and stall.

use super::*;
use crate::serial::in_flight_limit::InFlightLimit;
use haptic_device::Effort;
use haptic_testing::Random;
use nalgebra::Vector2;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
/// Step of the simulation, ns.
const STEP_NS: u64 = MS / 20;
/// Age at which a reading is stale, ns (`stale_after_s`).
const STALE_NS: u64 = 5 * MS;

/// What happens to the exchanges on a line.
#[derive(Clone, Default)]
struct Line {
    /// Fraction of exchanges lost.
    lost: f64,
    /// Fraction of answers that come twice.
    doubled: f64,
    /// Largest delay of an answer, ns. Answers keep their order.
    late_ns: u64,
    /// Time, ns, in which every exchange is lost.
    cut: (u64, u64),
    /// Time, ns, in which answers are kept back. They arrive together at its end.
    stall: (u64, u64),
    /// Time, ns, in which the host does not run. The board answers a stop frame in every 5 ms after the first 100.
    host_stall: (u64, u64),
}

/// Result of a run.
#[derive(Default, Debug)]
struct Outcome {
    /// Number of ticks without a reading to compute a force from.
    stale: usize,
    /// Number of samples that seemed younger than they were, and the largest error, ns.
    younger: (u32, u64),
    /// Last tick without a reading.
    last_stale: u64,
    lost: u64,
}

/// An answer in transit: time of arrival and time at which the board sampled.
type Answer = (u64, u64);

struct Run {
    line: Line,
    random: Random,
    on_the_way: VecDeque<Answer>,
    commands: OrderedCommands,
    answers: OrderedAnswers,
    limit: InFlightLimit,
    /// Times at which the newest sample was taken, at the earliest, and was read by the tick.
    newest: Option<u64>,
    read: Option<(u64, u64)>,
    outcome: Outcome,
}

impl Run {
    fn new(line: &Line) -> Self {
        let monitor = Arc::new(LinkMonitor::default());
        Self {
            line: line.clone(),
            random: Random(5),
            on_the_way: VecDeque::new(),
            commands: OrderedCommands::new(Arc::clone(&monitor)),
            answers: OrderedAnswers::new(monitor),
            limit: InFlightLimit::new(),
            newest: None,
            read: None,
            outcome: Outcome::default(),
        }
    }

    fn run(mut self, seconds: f64) -> Outcome {
        for step in 1..(seconds * 1e9) as u64 / STEP_NS {
            let now = step * STEP_NS;
            if (self.line.host_stall.0..self.line.host_stall.1).contains(&now) {
                self.send_stop_frame(now);
                continue;
            }
            self.receive(now);
            if now.is_multiple_of(MS) {
                self.tick(now);
            }
        }
        self.outcome.lost = self.answers.monitor.statistics(1000.0).frames_lost;
        self.outcome
    }

    fn send_stop_frame(&mut self, now: u64) {
        if now >= self.line.host_stall.0 + 100 * MS && now.is_multiple_of(5 * MS) {
            self.answer(now);
        }
    }

    fn receive(&mut self, now: u64) {
        let is_due = self.answers.wake_at().is_some_and(|at| at.0 <= now) || now.is_multiple_of(10 * MS);
        let arrived = self.on_the_way.iter().take_while(|(at, _)| *at <= now).count();
        if !is_due && arrived == 0 {
            return;
        }
        self.answers.on_wake(MonotonicNs(now));
        let mut newest = None;
        for (_, sampled) in self.on_the_way.drain(..arrived).collect::<Vec<_>>() {
            newest = self.answers.on_answer(MonotonicNs(now)).map(|sent_at| (sent_at.0, sampled)).or(newest);
        }
        if let Some((taken, sampled)) = newest.filter(|_| !self.answers.is_discarding()) {
            let (count, most) = self.outcome.younger;
            let younger = taken.saturating_sub(sampled);
            self.outcome.younger = (count + u32::from(younger > 0), most.max(younger));
            self.newest = Some(taken);
        }
    }

    fn tick(&mut self, now: u64) {
        if let Some(taken) = self.newest.take() {
            self.read = Some((taken, now));
        }
        // As the loop judges it: by the age of a new sample, then by the time since that tick.
        let is_good = self.read.is_some_and(|(taken, read)| read - taken < STALE_NS && now - read < STALE_NS);
        self.outcome.stale += usize::from(!is_good);
        self.outcome.last_stale = if is_good { self.outcome.last_stale } else { now };
        let effort = Effort { force_n: Vector2::new(if is_good { 1.0 } else { 0.0 }, 0.0) };
        if self.limit.admits(effort, &self.answers.monitor, MonotonicNs(now)) {
            self.limit.record(effort, MonotonicNs(now));
            self.commands.record_sent(MonotonicNs(now));
            self.answer(now);
        }
    }

    /// The board samples now and answers.
    fn answer(&mut self, now: u64) {
        let is_cut = (self.line.cut.0..self.line.cut.1).contains(&now);
        let late_ns = (self.random.between(0.0, 1.0) * self.line.late_ns as f64) as u64;
        if is_cut || self.random.between(0.0, 1.0) < self.line.lost {
            return;
        }
        let mut at = (now + MS / 5 + late_ns).max(self.on_the_way.back().map_or(0, |(at, _)| *at));
        if (self.line.stall.0..self.line.stall.1).contains(&at) {
            at = self.line.stall.1;
        }
        let copies = 1 + usize::from(self.random.between(0.0, 1.0) < self.line.doubled);
        self.on_the_way.extend(std::iter::repeat_n((at, now), copies));
    }
}

fn run(line: &Line) -> Outcome {
    Run::new(line).run(20.0)
}

fn stale_share(outcome: &Outcome) -> f64 {
    outcome.stale as f64 / 20_000.0
}

/// Interval that begins one second after the start and lasts `ms`.
fn a_second_on(ms: u64) -> (u64, u64) {
    (1000 * MS, (1000 + ms) * MS)
}

#[test]
fn on_a_perfect_line_no_tick_is_without_a_reading_after_the_first() {
    let outcome = run(&Line::default());
    assert_eq!((outcome.stale, outcome.lost, outcome.younger), (1, 0, (0, 0)));
}

#[test]
fn with_five_percent_of_the_exchanges_lost_few_ticks_are_without_a_reading() {
    let outcome = run(&Line { lost: 0.05, ..Line::default() });
    assert!(stale_share(&outcome) < 0.03 && outcome.younger.0 == 0, "{outcome:?}");
    // Every loss is noticed, except those of the last moment.
    assert!((850..=1050).contains(&outcome.lost), "{outcome:?}");
}

#[test]
fn answers_up_to_4_ms_late_are_not_lost_and_few_ticks_are_without_a_reading() {
    for late_ms in 1..=4 {
        let outcome = run(&Line { late_ns: late_ms * MS, ..Line::default() });
        assert!(stale_share(&outcome) < 0.01, "{late_ms} ms: {outcome:?}");
        assert_eq!((outcome.lost, outcome.younger), (0, (0, 0)), "{late_ms} ms");
    }
}

#[test]
fn answers_that_come_twice_cost_one_resynchronisation_each() {
    let outcome = run(&Line { doubled: 0.01, ..Line::default() });
    assert!(stale_share(&outcome) < 0.03 && outcome.younger.0 == 0, "{outcome:?}");
    assert_eq!(outcome.lost, 0);
}

#[test]
fn among_late_answers_one_that_comes_twice_makes_samples_seem_younger_by_few_ticks_until_it_is_noticed() {
    let outcome = run(&Line { doubled: 0.01, late_ns: 4 * MS, ..Line::default() });
    assert!(outcome.younger.0 < 2_000 && outcome.younger.1 <= 3 * MS, "{outcome:?}");
    assert!(stale_share(&outcome) < 0.15, "{outcome:?}");
}

#[test]
fn after_50_ms_without_answers_a_reading_is_back_within_20_ms_of_their_return() {
    for cut_ms in [7, 12, 50, 90] {
        let outcome = run(&Line { cut: a_second_on(cut_ms), ..Line::default() });
        assert!(outcome.last_stale <= (1020 + cut_ms) * MS && outcome.younger.0 == 0, "{cut_ms} ms: {outcome:?}");
        let outcome = run(&Line { stall: a_second_on(cut_ms), ..Line::default() });
        assert!(outcome.last_stale <= (1020 + cut_ms) * MS && outcome.younger.0 == 0, "{cut_ms} ms: {outcome:?}");
    }
}

#[test]
fn after_a_stall_of_the_host_the_answers_to_stop_frames_are_not_matched_to_commands() {
    for late_ns in [0, 3 * MS] {
        let outcome = run(&Line { late_ns, host_stall: a_second_on(250), ..Line::default() });
        assert!(outcome.last_stale <= 1270 * MS && outcome.younger.0 == 0, "{outcome:?}");
    }
}

#[test]
fn no_sample_seems_younger_than_it_is_on_a_line_that_loses_delays_and_stalls() {
    for late_ms in 0..=6 {
        for (lost, stall_ms) in [(0.01, 3), (0.05, 8), (0.2, 15), (0.05, 50)] {
            let line = Line { lost, late_ns: late_ms * MS, stall: a_second_on(stall_ms), ..Line::default() };
            let outcome = run(&Line { cut: (3000 * MS, 3030 * MS), ..line });
            assert_eq!(outcome.younger, (0, 0), "{late_ms} ms, {lost}, {stall_ms} ms");
        }
    }
}
