//! Body of the real-time thread: owns the loop and the device, applies requests, emits events and never waits.

use crate::control::{EmergencyStop, LoopEvent, LoopHandles, LoopRequest, StopReceiver, publish_to_latest};
use crate::figures::RunExtremes;
use crate::realtime_setup::Periodic;
use haptic_device::MonotonicNs;
use haptic_loop::command::Command;
use haptic_loop::fault::Fault;
use haptic_loop::sign_check::Sign;
use haptic_loop::tick::HapticLoop;
use haptic_realtime::exchange::{CommandReceiver, CommandSender, RingWriter, ring};
use haptic_realtime::runner::{LoopExit, Wake};
use haptic_record::tap::{Tap, Timing};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of requests applied per tick; the rest wait for the next tick.
const REQUESTS_PER_TICK: usize = 4;
/// Capacity of the event ring. A fault in every tick would fill it in about one second.
const EVENT_CAPACITY: usize = 1024;
/// Number of slots that fault events leave free for events that own memory, which the loop must not drop: one black
/// box, and two replaced values per request.
const EVENT_RESERVE: usize = 1 + 2 * REQUESTS_PER_TICK;
/// Number of skipped periods from which a late tick is logged. Single periods are common on a machine without real-time
/// scheduling, and are counted as overruns.
const LOGGED_SKIPS: u64 = 2;

/// State of the real-time thread: the loop and its ends of the queues.
pub struct LoopBody {
    pub(super) rendering: HapticLoop,
    pub(super) extremes: RunExtremes,
    requests: CommandReceiver<LoopRequest>,
    emergency_stop: StopReceiver,
    events: RingWriter<LoopEvent>,
    longest_tick_ns: Arc<AtomicU64>,
    /// Number of periods since the start, run or skipped.
    elapsed: u64,
    /// Number of periods after which the loop ends.
    periods: u64,
    taps: Taps,
    /// Whether the signs of the motors are still being checked.
    awaits_signs: bool,
}

/// Taps that record ticks and commands.
#[derive(Default)]
struct Taps {
    /// Tap of the active recording, if any.
    recording: Option<Box<Tap>>,
    /// Tap for black boxes; `None` if no black boxes are written.
    history: Option<Box<Tap>>,
}

impl Taps {
    /// Starts recording with the next tick, after a checkpoint if the tap needs one. Returns the previous tap, if any.
    fn begin(&mut self, mut tap: Box<Tap>, rendering: &HapticLoop) -> Option<Box<Tap>> {
        tap.record_checkpoint(rendering);
        self.recording.replace(tap)
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Tap> {
        [&mut self.recording, &mut self.history].into_iter().filter_map(Option::as_deref_mut)
    }
}

impl LoopBody {
    /// Creates the body and the supervisor's ends of its queues. The loop ends after `periods` periods, if given.
    pub fn new(
        mut rendering: HapticLoop,
        periods: Option<u64>,
        (requests, request_receiver): (CommandSender<LoopRequest>, CommandReceiver<LoopRequest>),
        emergency_stop: EmergencyStop,
    ) -> (Self, LoopHandles) {
        let (event_writer, events) = ring(EVENT_CAPACITY);
        let (publisher, snapshots) = publish_to_latest(rendering.world());
        rendering.publish_to(publisher);
        let longest_tick_ns = Arc::new(AtomicU64::new(0));
        let body = Self {
            awaits_signs: rendering.sign_check().is_pending(),
            rendering,
            extremes: RunExtremes::default(),
            requests: request_receiver,
            emergency_stop: StopReceiver::new(emergency_stop.clone()),
            events: event_writer,
            longest_tick_ns: longest_tick_ns.clone(),
            elapsed: 0,
            periods: periods.unwrap_or(u64::MAX),
            taps: Taps::default(),
        };
        (body, LoopHandles { requests, emergency_stop, events, snapshots, longest_tick_ns })
    }

    /// Starts recording to `tap` with the next tick.
    pub fn record_to(&mut self, tap: Box<Tap>) {
        retire(self.taps.begin(tap, &self.rendering), &mut self.events);
    }

    /// Starts recording to `tap` for black boxes. Must be called before the first tick.
    pub fn record_history_to(&mut self, mut tap: Box<Tap>) {
        tap.record_checkpoint(&self.rendering);
        self.taps.history = Some(tap);
    }

    /// Raises the stored longest compute time to `compute_ns` if that is longer. If the reader resets the value to zero
    /// between the load and the store, the tick counts towards the next interval; a stronger exchange is not worth its
    /// cost.
    fn update_longest_tick(&self, compute_ns: u64) {
        if compute_ns > self.longest_tick_ns.load(Ordering::Relaxed) {
            self.longest_tick_ns.store(compute_ns, Ordering::Relaxed);
        }
    }

