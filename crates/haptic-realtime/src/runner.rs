//! The loop: in each period, sleeps until the deadline, runs the body, records the times and advances the schedule.
//!
//! The only system call is the sleep; the clock is read through the vDSO. Optionally, the runner wakes early and spins
//! for a bounded time, which costs power but makes wake-ups punctual. The runner collects [`LoopTiming`] and can
//! publish it at regular intervals.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::Clock;
use crate::exchange::LatestWriter;
use crate::histogram::Histogram;
use crate::schedule::Schedule;

/// Times of one wake-up, passed to the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// Time of the wake-up.
    pub now_ns: u64,
    /// Deadline of this tick: the last one that has passed.
    pub deadline_ns: u64,
    /// Time from the deadline for which the thread slept to the wake-up. After a stall this is longer than a period.
    pub late_ns: u64,
    /// Number of periods skipped since the previous tick, because that tick overran or because this one woke up late.
    pub skipped: u64,
    /// Duration of the previous tick, from wake-up to end; 0 in the first tick.
    pub previous_compute_ns: u64,
}

/// Reason why the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopExit {
    /// The stop flag was set.
    Stopped,
    /// The body returned [`ControlFlow::Break`].
    Finished,
    /// The body panicked, with this message.
    Panicked(String),
}

/// Timing of a loop since its start. Occupies 30 KiB and no heap memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoopTiming {
    /// Number of ticks run.
    pub ticks: u64,
    /// Number of ticks that ended after the deadline that follows the one for which they slept.
    pub overruns: u64,
    /// Number of skipped periods, in which no tick ran.
    pub skipped: u64,
    /// Times from a deadline to the wake-up, ns.
    pub wake: Histogram,
    /// Times from a wake-up to the end of the tick, ns.
    pub compute: Histogram,
}

impl LoopTiming {
    /// Copies `other` into existing memory. Real-time: one copy of 30 KiB, no allocation.
    pub fn copy_from(&mut self, other: &LoopTiming) {
        (self.ticks, self.overruns, self.skipped) = (other.ticks, other.overruns, other.skipped);
        self.wake.copy_from(&other.wake);
        self.compute.copy_from(&other.compute);
    }
}

/// Destination and interval of published timing.
#[derive(Debug)]
struct Publishing {
    to: LatestWriter<LoopTiming>,
    every_ticks: NonZeroU64,
}

/// Runs a body once per period.
#[derive(Debug)]
pub struct Runner<C> {
    clock: C,
    period_ns: NonZeroU64,
    /// Time by which the thread wakes up before each deadline.
    early_ns: u64,
    timing: Box<LoopTiming>,
    publishing: Option<Publishing>,
}

impl<C: Clock> Runner<C> {
    /// Creates a runner with this period.
    pub fn new(clock: C, period_ns: NonZeroU64) -> Self {
        Self { clock, period_ns, early_ns: 0, timing: Box::default(), publishing: None }
    }

    /// Wakes the thread `early_ns` before each deadline and spins until the deadline, so that the wake-up latency has
    /// passed when the tick is due. This occupies the core for up to `early_ns` in every period; `early_ns` is limited
    /// to half a period.
    pub fn waking_early(mut self, early_ns: u64) -> Self {
        self.early_ns = early_ns.min(self.period_ns.get() / 2);
        self
    }

    /// Also publishes the timing to `to` every `every_ticks` ticks.
    pub fn publishing(mut self, to: LatestWriter<LoopTiming>, every_ticks: NonZeroU64) -> Self {
        self.publishing = Some(Publishing { to, every_ticks });
        self
    }

    /// Timing so far, over all runs of this runner.
    pub fn timing(&self) -> &LoopTiming {
        &self.timing
    }

    /// Consumes the runner and returns its timing.
    pub fn into_timing(self) -> Box<LoopTiming> {
        self.timing
    }