    /// Emits the motors whose signs are unknown after a check that lets the force come on.
    fn report_unknown_signs(&mut self) {
        if self.awaits_signs && !self.rendering.sign_check().is_pending() {
            self.awaits_signs = false;
            let check = self.rendering.sign_check();
            if check.motors_with(Sign::Reversed).is_none()
                && let Some(motors) = check.motors_with(Sign::Unknown)
            {
                self.events.push_with_reserve(EVENT_RESERVE, LoopEvent::SignsUnknown(motors));
            }
        }
    }

    /// Applies a requested emergency stop, before and whatever else is pending. Returns whether it began now; a stop
    /// that is repeated changes nothing.
    fn apply_emergency_stop(&mut self) -> bool {
        let begins = self.emergency_stop.poll() && !self.rendering.is_stopped();
        if begins {
            apply(Command::Stop, &mut self.rendering, &mut self.taps, &mut self.events);
        }
        begins
    }

    /// Applies pending requests. Requests wait while the event ring lacks space for the values they replace.
    fn apply_requests(&mut self) {
        if self.events.room() < EVENT_RESERVE {
            return;
        }
        for request in self.requests.poll(REQUESTS_PER_TICK) {
            match request {
                LoopRequest::Loop(command) => apply(command, &mut self.rendering, &mut self.taps, &mut self.events),
                LoopRequest::RecycleBlackBox(black_box) => self.rendering.recycle_black_box(black_box),
                LoopRequest::Switch { world, publisher } => {
                    let replace = Command::ReplaceWorld(world);
                    apply(replace, &mut self.rendering, &mut self.taps, &mut self.events);
                    self.events.push(LoopEvent::OldPublisher(self.rendering.publish_to(publisher)));
                }
                LoopRequest::Record(tap) => retire(self.taps.begin(tap, &self.rendering), &mut self.events),
                LoopRequest::StopRecording => retire(self.taps.recording.take(), &mut self.events),
                LoopRequest::Release { stop } => {
                    if self.rendering.is_stopped() && self.emergency_stop.permits_release(stop) {
                        apply(Command::Release, &mut self.rendering, &mut self.taps, &mut self.events);
                        let tick = self.rendering.last().tick;
                        self.events.push_with_reserve(EVENT_RESERVE, LoopEvent::Released { tick });
                    }
                }
            }
        }
    }
}

impl Periodic for LoopBody {
    /// Real-time: at most one emergency stop or `REQUESTS_PER_TICK` requests, and one tick of the loop.
    fn tick(&mut self, wake: Wake) -> ControlFlow<()> {
        // Requests wait for the next tick, so that a release never hides the stop before it.
        if !self.apply_emergency_stop() {
            self.apply_requests();
        }
        self.update_longest_tick(wake.previous_compute_ns);
        let skipped = u32::try_from(wake.skipped).unwrap_or(u32::MAX);
        let report = self.rendering.tick(MonotonicNs(wake.now_ns), skipped);
        self.emergency_stop.confirm();
        self.extremes.add(report);
        let (fault, tick) = (report.fault, report.tick);
        if let Some(fault) = fault {
            self.events.push_with_reserve(EVENT_RESERVE, LoopEvent::Fault { tick, fault });
        }
        self.report_unknown_signs();
        if wake.skipped >= LOGGED_SKIPS && fault.is_none() {
            self.events.push_with_reserve(EVENT_RESERVE, LoopEvent::Late { skipped: wake.skipped });
        }
        if self.events.room() > 0
            && let Some(black_box) = self.rendering.take_black_box()
        {
            self.events.push(LoopEvent::BlackBox(black_box));
        }
        let timing = Timing { late_ns: wake.late_ns, previous_compute_ns: wake.previous_compute_ns };
        for tap in self.taps.each() {
            tap.record_tick(self.rendering.last(), self.rendering.world(), timing);
            tap.record_checkpoint(&self.rendering);
        }
        self.elapsed += 1 + wake.skipped;
        let is_over = self.elapsed >= self.periods || matches!(fault, Some(Fault::ReversedAxis(_)));
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Sends zero force, disarms and closes the device, and emits the last black box, if any. This is the only exit
    /// once ticks have run.
    fn finish(&mut self, exit: &LoopExit) {
        self.rendering.close();
        let crashed = matches!(exit, LoopExit::Panicked(_));
        if let Some(black_box) = self.rendering.last_black_box(crashed) {
            self.events.push(LoopEvent::BlackBox(black_box));
        }
    }

    fn close(&mut self) {
        self.rendering.close();
    }
}

/// Records a command, applies it to the loop and emits the world it replaces, if any.
fn apply(command: Command, rendering: &mut HapticLoop, taps: &mut Taps, events: &mut RingWriter<LoopEvent>) {
    taps.each().for_each(|tap| tap.record_command(&command, rendering.last().tick + 1));
    if let Some(old) = rendering.apply(command) {
        events.push(LoopEvent::OldWorld(old));
    }
}

fn retire(tap: Option<Box<Tap>>, events: &mut RingWriter<LoopEvent>) {
    if let Some(tap) = tap {
        events.push(LoopEvent::OldTap(tap));
    }
}

#[cfg(test)]
mod tests;