    /// Runs `body` once per period, starting one period from now, until it returns `Break` or `stop` is set.
    ///
    /// A panic in the body propagates; see [`Runner::run_guarded`].
    /// Real-time: one sleep, clock reads around the wake-up and at the end of each tick, no allocation.
    pub fn run(&mut self, stop: &AtomicBool, mut body: impl FnMut(Wake) -> ControlFlow<()>) -> LoopExit {
        let first_deadline_ns = self.clock.now_ns() + self.period_ns.get();
        let mut schedule = Schedule::starting_at(first_deadline_ns, self.period_ns);
        let (mut skipped, mut previous_compute_ns) = (0, 0);
        loop {
            let deadline_ns = schedule.deadline_ns();
            self.clock.sleep_until_ns(deadline_ns - self.early_ns);
            self.spin_until(deadline_ns);
            if stop.load(Ordering::Relaxed) {
                return LoopExit::Stopped;
            }
            let now_ns = self.clock.now_ns();
            let late_ns = now_ns.saturating_sub(deadline_ns);
            let missed = schedule.skip_missed(now_ns);
            let deadline_ns = schedule.deadline_ns();
            let flow = body(Wake { now_ns, deadline_ns, late_ns, skipped: skipped + missed, previous_compute_ns });
            let ended_ns = self.clock.now_ns();
            previous_compute_ns = ended_ns.saturating_sub(now_ns);
            skipped = schedule.advance(ended_ns).skipped;
            self.record(late_ns, previous_compute_ns, missed + skipped);
            if flow.is_break() {
                return LoopExit::Finished;
            }
        }
    }

    /// Spins until the deadline, unless it is more than `early_ns` away: spinning must not replace a failed sleep.
    fn spin_until(&mut self, deadline_ns: u64) {
        let earliest_ns = deadline_ns - self.early_ns;
        while (earliest_ns..deadline_ns).contains(&self.clock.now_ns()) {
            std::hint::spin_loop();
        }
    }

    /// Like [`Runner::run`], but a panic in the body only ends the loop. In every case, `on_end` then runs on this
    /// thread, with the state of the body, to switch the output off.
    ///
    /// After a panic, the state may be only partly updated; `on_end` should use it to reach a safe state, not to
    /// continue. The panic hook has already run, and the default hook writes to stderr, which takes time: outputs also
    /// need their own watchdog. A panic in `on_end` itself propagates.
    pub fn run_guarded<S>(
        &mut self,
        stop: &AtomicBool,
        state: &mut S,
        mut body: impl FnMut(&mut S, Wake) -> ControlFlow<()>,
        on_end: impl FnOnce(&mut S, &LoopExit),
    ) -> LoopExit {
        let caught = catch_unwind(AssertUnwindSafe(|| self.run(stop, |wake| body(state, wake))));
        let ended = caught.unwrap_or_else(|payload| LoopExit::Panicked(panic_text(payload.as_ref())));
        on_end(state, &ended);
        ended
    }

    fn record(&mut self, late_ns: u64, compute_ns: u64, skipped: u64) {
        let timing = &mut *self.timing;
        timing.ticks += 1;
        timing.overruns += u64::from(skipped > 0);
        timing.skipped += skipped;
        timing.wake.record(late_ns);
        timing.compute.record(compute_ns);
        if let Some(publishing) = &mut self.publishing
            && timing.ticks.is_multiple_of(publishing.every_ticks.get())
        {
            publishing.to.publish_with(|slot| slot.copy_from(timing));
        }
    }
}

/// Returns the message of a panic, or a substitute if the payload is not a string.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let formatted = || payload.downcast_ref::<String>().cloned();
    literal.or_else(formatted).unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::latest;
    use std::cell::Cell;
    use std::rc::Rc;

    const PERIOD_NS: u64 = 1_000_000;

    /// A clock that only the test advances, shared with the body.
    #[derive(Clone, Default)]
    struct SimulatedClock {
        now_ns: Rc<Cell<u64>>,
        wake_delay_ns: Rc<Cell<u64>>,
    }

    impl SimulatedClock {
        fn pass(&self, duration_ns: u64) {
            self.now_ns.set(self.now_ns.get() + duration_ns);
        }
    }

    impl Clock for SimulatedClock {
        fn now_ns(&mut self) -> u64 {
            self.now_ns.get()
        }

        fn sleep_until_ns(&mut self, deadline_ns: u64) {
            self.now_ns.set(self.now_ns.get().max(deadline_ns) + self.wake_delay_ns.get());
        }
    }

    /// A clock that advances a little with every read, as seen by a spinning thread.
    struct CreepingClock(SimulatedClock);

    const CREEP_NS: u64 = 50;

    impl Clock for CreepingClock {
        fn now_ns(&mut self) -> u64 {
            self.0.pass(CREEP_NS);
            self.0.now_ns()
        }

        fn sleep_until_ns(&mut self, deadline_ns: u64) {
            self.0.sleep_until_ns(deadline_ns);
        }
    }

    /// A clock whose sleep returns immediately.
    struct SleeplessClock(CreepingClock);

    impl Clock for SleeplessClock {
        fn now_ns(&mut self) -> u64 {
            self.0.now_ns()
        }

        fn sleep_until_ns(&mut self, _deadline_ns: u64) {}
    }

    fn runner(clock: &SimulatedClock) -> Runner<SimulatedClock> {
        Runner::new(clock.clone(), NonZeroU64::new(PERIOD_NS).unwrap())
    }

    #[test]
    fn a_body_in_time_is_woken_once_a_period_with_its_lateness() {
        let clock = SimulatedClock::default();
        clock.wake_delay_ns.set(7_000);
        let mut wakes = Vec::new();
        let ended = runner(&clock).run(&AtomicBool::new(false), |wake| {
            wakes.push(wake);
            clock.pass(50_000);
            if wakes.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(ended, LoopExit::Finished);
        for (index, wake) in wakes.iter().enumerate() {
            assert_eq!(wake.deadline_ns, (index as u64 + 1) * PERIOD_NS);
            assert_eq!((wake.late_ns, wake.skipped), (7_000, 0));
            assert_eq!(wake.previous_compute_ns, if index == 0 { 0 } else { 50_000 });
        }
    }

    #[test]
    fn an_early_wake_up_spins_until_the_deadline_and_is_late_only_if_waking_took_longer() {
        let lateness_after = |wake_delay_ns| {
            let clock = CreepingClock(SimulatedClock::default());
            clock.0.wake_delay_ns.set(wake_delay_ns);
            let mut late_ns = Vec::new();
            let period_ns = NonZeroU64::new(PERIOD_NS).unwrap();
            Runner::new(clock, period_ns).waking_early(100_000).run(&AtomicBool::new(false), |wake| {
                late_ns.push(wake.late_ns);
                if late_ns.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            late_ns
        };
        assert!(lateness_after(30_000).iter().all(|&late_ns| late_ns <= 3 * CREEP_NS));
        assert!(lateness_after(107_000).iter().all(|&late_ns| (7_000..=7_000 + 3 * CREEP_NS).contains(&late_ns)));
    }

    #[test]
    fn a_failed_sleep_is_not_replaced_by_spinning() {
        let clock = CreepingClock(SimulatedClock::default());
        let shared = clock.0.clone();
        let period_ns = NonZeroU64::new(PERIOD_NS).unwrap();
        let mut runner = Runner::new(SleeplessClock(clock), period_ns).waking_early(100_000);
        runner.run(&AtomicBool::new(false), |_| ControlFlow::Break(()));
        assert!(shared.now_ns.get() < 10 * CREEP_NS, "{}", shared.now_ns.get());
    }

    #[test]
    fn a_stalled_body_gets_the_skipped_periods_and_the_timing_counts_them() {
        let clock = SimulatedClock::default();
        let mut runner = runner(&clock);
        let mut wakes = Vec::new();
        runner.run(&AtomicBool::new(false), |wake| {
            wakes.push(wake);
            clock.pass(if wakes.len() == 2 { 3 * PERIOD_NS + 1 } else { 10_000 });
            if wakes.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(wakes.iter().map(|wake| wake.skipped).collect::<Vec<_>>(), [0, 0, 3, 0]);
        assert_eq!(wakes[2].deadline_ns, 6 * PERIOD_NS);
        let timing = runner.timing();
        assert_eq!((timing.ticks, timing.overruns, timing.skipped), (4, 1, 3));
        assert_eq!(timing.compute.max_ns(), 3 * PERIOD_NS + 1);
        assert_eq!(timing.wake.total(), 4);
    }

    #[test]
    fn a_body_that_wakes_late_learns_it_in_the_same_tick() {
        let clock = SimulatedClock::default();
        let mut runner = runner(&clock);
        let mut wakes = Vec::new();
        runner.run(&AtomicBool::new(false), |wake| {
            wakes.push(wake);
            clock.wake_delay_ns.set(if wakes.len() == 1 { 300 * PERIOD_NS + 7 } else { 0 });
            clock.pass(10_000);
            if wakes.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(wakes.iter().map(|wake| wake.skipped).collect::<Vec<_>>(), [0, 300, 0]);
        assert_eq!((wakes[1].late_ns, wakes[1].deadline_ns), (300 * PERIOD_NS + 7, 302 * PERIOD_NS));
        let timing = runner.timing();
        assert_eq!((timing.ticks, timing.overruns, timing.skipped), (3, 1, 300));
    }

    #[test]
    fn the_stop_flag_ends_the_loop_before_another_tick() {
        let clock = SimulatedClock::default();
        let stop = AtomicBool::new(false);
        let mut ticks = 0;
        let ended = runner(&clock).run(&stop, |_| {
            ticks += 1;
            stop.store(true, Ordering::Relaxed);
            ControlFlow::Continue(())
        });
        assert_eq!((ended, ticks), (LoopExit::Stopped, 1));
    }

    #[test]
    fn a_panic_in_the_body_is_an_end_with_its_message_and_on_end_gets_the_state() {
        let clock = SimulatedClock::default();
        let mut output = 4.0;
        let tick = |_: &mut f64, _: Wake| -> ControlFlow<()> { panic!("deliberate, in a test") };
        let off = |output: &mut f64, _: &LoopExit| *output = 0.0;
        let ended = runner(&clock).run_guarded(&AtomicBool::new(false), &mut output, tick, off);
        assert_eq!(ended, LoopExit::Panicked("deliberate, in a test".to_owned()));
        assert_eq!(output, 0.0);
    }

    #[test]
    fn on_end_also_runs_after_an_orderly_end() {
        let clock = SimulatedClock::default();
        let mut ends = Vec::new();
        let finish = |_: &mut Vec<LoopExit>, _: Wake| ControlFlow::Break(());
        let note = |ends: &mut Vec<LoopExit>, ended: &LoopExit| ends.push(ended.clone());
        runner(&clock).run_guarded(&AtomicBool::new(false), &mut ends, finish, note);
        assert_eq!(ends, [LoopExit::Finished]);
    }

    #[test]
    fn timing_is_published_at_its_interval() {
        let clock = SimulatedClock::default();
        let (writer, mut reader) = latest(LoopTiming::default());
        let mut ticks = 0;
        let mut seen = Vec::new();
        runner(&clock).publishing(writer, NonZeroU64::new(2).unwrap()).run(&AtomicBool::new(false), |_| {
            seen.push(reader.read().ticks);
            ticks += 1;
            if ticks == 6 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen, [0, 0, 2, 2, 4, 4]);
        assert_eq!(reader.read().ticks, 6);
    }
}
